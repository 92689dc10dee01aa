// SPDX-License-Identifier: BSD-3-Clause
//
// What the members of a team tell each other about a call of the program beside the team's operations, on lines of
// their own in their lanes. Two things, and in both one member rules, the chair, so that all go one way whatever they
// were called with, and nobody but those who need the chair's bytes anyway waits for him.
//
//   council  Members give the chair their words and wait for what he rules: an answer for all, or that the council is
//            passed by, since somebody has not come in time. He overwrites his answer only when he gives another one,
//            and he gives none before all have come to that later call: who is still at an earlier one finds the answer
//            to it, or, if his last ruling is as late and the answer is another one, knows that it was passed by.
//   way      The chair says which way a call goes, and goes on. All members count such calls. A member's word holds the
//            number of its last one and the ways of so many calls; nobody says more than that ahead of the member that
//            is last.
//
// Off the hot path but for the ways; the thread of the call, one at a time.
#include <errno.h>

#include "base/clock.h"
#include "shm/shm_team.h"

#define WAYS_BITS 32 // of a member's word, below the number's as many

static int failed_step(struct co_shm_op *op)
{
    (void)op;
    return -ENOMEM;
}

// No operation of the rings, and waits for nobody's bytes.
static void start(struct co_shm_op *op, struct co_shm_team *team, enum co_shm_call call, uint64_t number, int chair)
{
    *op = (struct co_shm_op){.team = team,
                             .call = call,
                             .root = team->self,
                             .peer = team->self,
                             .helped_peer = chair,
                             .tick = number,
                             .ticks = 1};
}

static struct co_shm_control *of_chair(const struct co_shm_op *op)
{
    return co_shm_control(op->team, op->helped_peer);
}

static void rule(const struct co_shm_op *op)
{
    struct co_shm_control *own = of_chair(op);
    if (op->is_held) {
        memcpy(own->answer.words, op->words, sizeof own->answer.words);
        co_store_release(&own->answer.number, op->tick); // release V1: the answer
    }
    co_store_release(&own->ruled, op->tick); // release V1: the answer, and which call it is for
}

static bool has_come(const struct co_shm_op *op, int member)
{
    const struct co_shm_words *its = &co_shm_control(op->team, member)->ballot;
    uint64_t words[CO_SHM_COUNCIL_WORDS];
    if (co_load_acquire(&its->number) != op->tick) { // acquire V1: the member's words
        return false;
    }
    memcpy(words, its->words, sizeof words);
    op->merge(op->words, words);
    return true;
}

static int chair_step(struct co_shm_op *op)
{
    uint64_t count = (uint64_t)op->team->count;
    while (op->read < count && ((int)op->read == op->team->self || has_come(op, (int)op->read))) {
        op->read++;
    }
    op->is_held = op->read == count;
    if (!op->is_held && (op->until_ns == UINT64_MAX || co_clock_now_ns() < op->until_ns)) {
        return 0;
    }
    rule(op);
    return 1;
}

static int member_step(struct co_shm_op *op)
{
    const struct co_shm_control *chair = of_chair(op);
    if (co_load_acquire(&chair->ruled) < op->tick) { // acquire V1: the answer, if there is one
        return 0;
    }
    op->is_held = co_load_acquire(&chair->answer.number) == op->tick; // acquire V1: the answer
    if (op->is_held) {
        memcpy(op->words, chair->answer.words, sizeof chair->answer.words);
    }
    return 1;
}

void co_shm_council_start(struct co_shm_op *op, struct co_shm_team *team, const struct co_shm_council *council)
{
    struct co_shm_words *ballot = &co_shm_control(team, team->self)->ballot;
    start(op, team, CO_SHM_COUNCIL, council->number, council->chair);
    if ((team->touched & 1u << CO_SHM_LINES) == 0 && co_shm_touch_ring(team, CO_SHM_LINES) != 0) {
        op->step = failed_step;
        return;
    }
    op->until_ns = council->until_ns;
    op->words = council->words;
    op->merge = council->merge;
    op->step = council->chair == team->self ? chair_step : member_step;
    memcpy(ballot->words, council->words, sizeof ballot->words);
    co_store_release(&ballot->number, council->number); // release V1: the words
}

// How far the member that is last has come, as far as a look at all of them tells.
static bool are_near(const struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    uint64_t last = op->tick;
    for (int member = 0; member < team->count; member++) {
        // acquire V2: it has read the ways of all calls before.
        uint64_t word = co_load_acquire(&co_shm_control(team, member)->way);
        int32_t behind = (int32_t)((uint32_t)op->tick - (uint32_t)(word >> WAYS_BITS));
        if (member != team->self && behind > 0 && op->tick - (uint64_t)behind < last) {
            last = op->tick - (uint64_t)behind;
        }
    }
    team->all_came = last;
    return op->tick < last + WAYS_BITS;
}

static void say_way(const struct co_shm_op *op)
{
    _Atomic uint64_t *word = &co_shm_control(op->team, op->team->self)->way;
    uint64_t before = co_load_relaxed(word); // relaxed: our own
    uint32_t since = (uint32_t)op->tick - (uint32_t)(before >> WAYS_BITS);
    uint32_t ways = since < WAYS_BITS ? (uint32_t)before << since : 0;
    // release V2: who comes to this call has read the ways of all before.
    co_store_release(word, op->tick << WAYS_BITS | ways | op->takes);
}

static int way_step(struct co_shm_op *op)
{
    if (op->phase == 0) {
        if (op->tick >= op->team->all_came + WAYS_BITS && !are_near(op)) {
            return 0;
        }
        say_way(op);
        op->phase = 1;
    }
    uint64_t word = co_load_acquire(&of_chair(op)->way); // acquire V2
    int32_t ahead = (int32_t)((uint32_t)(word >> WAYS_BITS) - (uint32_t)op->tick);
    if (ahead < 0) {
        return 0;
    }
    op->takes = ahead < WAYS_BITS ? (word >> ahead & 1) != 0 : op->takes;
    return 1;
}

void co_shm_way_start(struct co_shm_op *op, struct co_shm_team *team, int chair, bool takes)
{
    start(op, team, CO_SHM_WAY, ++team->ways, chair);
    op->takes = takes;
    op->step = way_step;
}
