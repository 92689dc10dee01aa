// SPDX-License-Identifier: BSD-3-Clause
//
// What the members of a team tell each other about a call of the program beside the team's operations, on lines of
// their own in their lanes. Two things, and in both one member rules, the leader, so that all go one way whatever they
// were called with, and nobody but those who need the leader's bytes anyway waits for him.
//
//   agreement  Members give the leader their words and wait for what he rules: an answer for all, or that the call is
//              passed by, since somebody has not come in time. He overwrites his answer only when he gives another
//              one, and he gives none before all have come to that later call: who is still at an earlier one finds the
//              answer to it, or, if his last ruling is as late and the answer is another one, knows that it was passed.
//   follow     The leader says which way a call goes, and goes on. All members count such calls. A member's word holds
//              the number of its last one and the ways of so many calls; nobody says more than that ahead of the member
//              that is last.
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
static void start(struct co_shm_op *op, struct co_shm_team *team, enum co_shm_call call, uint64_t number, int leader)
{
    *op = (struct co_shm_op){.team = team,
                             .call = call,
                             .root = team->self,
                             .peer = team->self,
                             .helped_peer = leader,
                             .tick = number,
                             .ticks = 1};
}

static struct co_shm_control *of_leader(const struct co_shm_op *op)
{
    return co_shm_control(op->team, op->helped_peer);
}

static void rule(const struct co_shm_op *op)
{
    struct co_shm_control *own = of_leader(op);
    if (op->is_held) {
        memcpy(own->answer.words, op->words, sizeof own->answer.words);
        co_store_release(&own->answer.number, op->tick); // release V1: the answer
    }
    co_store_release(&own->ruled, op->tick); // release V1: the answer, and which call it is for
}

static bool has_come(const struct co_shm_op *op, int member)
{
    const struct co_shm_words *its = &co_shm_control(op->team, member)->ballot;
    uint64_t words[CO_SHM_AGREE_WORDS];
    if (co_load_acquire(&its->number) != op->tick) { // acquire V1: the member's words
        return false;
    }
    memcpy(words, its->words, sizeof words);
    op->merge(op->words, words);
    return true;
}

static int leader_step(struct co_shm_op *op)
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
    const struct co_shm_control *leader = of_leader(op);
    if (co_load_acquire(&leader->ruled) < op->tick) { // acquire V1: the answer, if there is one
        return 0;
    }
    op->is_held = co_load_acquire(&leader->answer.number) == op->tick; // acquire V1: the answer
    if (op->is_held) {
        memcpy(op->words, leader->answer.words, sizeof leader->answer.words);
    }
    return 1;
}

void co_shm_agree_start(struct co_shm_op *op, struct co_shm_team *team, const struct co_shm_agree *agreement)
{
    struct co_shm_words *ballot = &co_shm_control(team, team->self)->ballot;
    start(op, team, CO_SHM_AGREE, agreement->number, agreement->leader);
    if ((team->touched & 1u << CO_SHM_LINES) == 0 && co_shm_touch_ring(team, CO_SHM_LINES) != 0) {
        op->step = failed_step;
        return;
    }
    op->until_ns = agreement->until_ns;
    op->words = agreement->words;
    op->merge = agreement->merge;
    op->step = agreement->leader == team->self ? leader_step : member_step;
    memcpy(ballot->words, agreement->words, sizeof ballot->words);
    co_store_release(&ballot->number, agreement->number); // release V1: the words
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
    uint64_t word = co_load_acquire(&of_leader(op)->way); // acquire V2
    int32_t ahead = (int32_t)((uint32_t)(word >> WAYS_BITS) - (uint32_t)op->tick);
    if (ahead < 0) {
        return 0;
    }
    op->takes = ahead < WAYS_BITS ? (word >> ahead & 1) != 0 : op->takes;
    return 1;
}

void co_shm_follow_start(struct co_shm_op *op, struct co_shm_team *team, int leader, bool takes)
{
    start(op, team, CO_SHM_FOLLOW, ++team->ways, leader);
    op->takes = takes;
    op->step = way_step;
}
