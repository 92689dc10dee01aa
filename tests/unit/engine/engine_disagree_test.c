// SPDX-License-Identifier: BSD-3-Clause
//
// Allgathers of ranks that disagree about the blocks' lengths: a mistake of the program, drawn at random. Some rank
// says that another has nothing, or other bytes, or that all blocks are equal where they are not; so members begin
// other operations, and other numbers of them. On one node, on hosts, with several ranks a host and by way of a
// collector every call ends, with an error on somebody or with none; and where all agree the bytes are right. The seed
// can be given as the first argument.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"
#include "engine_job.h"

#define BLOCK_MOST ((size_t)60000)

static uint64_t seed = 20261126;
static int rounds = 40;

// What one rank takes for true.
struct view {
    size_t lengths[JOB_RANKS_MAX];
    int size;
};

static uint64_t draw(uint64_t *state)
{
    return co_mix_bits((*state)++);
}

static size_t draw_length(uint64_t *state)
{
    static const size_t lengths[] = {0, 0, 1, 8, 16, 100, 121, 700, 5000, 8000, 16000, BLOCK_MOST};
    return lengths[draw(state) % (sizeof lengths / sizeof *lengths)];
}

static size_t total_of(const struct view *view)
{
    size_t total = 0;
    for (int of = 0; of < view->size; of++) {
        total += view->lengths[of];
    }
    return total;
}

static void make_equal(struct view *view, size_t length)
{
    for (int of = 0; of < view->size; of++) {
        view->lengths[of] = length;
    }
}

static void make_true(struct view *view, int size, uint64_t *state)
{
    view->size = size;
    uint64_t shape = draw(state) % 4;
    size_t most = draw_length(state);
    for (int of = 0; of < size; of++) {
        size_t length = draw_length(state);
        view->lengths[of] = shape == 0 ? most : shape == 1 && of > 0 ? 0 : length < most ? length : most;
    }
    view->lengths[0] += total_of(view) == 0;
}

static void make_mistake(struct view *view, uint64_t *state)
{
    int of = (int)(draw(state) % (uint64_t)view->size);
    switch (draw(state) % 5) {
    case 0:
        view->lengths[of] = 0;
        break;
    case 1:
        make_equal(view, view->lengths[of]);
        break;
    case 2: { // one alone has bytes
        size_t length = view->lengths[of];
        make_equal(view, 0);
        view->lengths[of] = length;
        break;
    }
    case 3: // as many bytes as two of another's blocks: what one operation takes for right
        view->lengths[of] = 2 * view->lengths[(of + 1) % view->size] % (BLOCK_MOST + 1);
        break;
    default:
        view->lengths[of] = draw_length(state);
    }
}

// All members draw the same round, and each its own mistake in it. What has no bytes is no operation of the engine's.
static struct view view_of(int round, int rank, int size)
{
    uint64_t state = seed * 1000003 + (uint64_t)round * 65536;
    struct view view;
    make_true(&view, size, &state);
    uint64_t mistaken = draw(&state);
    uint64_t own = state + 1000 * (uint64_t)(rank + 1);
    if (round % 8 != 0 && (mistaken >> rank & 1) != 0) {
        make_mistake(&view, &own);
    }
    if (total_of(&view) == 0) {
        view.lengths[rank] = 1;
    }
    return view;
}

static bool is_equal(const struct view *view)
{
    for (int of = 1; of < view->size; of++) {
        if (view->lengths[of] != view->lengths[0]) {
            return false;
        }
    }
    return true;
}

static int wait_for(struct job_rank *rank, struct co_task *task)
{
    struct co_wait wait = {.call = "test"};
    while (!co_task_is_done(task)) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    int result = co_task_result(task);
    co_task_release(task);
    return result;
}

static int gather(struct job_rank *rank, struct co_team *team, const struct view *view, unsigned char *buffer,
                  bool returns_at_once)
{
    struct co_block blocks[JOB_RANKS_MAX];
    struct co_task *task = NULL;
    size_t at = 0;
    for (int of = 0; of < view->size; of++) {
        blocks[of] = (struct co_block){.buffer = buffer + at, .bytes = view->lengths[of]};
        at += view->lengths[of];
    }
    memset(blocks[rank->rank].buffer, rank->rank + 1, blocks[rank->rank].bytes);
    if (!returns_at_once) {
        return is_equal(view) ? co_team_allgather(team, NULL, buffer, view->lengths[0])
                              : co_team_allgatherv(team, blocks);
    }
    int error = is_equal(view) ? co_team_iallgather(&task, team, CO_CALL_IALLGATHER, NULL, buffer, view->lengths[0])
                               : co_team_iallgatherv(&task, team, CO_CALL_IALLGATHERV, blocks);
    job_require(error == 0, "a start failed");
    return wait_for(rank, task);
}

static void run_round(struct job_rank *rank, int round)
{
    int size = rank->job->size;
    struct view view = view_of(round, rank->rank, size);
    unsigned char *buffer = calloc(1, 2 * BLOCK_MOST * JOB_RANKS_MAX), *at = buffer;
    struct co_team *team = engine_job_world(rank, 1000 + (uint64_t)round);
    int result = gather(rank, team, &view, buffer, round % 2 != 0);
    job_require(result == 0 || result == -EMSGSIZE || result == -ECONNRESET, "another error than one of lengths");
    job_require(round % 8 != 0 || result == 0, "an error where all agree");
    for (int of = 0; of < size && round % 8 == 0; of++) {
        for (size_t i = 0; i < view.lengths[of]; i++) {
            job_require(*at++ == of + 1, "wrong bytes where all agree");
        }
    }
    // Who is through does other things, and its engine moves meanwhile.
    engine_job_barrier(rank);
    co_team_close(team);
    free(buffer);
}

static void run_rounds(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    for (int round = 0; round < rounds; round++) {
        if (rank->rank == 0 && getenv("CASTOFF_TEST_TELL") != NULL) {
            fprintf(stderr, "round %d\n", round);
        }
        run_round(rank, round);
    }
}

static void on_one_node(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 0}, run_rounds);
    engine_job_run(3, (const int[]){0, 0, 0}, run_rounds);
    engine_job_run(5, (const int[]){0, 0, 0, 0, 0}, run_rounds);
}

static void on_hosts(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 1}, run_rounds);
    engine_job_run(3, (const int[]){0, 1, 2}, run_rounds);
    engine_job_run(4, (const int[]){0, 1, 2, 3}, run_rounds);
}

static void by_way_of_a_collector(void **state)
{
    (void)state;
    engine_job_run(7, (const int[]){0, 1, 2, 3, 4, 5, 6}, run_rounds);
}

static void on_hosts_of_several_ranks(void **state)
{
    (void)state;
    engine_job_run(4, (const int[]){0, 0, 1, 1}, run_rounds);
    engine_job_run(4, (const int[]){0, 1, 0, 1}, run_rounds);
    engine_job_run(5, (const int[]){0, 1, 1, 2, 2}, run_rounds);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_one_node),
        cmocka_unit_test(on_hosts),
        cmocka_unit_test(by_way_of_a_collector),
        cmocka_unit_test(on_hosts_of_several_ranks),
    };
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests_name("disagreeing members", tests, engine_job_set_up, NULL);
}
