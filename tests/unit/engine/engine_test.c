// SPDX-License-Identifier: BSD-3-Clause
//
// The engine over real shared memory and real UDP on the loopback interface: every placement of ranks on nodes, every
// root, in place and not, many operations outstanding, two teams at once. Decisions are not asked: all is served.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "base/settings.h"
#include "engine_inside.h"
#include "engine_job.h"
#include "pattern.h"

static void bcasts(struct co_team *team, int rank, int size)
{
    static const size_t sizes[] = {1, 48, 49, 1400, 5000, 100001};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (int root = 0; root < size; root++) {
            unsigned char *buffer = calloc(1, sizes[i]);
            unsigned seed = (unsigned)i * 16 + (unsigned)root;
            if (rank == root) {
                pattern_fill(buffer, sizes[i], seed);
            }
            job_require(co_team_bcast(team, root, buffer, sizes[i], NULL) == 0, "bcast");
            job_require(pattern_matches(buffer, sizes[i], seed), "wrong bytes in a bcast");
            free(buffer);
        }
    }
}

static void allgathers(struct co_team *team, int rank, int size)
{
    static const size_t sizes[] = {1, 50, 1500, 40001};
    for (size_t i = 0; i < 2 * sizeof(sizes) / sizeof(*sizes); i++) {
        size_t bytes = sizes[i / 2];
        unsigned char *all = calloc((size_t)size, bytes), *mine = calloc(1, bytes);
        pattern_fill(mine, bytes, (unsigned)rank);
        memcpy(all + (size_t)rank * bytes, mine, bytes);
        job_require(co_team_allgather(team, i % 2 ? NULL : mine, all, bytes) == 0, "allgather");
        for (int source = 0; source < size; source++) {
            job_require(pattern_matches(all + (size_t)source * bytes, bytes, (unsigned)source),
                        "wrong bytes in an allgather");
        }
        free(all);
        free(mine);
    }
}

enum { OUTSTANDING = 24 };

static void iallgathers(struct co_team *team, struct co_engine *engine, int rank, int size)
{
    struct co_task *tasks[OUTSTANDING] = {NULL};
    unsigned char *all[OUTSTANDING], *mine[OUTSTANDING];
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t bytes = (size_t)(i % 5) * 700 + 3;
        all[i] = calloc((size_t)size, bytes);
        mine[i] = calloc(1, bytes);
        pattern_fill(mine[i], bytes, (unsigned)(rank + i));
        job_require(co_team_iallgather(&tasks[i], team, CO_CALL_IALLGATHER, mine[i], all[i], bytes) == 0, "iallgather");
    }
    struct co_wait wait = {.call = "test"};
    for (int i = OUTSTANDING - 1; i >= 0; i--) {
        size_t bytes = (size_t)(i % 5) * 700 + 3;
        while (!co_task_is_done(tasks[i])) {
            co_engine_wait_turn(engine, &wait);
        }
        job_require(co_task_result(tasks[i]) == 0, "iallgather result");
        for (int source = 0; source < size; source++) {
            job_require(pattern_matches(all[i] + (size_t)source * bytes, bytes, (unsigned)(source + i)),
                        "wrong bytes in an iallgather");
        }
        co_task_release(tasks[i]);
        free(all[i]);
        free(mine[i]);
    }
}

// Each of another root, and some roots give another length than the others have room for.
static void ibcasts(struct co_team *team, struct co_engine *engine, int rank, int size)
{
    struct co_task *tasks[OUTSTANDING] = {NULL};
    unsigned char *buffers[OUTSTANDING];
    struct co_wait wait = {.call = "test"};
    for (int i = 0; i < OUTSTANDING; i++) {
        size_t given = (size_t)(i % 5) * 700 + 3, room = rank == i % size ? given : given + (size_t)(i % 3) * 40;
        buffers[i] = calloc(1, room);
        if (rank == i % size) {
            pattern_fill(buffers[i], given, (unsigned)i);
        }
        job_require(co_team_ibcast(&tasks[i], team, CO_CALL_IBCAST, i % size, buffers[i], room) == 0, "ibcast");
    }
    for (int i = OUTSTANDING - 1; i >= 0; i--) {
        size_t given = (size_t)(i % 5) * 700 + 3;
        while (!co_task_is_done(tasks[i])) {
            co_engine_wait_turn(engine, &wait);
        }
        job_require(co_task_result(tasks[i]) == 0, "ibcast result");
        job_require(co_task_bytes(tasks[i]) == given, "what the root gave");
        job_require(pattern_matches(buffers[i], given, (unsigned)i), "wrong bytes in an ibcast");
        co_task_release(tasks[i]);
        free(buffers[i]);
    }
}

// The blocks of one, the last rank's first, with gaps whose bytes stay 0; more than a few bytes only in later rounds.
static unsigned char *lay_out(struct co_block blocks[], int size, int round, int operation)
{
    unsigned char *buffer = calloc(1, 200000);
    size_t at = 5;
    for (int of = size - 1; of >= 0; of--) {
        size_t bytes = (size_t)((of + round + operation) % 3) * (size_t)(1 + of * (round < 4 ? 9 : 900) + round * 60);
        blocks[of] = (struct co_block){.buffer = buffer + at, .bytes = bytes};
        at += bytes + (size_t)(of % 3) * 7;
    }
    return buffer;
}

static void check_gathered(unsigned char *buffer, const struct co_block blocks[], int size, unsigned seed)
{
    for (int of = 0; of < size; of++) {
        job_require(pattern_matches(blocks[of].buffer, blocks[of].bytes, seed + (unsigned)of),
                    "wrong bytes in an allgatherv");
        memset(blocks[of].buffer, 0, blocks[of].bytes);
    }
    for (size_t i = 0; i < 200000; i++) {
        job_require(buffer[i] == 0, "a gap of an allgatherv is written");
    }
    free(buffer);
}

// Operations in memory that such a call takes at most: between nodes it begins with a gather and a broadcast of words.
static uint64_t operations_of(const struct co_team *team, const struct co_block blocks[])
{
    const struct co_team_facts *facts = co_team_facts(team);
    uint64_t operations = facts->nodes > 1 ? 2 : 0;
    for (int of = 0; of < facts->ranks; of++) {
        operations += blocks[of].bytes > 0;
    }
    return operations;
}

// Of each rank another length, of some none; a broadcast that comes meanwhile keeps its place. No operation in memory
// has the number of an earlier one. Tasks are used again.
static void allgathervs(struct co_team *team, struct co_engine *engine, int rank, int size)
{
    struct co_block blocks[2][JOB_RANKS_MAX];
    unsigned char *buffers[2];
    struct co_task *tasks[2] = {NULL};
    struct co_wait wait = {.call = "test"};
    unsigned char word[40] = {0};
    for (int round = 0; round < 12; round++) {
        uint64_t number = inside_calls_in_memory(team);
        for (int i = 0; i < 2; i++) {
            buffers[i] = lay_out(blocks[i], size, round, i);
            number += operations_of(team, blocks[i]);
            pattern_fill(blocks[i][rank].buffer, blocks[i][rank].bytes, (unsigned)(rank + round + i));
        }
        if (rank == round % size) {
            pattern_fill(word, sizeof word, (unsigned)round);
        }
        job_require(co_team_iallgatherv(&tasks[0], team, CO_CALL_IALLGATHERV, blocks[0]) == 0, "iallgatherv");
        job_require(co_team_ibcast(&tasks[1], team, CO_CALL_IBCAST, round % size, word, sizeof word) == 0, "ibcast");
        job_require(co_team_allgatherv(team, blocks[1]) == 0, "allgatherv");
        for (int i = 1; i >= 0; i--) {
            while (!co_task_is_done(tasks[i])) {
                co_engine_wait_turn(engine, &wait);
            }
            job_require(co_task_result(tasks[i]) == 0, "iallgatherv result");
        }
        job_require(!inside_has_memory(team) || inside_calls_in_memory(team) >= number, "numbers are given twice");
        job_require(pattern_matches(word, sizeof word, (unsigned)round),
                    "wrong bytes in a broadcast between allgathervs");
        for (int i = 0; i < 2; i++) {
            check_gathered(buffers[i], blocks[i], size, (unsigned)(round + i));
        }
    }
    for (int i = 0; i < 2; i++) {
        co_task_release(tasks[i]);
    }
}

// One alone has bytes, and more of them than the others expect: these get what fits, and are told.
static void allgatherv_of_more_than_fits(struct co_team *team, int rank, int size)
{
    enum { GIVEN = 5000, ROOM = 4321 };
    for (int root = 0; root < size; root++) {
        struct co_block blocks[JOB_RANKS_MAX] = {{0}};
        unsigned char *buffer = calloc(1, GIVEN);
        size_t room = rank == root ? GIVEN : ROOM;
        for (int of = 0; of < size; of++) {
            blocks[of] = (struct co_block){.buffer = buffer, .bytes = of == root ? room : 0};
        }
        if (rank == root) {
            pattern_fill(buffer, GIVEN, (unsigned)root);
        }
        job_require(co_team_allgatherv(team, blocks) == (rank == root ? 0 : -EMSGSIZE), "allgatherv of too much");
        job_require(pattern_matches(buffer, room, (unsigned)root), "wrong bytes in an allgatherv of too much");
        for (size_t i = room; i < GIVEN; i++) {
            job_require(buffer[i] == 0, "bytes beyond the room of an allgatherv");
        }
        free(buffer);
    }
}

static void everything_on(struct job_rank *rank, uint64_t id, const int *members, int count)
{
    struct co_team *team = engine_job_team(rank, id, members, count);
    if (team == NULL) {
        return;
    }
    int self = 0;
    while (members[self] != rank->rank) {
        self++;
    }
    bcasts(team, self, count);
    allgathers(team, self, count);
    iallgathers(team, rank->engine, self, count);
    ibcasts(team, rank->engine, self, count);
    allgathervs(team, rank->engine, self, count);
    allgatherv_of_more_than_fits(team, self, count);
    bcasts(team, self, count);
    co_team_close(team);
}

static void whole_job(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    int members[JOB_RANKS_MAX];
    for (int i = 0; i < rank->job->size; i++) {
        members[i] = i;
    }
    everything_on(rank, 7, members, rank->job->size);
}

// Two halves at once under one id, as two halves of a split have, and a team in reverse order.
static void halves(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    int size = rank->job->size, members[JOB_RANKS_MAX], count = 0;
    for (int i = rank->rank % 2; i < size; i += 2) {
        members[count++] = i;
    }
    if (count > 1) {
        everything_on(rank, 9, members, count);
    }
    for (int i = 0; i < size; i++) {
        members[i] = size - 1 - i;
    }
    everything_on(rank, 10, members, size);
}

static void one_node(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 0}, whole_job);
    engine_job_run(5, (const int[]){0, 0, 0, 0, 0}, whole_job);
    engine_job_run(4, (const int[]){0, 0, 0, 0}, halves);
}

static void one_rank_a_node(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 1}, whole_job);
    engine_job_run(5, (const int[]){0, 1, 2, 3, 4}, whole_job);
    engine_job_run(7, (const int[]){0, 1, 2, 3, 4, 5, 6}, whole_job); // small allgathers are collected
    engine_job_run(4, (const int[]){0, 1, 2, 3}, halves);
}

static void several_ranks_on_several_nodes(void **state)
{
    (void)state;
    engine_job_run(4, (const int[]){0, 0, 1, 1}, whole_job);
    engine_job_run(5, (const int[]){0, 1, 0, 1, 0}, whole_job); // not node by node
    engine_job_run(6, (const int[]){0, 0, 0, 1, 2, 2}, whole_job);
    engine_job_run(6, (const int[]){0, 1, 1, 0, 2, 0}, halves);
}

static _Atomic int arrived;

// The others are inside a native call, where only the progress callback moves them, when the last report that the
// root waits for is lost: they must still hear it ask.
static void finish_then_idle(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    int members[JOB_RANKS_MAX];
    for (int i = 0; i < rank->job->size; i++) {
        members[i] = i;
    }
    struct co_team *team = engine_job_team(rank, 11, members, rank->job->size);
    unsigned char *buffer = calloc(1, 300000);
    for (int turn = 1; turn <= 20; turn++) {
        if (rank->rank == 0) {
            pattern_fill(buffer, 300000, (unsigned)turn);
        }
        job_require(co_team_bcast(team, 0, buffer, 300000, NULL) == 0, "bcast");
        job_require(pattern_matches(buffer, 300000, (unsigned)turn), "wrong bytes in a bcast");
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&arrived) < turn * rank->job->size) {
            co_engine_progress(rank->engine);
        }
    }
    free(buffer);
    co_team_close(team);
}

static void idle_ranks_answer(void **state)
{
    (void)state;
    setenv("CASTOFF_FAULT", "drop=0.4,kind=control,seed=5", 1);
    co_settings_forget();
    co_settings_load();
    engine_job_run(3, (const int[]){0, 1, 2}, finish_then_idle);
    unsetenv("CASTOFF_FAULT");
    co_settings_forget();
    co_settings_load();
}

static void open_and_close(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    co_team_close(engine_job_world(rank, 12));
}

// A team of more ranks takes more, and those who speak for a node take most.
static void memory_is_counted(void **state)
{
    (void)state;
    uint64_t high[3];
    const int size[3] = {2, 3, 3}, nodes[3][3] = {{0, 0}, {0, 0, 0}, {0, 0, 1}};
    for (int i = 0; i < 3; i++) {
        co_store_relaxed(&co_counter_values[CO_COUNT_COMMUNICATOR_HIGH], 0); // relaxed: one thread
        engine_job_run(size[i], nodes[i], open_and_close);
        high[i] = co_counter_read(CO_COUNT_COMMUNICATOR_HIGH);
    }
    assert_int_equal(high[1] - high[0], 6 * sizeof(int)); // four places, and twice who shares the node
    assert_true(high[2] > high[1]);
}

// All that eight ranks of a node spend on a communicator, of which each may take CO_SHM_MEMBER_HEAP
// (src/shm/shm_layout.h) for itself, and some of that for its entry in the table of communicators.
static void a_member_keeps_within_its_share(void **state)
{
    (void)state;
    co_store_relaxed(&co_counter_values[CO_COUNT_COMMUNICATOR_HIGH], 0); // relaxed: one thread
    engine_job_run(8, (const int[]){0, 0, 0, 0, 0, 0, 0, 0}, open_and_close);
    assert_in_range(co_counter_read(CO_COUNT_COMMUNICATOR_HIGH), 1, inside_member_heap() - 128);
}

static int set_up(void **state)
{
    (void)state;
    setenv("CASTOFF_UDP_INTERFACE", "lo", 1);
    setenv("CASTOFF_LOG", "error", 1);
    co_settings_load();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),
        cmocka_unit_test(one_rank_a_node),
        cmocka_unit_test(several_ranks_on_several_nodes),
        cmocka_unit_test(idle_ranks_answer),
        cmocka_unit_test(memory_is_counted),
        cmocka_unit_test(a_member_keeps_within_its_share),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
