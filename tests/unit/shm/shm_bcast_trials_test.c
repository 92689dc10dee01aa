// SPDX-License-Identifier: BSD-3-Clause
//
// Large broadcasts whose roots choose a path as they like: readers find their root wherever they look first, also with
// another length than the root's; and a root whose readers take long on one path comes to the other one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "shm/shm_team.h"
#include "shm_job.h"

enum { ROOM = 300000 };

static int finish(struct co_shm_op *op)
{
    int state;
    while ((state = co_shm_op_progress(op)) == 0 && (state = co_shm_op_look_at_lengths(op)) == 0) {
        sched_yield();
    }
    return state;
}

static int find_root(struct shm_rank *self)
{
    static const size_t sizes[] = {65536, 70001, 140000, 300000, 65535, 100};
    enum { SIZES = sizeof sizes / sizeof sizes[0], CALLS = 600 };
    struct co_shm_team *team;
    char *buffer = malloc(ROOM);
    uint64_t shared = 7, own = 11 + (uint64_t)self->rank;
    int paths[CO_COPY_PATHS] = {0};

    self->node->direct_bcast_min = 131072;
    self->node->tried_bcast_min = CO_SHM_BCAST_TRIAL_LEAST;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (int i = 0; i < CALLS; i++) {
        int root = (int)(shm_job_draw(&shared) % (unsigned)self->size);
        size_t given = sizes[shm_job_draw(&shared) % SIZES], room = given;
        struct co_shm_op op;
        bool is_root = self->rank == root;
        if (!is_root && i % 5 == 0) {
            room = sizes[shm_job_draw(&own) % SIZES]; // whatever the root gives
        }
        if (!is_root) { // and wherever
            co_shm_bcast_follow(team, room, shm_job_draw(&own) % 2 == 0);
        }
        memset(buffer, 0xee, ROOM);
        if (is_root) {
            shm_job_fill(buffer, (uint64_t)i, root, given);
        }
        co_shm_bcast_start(&op, team, root, buffer, room);
        int state = finish(&op);
        size_t kept = given < room ? given : room;
        SHM_CHECK(state == (given > room ? CO_SHM_TRUNCATED : 1));
        SHM_CHECK(given > room || shm_job_holds(buffer, (uint64_t)i, root, given));
        SHM_CHECK(kept == ROOM || (unsigned char)buffer[kept] == 0xee);
        paths[co_shm_op_is_large(&op)] += given >= CO_SHM_BCAST_TRIAL_LEAST;
        free(op.whole);
    }
    SHM_CHECK(paths[CO_COPY_BY_RING] > 0 && paths[CO_COPY_STRAIGHT] > 0);
    co_shm_team_close(team);
    free(buffer);
    return 0;
}

static void readers_find_their_root(void **state)
{
    (void)state;
    for (int size = 2; size <= 4; size++) {
        struct shm_job_options options = {.size = size, .staging_bytes = 1 << 20, .threads = size == 3};
        assert_int_equal(shm_job_run(&options, find_root), 0);
    }
}

// Rank 0 broadcasts until it takes the other path than at first, on which its readers dawdle.
static int leave_slow_path(struct shm_rank *self)
{
    enum { BYTES = 100000, CALLS = 20000, ENOUGH = 3 * CO_COPY_TRIAL_TIMES };
    bool is_first_straight = *(const bool *)self->argument;
    int others = 0; // in turn: more than a trial takes
    struct co_shm_team *team;
    char *buffer = malloc(BYTES);

    self->node->direct_bcast_min = is_first_straight ? BYTES : SIZE_MAX;
    self->node->tried_bcast_min = CO_SHM_BCAST_TRIAL_LEAST;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    for (int i = 0; i < CALLS && others < ENOUGH; i++) {
        struct co_shm_op op;
        shm_job_fill(buffer, (uint64_t)i, 0, BYTES);
        co_shm_bcast_start(&op, team, 0, buffer, BYTES);
        if (self->rank != 0) {
            SHM_CHECK(co_shm_op_progress(&op) >= 0);
            uint64_t until_ns = co_clock_now_ns() + 300 * CO_NS_PER_US;
            while (co_shm_op_is_large(&op) == is_first_straight && co_clock_now_ns() < until_ns) {
            }
        }
        SHM_CHECK(finish(&op) == 1 && shm_job_holds(buffer, (uint64_t)i, 0, BYTES));
        others = co_shm_op_is_large(&op) != is_first_straight ? others + 1 : 0;
    }
    SHM_CHECK(others == ENOUGH);
    co_shm_team_close(team);
    free(buffer);
    return 0;
}

static void a_slow_path_is_left(void **state)
{
    (void)state;
    for (int straight = 0; straight < 2; straight++) {
        bool is_straight = straight == 1;
        struct shm_job_options options = {.size = 2, .staging_bytes = 1 << 20, .argument = &is_straight};
        assert_int_equal(shm_job_run(&options, leave_slow_path), 0);
    }
}

static int start_and_step(struct co_shm_op *op, struct co_shm_team *team, char *buffer, size_t bytes)
{
    memset(op, 0, sizeof *op);
    co_shm_bcast_start(op, team, 0, buffer, bytes);
    return co_shm_op_progress(op);
}

// The root may be writing to where it was told to: a reader with less room does not tell another length.
static int tell_once(struct shm_rank *self)
{
    enum { ROOM_OF_READER = 70000, GIVEN = 200000 };
    struct co_shm_team *team;
    char *buffer = malloc(GIVEN);
    struct co_shm_introduction its;
    struct co_shm_op op;

    self->node->direct_bcast_min = CO_SHM_BCAST_TRIAL_LEAST;
    self->node->tried_bcast_min = CO_SHM_BCAST_TRIAL_LEAST;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    shm_job_fill(buffer, 0, 0, GIVEN);
    if (self->rank == 1) {
        SHM_CHECK(start_and_step(&op, team, buffer, ROOM_OF_READER) == 0);
    }
    shm_job_barrier(self);
    if (self->rank == 0) {
        SHM_CHECK(start_and_step(&op, team, buffer, GIVEN) == 0);
    }
    shm_job_barrier(self);
    for (int i = 0; i < 200 && self->rank == 1; i++) {
        SHM_CHECK(co_shm_op_look_at_lengths(&op) == 0 && op.bytes == ROOM_OF_READER);
    }
    shm_job_barrier(self);
    SHM_CHECK(self->rank != 0 || (co_shm_introduced(&op, 1, &its) && its.bytes == ROOM_OF_READER));
    shm_job_barrier(self);
    SHM_CHECK(finish(&op) == (self->rank == 0 ? 1 : CO_SHM_TRUNCATED));
    free(op.whole);
    co_shm_team_close(team);
    free(buffer);
    return 0;
}

static void where_a_reader_is_was_told_once(void **state)
{
    (void)state;
    struct shm_job_options options = {.size = 2, .staging_bytes = 1 << 20};
    assert_int_equal(shm_job_run(&options, tell_once), 0);
}

// A reader looked for its root on the straight path, and the next time it has just followed it there.
static int give_up_where_nothing_is_told(struct shm_rank *self)
{
    enum { BY_RING = 70000, STRAIGHT = 140000 };
    struct co_shm_team *team;
    char *buffer = malloc(STRAIGHT);
    struct co_shm_op op;

    self->node->direct_bcast_min = 131072;
    self->node->tried_bcast_min = CO_SHM_BCAST_TRIAL_LEAST;
    SHM_CHECK(shm_job_open_team(self, &team, 1) == 0);
    shm_job_fill(buffer, 0, 0, STRAIGHT);
    co_shm_bcast_follow(team, BY_RING, true);
    co_shm_bcast_follow(team, STRAIGHT, false);
    if (self->rank == 1) {
        SHM_CHECK(start_and_step(&op, team, buffer, BY_RING) == 0);
        SHM_CHECK(co_shm_op_is_large(&op));
    }
    shm_job_barrier(self);
    if (self->rank == 0) {
        start_and_step(&op, team, buffer, BY_RING);
    }
    SHM_CHECK(finish(&op) == 1 && !co_shm_op_is_large(&op));
    shm_job_barrier(self);
    if (self->rank == 0) {
        SHM_CHECK(start_and_step(&op, team, buffer, STRAIGHT) == 0 && co_shm_op_is_large(&op));
    }
    shm_job_barrier(self);
    if (self->rank == 1) {
        SHM_CHECK(start_and_step(&op, team, buffer, STRAIGHT) == 0 && !co_shm_op_is_large(&op));
        SHM_CHECK(co_shm_op_look_at_lengths(&op) == 0 && co_shm_op_is_large(&op));
        co_shm_op_abandon(&op); // before its root does
    }
    shm_job_barrier(self);
    if (self->rank == 0) {
        co_shm_op_abandon(&op);
    }
    shm_job_barrier(self);
    co_shm_team_close(team);
    free(buffer);
    return 0;
}

static void who_gives_up_waits_for_nobody(void **state)
{
    (void)state;
    struct shm_job_options options = {.size = 2, .staging_bytes = 1 << 20};
    assert_int_equal(shm_job_run(&options, give_up_where_nothing_is_told), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_find_their_root),
        cmocka_unit_test(where_a_reader_is_was_told_once),
        cmocka_unit_test(who_gives_up_waits_for_nobody),
        cmocka_unit_test(a_slow_path_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
