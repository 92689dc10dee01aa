// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts that some members let go to native, for the length that they were called with, and others wait for, on
// nodes of several ranks: who waits is told, by whoever was to give it the bytes, and what comes between and later goes
// on as ever. The seed can be given as the first argument.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_inside.h"
#include "engine_job.h"

enum { STEPS = 150, MOST = 150000, OUTSTANDING = 3, LATEST = 20 };
enum kind { NATIVE, UNEQUAL, EQUAL, ALLGATHER, NONBLOCKING, KINDS };

static const int everybody[JOB_RANKS_MAX] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static uint64_t seed = 20261130;
static unsigned job_number;

static unsigned draw(unsigned of, unsigned step, unsigned what)
{
    uint64_t state = (seed ^ (uint64_t)job_number << 48 ^ (uint64_t)step << 8 ^ what) * UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (unsigned)((state >> 32) % of);
}

static enum kind kind_of(unsigned step)
{
    return (enum kind)draw(KINDS, step, 0);
}

// Lines, mail, bulk, straight; one datagram and many.
static size_t bytes_of(unsigned step)
{
    static const size_t lengths[] = {1, 100, 500, 3000, 40000, MOST};
    return lengths[draw(sizeof lengths / sizeof *lengths, step, 1)];
}

struct member {
    struct job_rank *rank;
    struct co_team_seed seed;
    struct co_team *team; // NULL at first
    unsigned char *data;
    struct co_task *tasks[OUTSTANDING];
    unsigned char later[OUTSTANDING][1000];
};

static void use(struct member *member)
{
    if (member->team == NULL) {
        job_require(co_team_open(&member->team, member->rank->engine, &member->seed, everybody) == 0, "team");
    }
}

static void wait_for_all(struct member *member, unsigned step)
{
    struct co_wait wait = {.call = "test"};
    for (int i = 0; i < OUTSTANDING && member->tasks[i] != NULL; i++) {
        while (!co_task_is_done(member->tasks[i])) {
            co_engine_wait_turn(member->rank->engine, &wait);
        }
        job_require(co_task_result(member->tasks[i]) == 0, "nonblocking one");
        job_require(member->later[i][999] == (unsigned char)(step + (unsigned)i), "its bytes");
        co_task_release(member->tasks[i]);
        member->tasks[i] = NULL;
    }
}

static void start_some(struct member *member, unsigned step)
{
    int root = (int)draw((unsigned)member->rank->job->size, step, 2);
    for (int i = 0; i < OUTSTANDING; i++) {
        memset(member->later[i], member->rank->rank == root ? (int)step + i : 0, sizeof member->later[i]);
        job_require(co_team_ibcast(&member->tasks[i], member->team, CO_CALL_IBCAST, root, member->later[i], 1000) == 0,
                    "start");
    }
}

static void gather(const struct member *member, unsigned step)
{
    unsigned mine = step + (unsigned)member->rank->rank, all[JOB_RANKS_MAX];
    job_require(co_team_allgather(member->team, &mine, all, sizeof mine) == 0, "allgather");
    for (unsigned i = 0; i < (unsigned)member->rank->job->size; i++) {
        job_require(all[i] == step + i, "its bytes");
    }
}

// Of a step of broadcasts: what this member makes of it.
static void broadcast(struct member *member, unsigned step)
{
    unsigned size = (unsigned)member->rank->job->size;
    int root = (int)draw(size, step, 3), rank = member->rank->rank;
    bool is_short = rank == root || draw(3, step, 10 + (unsigned)rank) == 0;
    if (kind_of(step) == NATIVE || (kind_of(step) == UNEQUAL && is_short)) {
        co_let_go_to_native(&member->seed, member->rank->engine, member->team, root);
        return;
    }
    use(member);
    memset(member->data, rank == root ? (int)step : 0, bytes_of(step));
    int result = co_team_bcast(member->team, root, member->data, bytes_of(step), NULL);
    job_require(result == (kind_of(step) == UNEQUAL ? -ECANCELED : 0), "result of a broadcast");
    job_require(result != 0 || member->data[bytes_of(step) - 1] == (unsigned char)step, "bytes of a broadcast");
}

static void program(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct member *member = calloc(1, sizeof *member);
    member->rank = rank;
    member->data = malloc(MOST);
    job_require(co_team_seed_open(&member->seed, rank->engine, 7, everybody, rank->job->size, rank->rank) == 0, "seed");
    for (unsigned step = 0; step < STEPS; step++) {
        enum kind kind = kind_of(step);
        if (kind == ALLGATHER || kind == NONBLOCKING || step == LATEST) {
            use(member);
        }
        if (kind == ALLGATHER) {
            gather(member, step);
        } else if (kind == NONBLOCKING) {
            start_some(member, step);
            if (kind_of(step + 1) <= EQUAL) { // while they are under way
                broadcast(member, ++step);
                wait_for_all(member, step - 1);
            } else {
                wait_for_all(member, step);
            }
        } else {
            broadcast(member, step);
        }
        if (draw(10, step, 4) == 0) {
            engine_job_barrier(rank);
        }
    }
    engine_job_barrier(rank);
    gather(member, 1000);
    engine_job_barrier(rank);
    co_team_close(member->team);
    free(member->data);
    free(member);
}

static void programs_on(int size, const int *node_of_rank)
{
    for (int i = 0; i < 3; i++) {
        job_number++;
        engine_job_run(size, node_of_rank, program);
    }
}

static void one_node(void **state)
{
    (void)state;
    programs_on(3, (const int[]){0, 0, 0});
}

static void one_rank_a_node(void **state)
{
    (void)state;
    programs_on(4, (const int[]){0, 1, 2, 3});
}

static void several_ranks_on_several_nodes(void **state)
{
    (void)state;
    programs_on(4, (const int[]){0, 0, 1, 1});
    programs_on(5, (const int[]){0, 1, 0, 1, 0});
    programs_on(6, (const int[]){0, 0, 0, 1, 2, 2});
}

// One that native refused has not been let go: the next one has its place.
static void what_was_refused(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team_seed refused;
    struct co_team *team;
    unsigned char byte = rank->rank == 0 ? 5 : 0;
    job_require(co_team_seed_open(&refused, rank->engine, 7, everybody, rank->job->size, rank->rank) == 0, "seed");
    for (int i = 0; rank->rank == 0 && i < 3; i++) {
        co_let_go_to_native(&refused, rank->engine, NULL, 0);
        job_require(inside_let_go(rank->engine, refused.seat) == 1, "told");
        co_let_go_take_back(&refused, rank->engine, NULL, 0);
        job_require(inside_let_go(rank->engine, refused.seat) == 0, "taken back");
    }
    engine_job_barrier(rank);
    job_require(co_team_open(&team, rank->engine, &refused, everybody) == 0, "team");
    job_require(co_team_bcast(team, 0, &byte, 1, NULL) == 0 && byte == 5, "the next one");
    engine_job_barrier(rank);
    co_team_close(team);
}

static void what_was_refused_takes_no_place(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 0}, what_was_refused);
    engine_job_run(4, (const int[]){0, 0, 1, 1}, what_was_refused);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node),
        cmocka_unit_test(one_rank_a_node),
        cmocka_unit_test(several_ranks_on_several_nodes),
        cmocka_unit_test(what_was_refused_takes_no_place),
    };
    seed = argc > 1 ? strtoull(argv[1], NULL, 0) : seed;
    print_message("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
