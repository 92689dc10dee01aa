// SPDX-License-Identifier: BSD-3-Clause
//
// Agreements and ways: all members hear the leader's answer or that it passed the agreement by, whoever is the leader
// and however late they come; a leader waits for nobody longer than it was told to; ways are the leader's, and it is
// never so far ahead that one of them is lost.
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mix_bits.h"
#include "shm/shm_team.h"
#include "shm_job.h"

enum { CALLS = 2000, AHEAD_MOST = 32 };

static uint64_t seed = 20261126;

static void add(uint64_t *all, const uint64_t *its)
{
    for (unsigned i = 0; i < CO_SHM_AGREE_WORDS; i++) {
        all[i] += its[i];
    }
}

// 0: passed by, 1: held, with the sum of all members' words; else the line that found something wrong.
static int hold(struct shm_rank *self, struct co_shm_team *team, uint64_t number, int leader, uint64_t until_ns,
                uint64_t *sum)
{
    uint64_t words[CO_SHM_AGREE_WORDS];
    struct co_shm_op op;
    for (unsigned i = 0; i < CO_SHM_AGREE_WORDS; i++) {
        words[i] = number * 100 + (uint64_t)self->rank * 10 + i;
    }
    struct co_shm_agree agreement = {
        .number = number, .until_ns = until_ns, .leader = leader, .words = words, .merge = add};
    co_shm_agree_start(&op, team, &agreement);
    bool is_late = until_ns == 1 && leader == self->rank; // for whomever it would have to wait
    SHM_CHECK((is_late ? co_shm_op_progress(&op) : shm_job_finish(&op)) == 1);
    for (unsigned i = 0; i < CO_SHM_AGREE_WORDS; i++) {
        SHM_CHECK(!op.is_held || words[i] == words[0] + i * (uint64_t)self->size);
    }
    *sum = words[0];
    return op.is_held;
}

static uint64_t sum_of(const struct shm_rank *self, uint64_t number)
{
    uint64_t sum = 0;
    for (int member = 0; member < self->size; member++) {
        sum += number * 100 + (uint64_t)member * 10;
    }
    return sum;
}

// Every member notes what an agreement came to; all must have noted the same.
static int note(struct shm_rank *self, uint64_t number, int held)
{
    _Atomic long *word = shm_job_word(self, 1 + (int)(number % 8));
    long expected = 0, mine = (long)(number << 1 | (unsigned)held);
    if (!atomic_compare_exchange_strong(word, &expected, mine) && expected >> 1 == (long)number) {
        SHM_CHECK(expected == mine);
    } else if (expected != 0 && expected >> 1 < (long)number) {
        atomic_compare_exchange_strong(word, &expected, mine);
    }
    return 0;
}

static int all_hear_the_same(struct shm_rank *self)
{
    struct co_shm_team *team;
    uint64_t state = seed, own = seed + (uint64_t)self->rank + 1;
    int held_ones = 0;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (uint64_t number = 1; number <= CALLS; number++) {
        int leader = (int)(shm_job_draw(&state) % (uint64_t)self->size);
        uint64_t patience_ns = shm_job_draw(&state) % 3 == 0 ? UINT64_MAX / 2 : shm_job_draw(&state) % 20000, sum = 0;
        for (uint64_t turns = shm_job_draw(&own) % 4; turns > 0; turns--) {
            sched_yield();
        }
        int held = hold(self, team, number, leader, co_clock_now_ns() + patience_ns, &sum);
        SHM_CHECK(held == 0 || held == 1);
        SHM_CHECK(held == 0 || sum == sum_of(self, number));
        SHM_CHECK(held == 1 || patience_ns < UINT64_MAX / 2);
        SHM_CHECK(note(self, number, held) == 0);
        held_ones += held;
    }
    SHM_CHECK(held_ones > CALLS / 10);
    shm_job_barrier(self);
    co_shm_team_close(team);
    return 0;
}

// Rank 0 rules on three agreements to which nobody else has come, and the others find each of its rulings afterwards.
static int a_leader_goes_on(struct shm_rank *self)
{
    struct co_shm_team *team;
    uint64_t sum;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(hold(self, team, 1, 0, UINT64_MAX, &sum) == 1);
    if (self->rank != 0) {
        shm_job_barrier(self);
    }
    for (uint64_t number = 2; number < 5; number++) {
        SHM_CHECK(hold(self, team, number, 0, 1, &sum) == 0);
    }
    if (self->rank == 0) {
        shm_job_barrier(self);
    }
    SHM_CHECK(hold(self, team, 9, 1, UINT64_MAX, &sum) == 1 && sum == sum_of(self, 9));
    shm_job_barrier(self);
    co_shm_team_close(team);
    return 0;
}

static bool way_at(uint64_t number, int member)
{
    return (co_mix_bits(number) >> member & 1) != 0;
}

static int ways_are_the_leaders(struct shm_rank *self)
{
    struct co_shm_team *team;
    uint64_t state = seed, sum;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(hold(self, team, 7, 1, UINT64_MAX, &sum) == 1);
    for (uint64_t i = 8; i < CALLS; i++) {
        int leader = shm_job_draw(&state) % 8 == 0 ? (int)(shm_job_draw(&state) % (uint64_t)self->size) : 0;
        if (shm_job_draw(&state) % 50 == 0) {
            SHM_CHECK(hold(self, team, i, leader, UINT64_MAX, &sum) == 1);
        }
        struct co_shm_op op;
        co_shm_follow_start(&op, team, leader, way_at(i, self->rank));
        SHM_CHECK(shm_job_finish(&op) == 1);
        SHM_CHECK(op.takes == way_at(i, leader));
    }
    shm_job_barrier(self);
    co_shm_team_close(team);
    return 0;
}

// Says ways alone, as far as it may, before the others come.
static int a_leader_is_only_so_far_ahead(struct shm_rank *self)
{
    struct co_shm_team *team;
    struct co_shm_op op;
    uint64_t sum;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    SHM_CHECK(hold(self, team, 100, 0, UINT64_MAX, &sum) == 1);
    if (self->rank != 0) {
        shm_job_barrier(self);
    }
    for (uint64_t i = 1; i < 3 * AHEAD_MOST; i++) {
        co_shm_follow_start(&op, team, 0, way_at(i, self->rank));
        if (self->rank == 0 && i == AHEAD_MOST) {
            SHM_CHECK(co_shm_op_progress(&op) == 0);
            shm_job_barrier(self);
        }
        SHM_CHECK(self->rank == 0 && i < AHEAD_MOST ? co_shm_op_progress(&op) == 1 : shm_job_finish(&op) == 1);
        SHM_CHECK(op.takes == way_at(i, 0));
    }
    shm_job_barrier(self);
    co_shm_team_close(team);
    return 0;
}

static void run(shm_rank_function *function, int size, bool threads)
{
    struct shm_job_options options = {.size = size, .threads = threads};
    assert_int_equal(shm_job_run(&options, function), 0);
}

static void all_members_hear_the_same(void **state)
{
    (void)state;
    run(all_hear_the_same, 2, true);
    run(all_hear_the_same, 5, true);
    run(all_hear_the_same, 3, false);
}

static void a_leader_waits_no_longer_than_it_may(void **state)
{
    (void)state;
    run(a_leader_goes_on, 2, false);
    run(a_leader_goes_on, 4, true);
}

static void ways_are_those_of_the_leader(void **state)
{
    (void)state;
    run(ways_are_the_leaders, 2, true);
    run(ways_are_the_leaders, 4, false);
}

static void no_way_is_lost(void **state)
{
    (void)state;
    run(a_leader_is_only_so_far_ahead, 2, false);
    run(a_leader_is_only_so_far_ahead, 3, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_hear_the_same),
        cmocka_unit_test(a_leader_waits_no_longer_than_it_may),
        cmocka_unit_test(ways_are_those_of_the_leader),
        cmocka_unit_test(no_way_is_lost),
    };
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
