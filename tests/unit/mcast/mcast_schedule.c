// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a random job: what each member does as user of the protocol, the passing of virtual time, the attacker, and what
// must hold at the end.
#include "mcast_schedule.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "transport/fault/lossy.h"
#include "mcast_inside.h"
#include "mcast_tape.h"
#include "mcast_world.h"

#define LIMIT_NS (UINT64_C(120) * 1000000000)
#define TURNS_MAX 3000000

static uint64_t hub_now(void *hub)
{
    return co_loopback_now_ns(hub);
}

static int index_of(const struct schedule_group *group, int rank)
{
    for (int i = 0; i < group->count; i++) {
        if (group->members[i] == rank) {
            return i;
        }
    }
    return -1;
}

static void open_group(struct co_mcast *mcast, struct schedule_group *group, int rank)
{
    if (group->open[rank] == NULL) {
        assert_int_equal(co_mcast_group_open(&group->open[rank], mcast, group->seed[rank], group->units), 0);
    }
}

static void open_rank(struct schedule *schedule, int rank)
{
    struct schedule_rank *mine = &schedule->ranks[rank];
    uint8_t key[CO_AUTH_KEY_BYTES] = {7}; // each job has its own: what was recorded in another is nothing here
    memcpy(key + 1, &schedule->seed, sizeof(schedule->seed));
    assert_int_equal(co_auth_open(&mine->auth, key, schedule->members, schedule->form), 0);
    assert_int_equal(co_loopback_endpoint_open(&mine->transport, schedule->hub, rank), 0);
    if (schedule->attack_percent > 0) {
        mine->transport = tape_open(mine->transport);
    }
    if (schedule->faults[0] != '\0') {
        struct co_fault_plan plan;
        char why[100];
        assert_int_equal(co_fault_plan_parse(&plan, schedule->faults, why, sizeof(why)), 0);
        struct co_transport *below = mine->transport;
        assert_int_equal(co_lossy_open(&mine->transport, below, &plan, rank, co_mcast_classify, hub_now, schedule->hub),
                         0);
    }
    struct co_mcast_config config = schedule->config;
    config.transport = mine->transport;
    config.auth = mine->auth;
    config.world_rank = rank;
    assert_int_equal(co_mcast_open(&mine->mcast, &config), 0);
    for (int i = 0; i < schedule->group_count; i++) {
        struct schedule_group *group = &schedule->groups[i];
        int self = index_of(group, rank);
        if (self >= 0) {
            assert_int_equal(
                co_mcast_seed_open(&group->seed[rank], mine->mcast, group->id, group->members, group->count, self), 0);
            if (schedule->operation_base != 0 || schedule->chunk_base != 0) {
                open_group(mine->mcast, group, rank);
                inside_age_group(group->open[rank], schedule->operation_base, schedule->chunk_base);
            }
        }
    }
}

static unsigned pattern_of(const struct schedule *schedule, const struct schedule_step *step, int member)
{
    return schedule->seed * 1000 + (unsigned)(step - schedule->steps) * 16 + (unsigned)member;
}

// Fills (or checks) the share of one member; returns whether it is right.
static bool share(const struct schedule *schedule, const struct schedule_step *step, int rank, int member, bool fill)
{
    const struct schedule_group *group = &schedule->groups[step->group];
    size_t offset = 0, bytes = step->bytes;
    if (step->root < 0) {
        for (int i = 0; i < member; i++) {
            offset += (size_t)group->units[i] * step->bytes;
        }
        bytes *= (size_t)group->units[member];
    }
    if (fill) {
        pattern_fill(step->buffer[rank] + offset, bytes, pattern_of(schedule, step, member));
        return true;
    }
    return pattern_matches(step->buffer[rank] + offset, bytes, pattern_of(schedule, step, member));
}

static void start_step(struct schedule *schedule, int rank, struct schedule_step *step)
{
    struct schedule_group *group = &schedule->groups[step->group];
    int self = index_of(group, rank);
    size_t bytes = schedule_step_bytes(schedule, step);
    uint64_t now = co_loopback_now_ns(schedule->hub);
    step->buffer[rank] = calloc(1, bytes + 16);
    if (step->root < 0) {
        share(schedule, step, rank, self, true);
        assert_int_equal(
            co_mcast_allgather_start(&step->op[rank], group->open[rank], step->buffer[rank], step->bytes, now), 0);
        return;
    }
    if (step->root == self) {
        share(schedule, step, rank, self, true);
    }
    assert_int_equal(
        co_mcast_bcast_start(&step->op[rank], group->open[rank], step->root, step->buffer[rank], bytes, now), 0);
}

static void check_bytes(const struct schedule *schedule, const struct schedule_step *step, int rank)
{
    static const unsigned char zero[16];
    const struct schedule_group *group = &schedule->groups[step->group];
    for (int member = 0; member < group->count; member++) {
        if (step->root < 0 || step->root == member) {
            assert_true(share(schedule, step, rank, member, false));
        }
    }
    assert_memory_equal(step->buffer[rank] + schedule_step_bytes(schedule, step), zero, sizeof(zero));
}

// The operation has ended: its bytes are right, and from now on the buffer is the program's.
static void end_step(struct schedule *schedule, int rank, struct schedule_step *step)
{
    int state = co_mcast_op_state(step->op[rank]);
    if (state == 1) {
        check_bytes(schedule, step, rank);
    } else {
        assert_true(schedule->victim >= 0);
        assert_true(index_of(&schedule->groups[step->group], schedule->victim) >= 0);
        schedule->failed++;
    }
    memset(step->buffer[rank], 0xdb, schedule_step_bytes(schedule, step));
    co_mcast_op_release(step->op[rank]);
    free(step->buffer[rank]);
    step->op[rank] = NULL;
    step->buffer[rank] = NULL;
    schedule->ranks[rank].outstanding--;
    struct schedule_group *group = &schedule->groups[step->group];
    if (--group->steps_left[rank] == 0 && schedule->closes_early) {
        co_mcast_group_close(group->open[rank]);
        group->open[rank] = NULL;
        group->seed[rank] = NULL;
    }
}

// What the program on this rank does when it is on the processor. Returns how much it did.
static int act(struct schedule *schedule, int rank)
{
    struct schedule_rank *mine = &schedule->ranks[rank];
    uint64_t now = co_loopback_now_ns(schedule->hub);
    int acts = 0;
    for (int i = 0; i < mine->next_step; i++) {
        struct schedule_step *step = &schedule->steps[i];
        if (step->op[rank] != NULL && co_mcast_op_state(step->op[rank]) != 0) {
            end_step(schedule, rank, step);
            acts++;
        }
    }
    while (mine->next_step < schedule->step_count && mine->outstanding < schedule->most_outstanding) {
        struct schedule_step *step = &schedule->steps[mine->next_step];
        if (index_of(&schedule->groups[step->group], rank) < 0) {
            mine->next_step++;
            continue;
        }
        if (mine->start_ns == 0) {
            mine->start_ns = now + step->pause_ns[rank];
        }
        if (now < mine->start_ns) {
            break;
        }
        struct schedule_group *group = &schedule->groups[step->group];
        open_group(mine->mcast, group, rank);
        if (!co_mcast_group_may_start(group->open[rank])) { // as in the engine
            break;
        }
        start_step(schedule, rank, step);
        mine->next_step++;
        mine->outstanding++;
        mine->start_ns = 0;
        acts++;
    }
    return acts;
}

static bool is_finished(const struct schedule *schedule, int rank)
{
    return schedule->ranks[rank].next_step == schedule->step_count && schedule->ranks[rank].outstanding == 0;
}

static void kill_victim(struct schedule *schedule)
{
    int rank = schedule->victim;
    struct schedule_rank *mine = &schedule->ranks[rank];
    co_loopback_kill(schedule->hub, rank);
    co_mcast_close(mine->mcast);
    mine->transport->ops->close(mine->transport);
    co_auth_close(mine->auth);
    mine->mcast = NULL;
    for (int i = 0; i < schedule->step_count; i++) {
        free(schedule->steps[i].buffer[rank]);
        schedule->steps[i].op[rank] = NULL;
        schedule->steps[i].buffer[rank] = NULL;
    }
}

static void sooner(uint64_t *next, uint64_t candidate)
{
    *next = candidate < *next ? candidate : *next;
}

// Moves every rank that is not stopped once, and the clock to the next event.
static void turn(struct schedule *schedule)
{
    uint64_t now = co_loopback_now_ns(schedule->hub), next = UINT64_MAX;
    int events = 0;
    if (schedule->victim >= 0 && schedule->ranks[schedule->victim].mcast != NULL) {
        if (now >= schedule->death_ns) {
            kill_victim(schedule);
        } else {
            sooner(&next, schedule->death_ns);
        }
    }
    for (int rank = 0; rank < schedule->members; rank++) {
        struct schedule_rank *mine = &schedule->ranks[rank];
        if (mine->mcast == NULL) {
            continue;
        }
        if (now >= mine->stopped_ns && now < mine->resumed_ns) {
            sooner(&next, mine->resumed_ns);
            continue;
        }
        int moved = co_mcast_progress(mine->mcast, now);
        assert_true(moved >= 0);
        events += moved + act(schedule, rank);
        bool wants_write;
        sooner(&next, co_mcast_next_timer_ns(mine->mcast, &wants_write));
        if (mine->start_ns > now) {
            sooner(&next, mine->start_ns);
        }
    }
    if (schedule->attacker != NULL && schedule_random(schedule, 100) < schedule->attack_percent) {
        tape_attack(schedule->attacker, schedule_random(schedule, 1U << 30), schedule->members,
                    schedule->config.subgroups);
    }
    uint64_t arrival = co_loopback_next_ns(schedule->hub);
    sooner(&next, arrival == 0 ? UINT64_MAX : arrival);
    if (next == UINT64_MAX && events == 0) {
        next = now + 1000000;
    }
    co_loopback_advance(schedule->hub, next > now && next != UINT64_MAX ? next : now + (events > 0 ? 0 : 1000));
}

static void complain(const struct schedule *schedule)
{
    print_error("seed %u, members %d, at %" PRIu64 " us, faults %s\n", schedule->seed, schedule->members,
                co_loopback_now_ns(schedule->hub) / 1000, schedule->faults);
    for (int i = 0; i < schedule->step_count; i++) {
        for (int rank = 0; rank < schedule->members; rank++) {
            if (schedule->steps[i].op[rank] != NULL) {
                char text[200];
                co_mcast_op_describe(schedule->steps[i].op[rank], text, sizeof(text));
                print_error("  rank %d step %d group %d: %s\n", rank, i, schedule->steps[i].group, text);
            }
        }
    }
}

static void run_until(struct schedule *schedule, bool (*reached)(const struct schedule *))
{
    for (int turns = 0; !reached(schedule); turns++) {
        if (turns > TURNS_MAX || co_loopback_now_ns(schedule->hub) > LIMIT_NS) {
            complain(schedule);
            fail_msg("seed %u does not end (%d turns)", schedule->seed, turns);
        }
        turn(schedule);
    }
}

static bool all_finished(const struct schedule *schedule)
{
    for (int rank = 0; rank < schedule->members; rank++) {
        if (schedule->ranks[rank].mcast != NULL && !is_finished(schedule, rank)) {
            return false;
        }
    }
    return true;
}

static bool all_idle(const struct schedule *schedule)
{
    for (int rank = 0; rank < schedule->members; rank++) {
        if (schedule->ranks[rank].mcast != NULL && !co_mcast_is_idle(schedule->ranks[rank].mcast)) {
            return false;
        }
    }
    return true;
}

static void check_nothing_left(const struct schedule *schedule, int rank)
{
    const struct co_mcast *mcast = schedule->ranks[rank].mcast;
    inside_require_nothing_left(mcast, schedule->victim < 0);
    for (int i = 0; i < schedule->group_count; i++) {
        const struct co_mcast_group *group = schedule->groups[i].open[rank];
        if (group != NULL) {
            inside_require_group_at_rest(group, schedule->victim < 0);
        }
    }
}

static void take_down(struct schedule *schedule)
{
    for (int rank = 0; rank < schedule->members; rank++) {
        struct schedule_rank *mine = &schedule->ranks[rank];
        if (mine->mcast == NULL) {
            continue;
        }
        check_nothing_left(schedule, rank);
        for (int i = 0; i < schedule->group_count; i++) {
            if (schedule->groups[i].seed[rank] != NULL) {
                co_mcast_seed_close(mine->mcast, schedule->groups[i].seed[rank]);
            }
        }
        co_mcast_close(mine->mcast);
        mine->transport->ops->close(mine->transport);
        co_auth_close(mine->auth);
    }
    if (schedule->attacker != NULL) {
        schedule->attacker->ops->close(schedule->attacker);
    }
    co_loopback_hub_close(schedule->hub);
}

void schedule_run(struct schedule *schedule, unsigned seed, const struct schedule_limits *limits)
{
    schedule_make(schedule, seed, limits);
    assert_int_equal(co_loopback_hub_open(&schedule->hub, &schedule->hub_config), 0);
    for (int rank = 0; rank < schedule->members; rank++) {
        open_rank(schedule, rank);
    }
    if (schedule->attack_percent > 0) {
        tape_forget(); // or the run would depend on the seeds before
        assert_int_equal(co_loopback_endpoint_open(&schedule->attacker, schedule->hub, schedule->members), 0);
    }
    run_until(schedule, all_finished);
    schedule->end_ns = co_loopback_now_ns(schedule->hub);
    run_until(schedule, all_idle);
    schedule->idle_ns = co_loopback_now_ns(schedule->hub);
    schedule->reads = co_loopback_read_counts(schedule->hub);
    if (schedule->victim < 0) {
        assert_int_equal(schedule->reads.refused, 0);
    }
    take_down(schedule);
}
