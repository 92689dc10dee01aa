// SPDX-License-Identifier: BSD-3-Clause
//
// Starts that succeed in part or not at all: every rank comes to the same verdict and says why, what still works is
// served, decisions follow from what was agreed, and native MPI is left the descriptors that it may need.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "base/descriptors.h"
#include "engine_job.h"

static const char *expected_word;

static void all_refuse(struct job_rank *rank)
{
    job_require(rank->open_status < 0, "a start that should fail did not");
    job_require(strstr(rank->why, expected_word) != NULL, rank->why);
    job_require(rank->engine == NULL, "an output was set on failure");
}

static void no_transport_is_allowed(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_TRANSPORT", "none");
    expected_word = "CASTOFF_TRANSPORT=none";
    engine_job_run(2, (const int[]){0, 0}, all_refuse);
    engine_job_set("CASTOFF_TRANSPORT", "shm");
    expected_word = "CASTOFF_TRANSPORT=shm";
    engine_job_run(2, (const int[]){0, 1}, all_refuse);
    engine_job_set("CASTOFF_TRANSPORT", NULL);
}

// What a compiler may count on where it moves a whole vector, which AVX does by -march=native.
static void lies_on_lines(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    job_require((uintptr_t)rank->engine % CO_LINE_PAIR == 0, "an engine is not where its type says");
}

static void engines_are_aligned(void **state)
{
    (void)state;
    engine_job_run(3, (const int[]){0, 0, 0}, lies_on_lines);
}

static void a_black_hole_is_noticed(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROBE", "50ms");
    engine_job_set("CASTOFF_FAULT", "blackhole=1");
    expected_word = "not heard";
    engine_job_run(3, (const int[]){0, 1, 2}, all_refuse);
    engine_job_set("CASTOFF_FAULT", NULL);
    engine_job_set("CASTOFF_PROBE", "20s");
}

static void an_interface_that_is_none(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_UDP_INTERFACE", "nosuch0");
    expected_word = "nosuch0";
    engine_job_run(2, (const int[]){0, 1}, all_refuse);
    engine_job_set("CASTOFF_UDP_INTERFACE", "lo");
}

static void nodes_alone_are_served(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3);
    const int first_node[] = {0, 2};
    struct co_team *node = engine_job_team(rank, 4, first_node, 2);
    job_require(co_team_decide(rank->engine, co_team_facts(all), CO_CALL_BCAST, 8) == CO_NO_MULTICAST,
                "nodes without multicast");
    if (node != NULL) {
        int value = rank->rank == 0 ? 77 : 0;
        job_require(co_team_decide(rank->engine, co_team_facts(node), CO_CALL_BCAST, sizeof(value)) == CO_TAKE,
                    "one node");
        job_require(co_team_bcast(node, 0, &value, sizeof(value), NULL) == 0 && value == 77, "bcast");
        co_team_close(node);
    }
    char text[600];
    co_engine_describe(rank->engine, text, sizeof(text));
    job_require(strstr(text, expected_word) != NULL, text);
    job_require(strstr(text, node == NULL ? "shm: one rank here" : "shm: 2 ranks here") != NULL, text);
    co_team_close(all);
}

static void without_multicast_nodes_are_served_alone(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_BCAST", "yes");
    engine_job_set("CASTOFF_TRANSPORT", "shm");
    expected_word = "CASTOFF_TRANSPORT=shm";
    engine_job_run(3, (const int[]){0, 1, 0}, nodes_alone_are_served);
    engine_job_set("CASTOFF_TRANSPORT", NULL);
    engine_job_set("CASTOFF_PROBE", "50ms");
    engine_job_set("CASTOFF_FAULT", "blackhole=1");
    expected_word = "not heard";
    engine_job_run(3, (const int[]){0, 1, 0}, nodes_alone_are_served);
    engine_job_set("CASTOFF_FAULT", NULL);
    engine_job_set("CASTOFF_PROBE", "20s");
    engine_job_set("CASTOFF_BCAST", NULL);
}

static void facts_are_these(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3);
    const struct co_team_facts *facts = co_team_facts(all);
    job_require(facts->ranks == 5 && facts->nodes == 3 && facts->max_ranks_per_node == 3, "shape");
    job_require(facts->has_multicast && facts->has_shm, "transports");
    job_require(facts->transport == CO_TRANSPORT_UDP, "what lies between the nodes, below the faults");
    co_team_close(all);
}

static void facts_of_one_node_are_these(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 4);
    const struct co_team_facts *facts = co_team_facts(all);
    job_require(facts->nodes == 1 && facts->max_ranks_per_node == 2, "shape");
    job_require(facts->transport == CO_TRANSPORT_SHM, "shared memory carries it");
    co_team_close(all);
}

static void facts_of_a_team(void **state)
{
    (void)state;
    engine_job_run(5, (const int[]){0, 1, 1, 2, 1}, facts_are_these);
    engine_job_set("CASTOFF_FAULT", "drop=0.001,seed=1"); // a decorator changes no decision
    engine_job_run(5, (const int[]){0, 1, 1, 2, 1}, facts_are_these);
    engine_job_set("CASTOFF_FAULT", NULL);
    engine_job_run(2, (const int[]){0, 0}, facts_of_one_node_are_these);
}

static void description_has_the_word(struct job_rank *rank)
{
    char text[1000];
    job_require(rank->open_status == 0, rank->why);
    co_engine_describe(rank->engine, text, sizeof(text));
    job_require(strstr(text, expected_word) != NULL, text);
}

static void offload_can_be_switched_off(void **state)
{
    (void)state;
    expected_word = "gso yes, gro yes"; // every kernel since Linux 5.0
    engine_job_run(2, (const int[]){0, 1}, description_has_the_word);
    engine_job_set("CASTOFF_UDP_OFFLOAD", "no");
    expected_word = "gso no, gro no";
    engine_job_run(2, (const int[]){0, 1}, description_has_the_word);
    engine_job_set("CASTOFF_UDP_OFFLOAD", NULL);
}

static void a_table_that_cannot_be_read(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_TUNE", "/nonexistent/table");
    expected_word = "/nonexistent/table";
    engine_job_run(2, (const int[]){0, 0}, all_refuse);
    engine_job_set("CASTOFF_TUNE", NULL);
}

// Runs a job while the process may open so many files more than it has now.
static void run_with_descriptors(int more, int size, const int *nodes, void (*body)(struct job_rank *rank))
{
    struct rlimit before, low;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = before;
    low.rlim_cur = 0;
    do { // some may be open far above
        low.rlim_cur++;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    } while (co_descriptors_left(more) < more);
    engine_job_run(size, nodes, body);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static _Atomic int without_the_word; // ranks

static void word_is_looked_for(struct job_rank *rank)
{
    char text[1000];
    if (rank->open_status == 0) {
        co_engine_describe(rank->engine, text, sizeof(text));
    }
    without_the_word += strstr(rank->open_status == 0 ? text : rank->why, expected_word) == NULL;
}

// The same with so many that one more or less changes it. The ranks are threads here, and what one has open for a
// moment, or for longer where it has to wait for a core then, is missing when the other one counts: jobs are repeated
// until three have said it.
static void word_comes_with_descriptors(int more)
{
    enum { JOBS_MOST = 60 };
    int with_it = 0;
    for (int i = 0; with_it < 3; i++) {
        assert_true(i < JOBS_MOST);
        without_the_word = 0;
        run_with_descriptors(more, 2, (const int[]){0, 1}, word_is_looked_for);
        with_it += without_the_word == 0;
    }
}

// Native MPI hangs in MPI_Finalize where it finds none left for its connections.
static void the_last_descriptors_are_left_to_native(void **state)
{
    (void)state;
    expected_word = "ulimit -n";
    run_with_descriptors(16, 2, (const int[]){0, 1}, all_refuse);
    engine_job_set("CASTOFF_BCAST", "yes");
    run_with_descriptors(16, 3, (const int[]){0, 1, 0}, nodes_alone_are_served);
    engine_job_set("CASTOFF_BCAST", NULL);
}

static void threads_go_by_descriptors(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROGRESS", "threads");
    engine_job_set("CASTOFF_WORKERS", "9");
    engine_job_set("CASTOFF_UDP_SUBGROUPS", "8");
    expected_word = "progress: 8 receiving and 1 sending worker thread and callers";
    engine_job_run(2, (const int[]){0, 1}, description_has_the_word);
    expected_word = "progress: worker thread and callers";
    word_comes_with_descriptors(17 + 9 + 2);
    expected_word = "progress: callers";
    word_comes_with_descriptors(17 + 9);
    engine_job_set("CASTOFF_UDP_SUBGROUPS", NULL);
    engine_job_set("CASTOFF_WORKERS", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
}

// Where nobody moves the engine while the program is in native calls, worker threads do, or it is not opened.
static void without_a_progress_loop_there_are_workers(void **state)
{
    (void)state;
    engine_job_needs_workers = true;
    engine_job_set("CASTOFF_PROGRESS", "auto");
    expected_word = "progress: worker thread and callers";
    engine_job_run(2, (const int[]){0, 0}, description_has_the_word);
    engine_job_set("CASTOFF_PROGRESS", "caller");
    expected_word = "CASTOFF_PROGRESS=caller";
    engine_job_run(2, (const int[]){0, 0}, all_refuse);
    engine_job_run(2, (const int[]){0, 1}, all_refuse);
    engine_job_set("CASTOFF_PROGRESS", "threads");
    engine_job_set("CASTOFF_UDP_SUBGROUPS", "8");
    expected_word = "some rank can have none";
    word_comes_with_descriptors(17 + 9);
    engine_job_set("CASTOFF_UDP_SUBGROUPS", NULL);
    engine_job_set("CASTOFF_PROGRESS", NULL);
    engine_job_needs_workers = false;
}

static unsigned expected_exchanges, expected_in_node;

static void exchanges_are_few(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    unsigned in_node = rank->node_size > 1 ? expected_in_node : 0;
    char text[80];
    snprintf(text, sizeof(text), "%u exchanges, %u in the node", rank->exchanges, rank->node_exchanges);
    job_require(rank->exchanges == expected_exchanges, text);
    job_require(rank->node_size == 1 || rank->node_exchanges == in_node, text);
}

// Each makes all ranks wait for a turn of the processor.
static void a_start_takes_few_exchanges(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_SHM_SINGLE_COPY", "no");
    expected_exchanges = 3; // what each rank is, what its parts are, the last word
    expected_in_node = 3;   // its memory is made, mapped, watched
    engine_job_run(3, (const int[]){0, 0, 0}, exchanges_are_few);
    engine_job_needs_workers = true; // which is told with the last word
    engine_job_run(3, (const int[]){0, 0, 0}, exchanges_are_few);
    engine_job_needs_workers = false;
    expected_exchanges = 5; // and the key, whether all hear; loopback has one address, so not which network
    expected_in_node = 4;   // and the key
    engine_job_run(4, (const int[]){0, 1, 1, 2}, exchanges_are_few);
    engine_job_set("CASTOFF_SHM_SINGLE_COPY", NULL);
}

static void one_is_of_another_node(struct job_rank *rank)
{
    rank->node_first = rank->rank == 1 ? 1 : rank->node_first;
}

// What ranks say of their nodes has to fit together.
static void nodes_that_are_none(void **state)
{
    (void)state;
    expected_word = "which ranks share a node";
    engine_job_before_open = one_is_of_another_node;
    engine_job_run(3, (const int[]){0, 0, 0}, all_refuse);
    engine_job_before_open = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_transport_is_allowed),
        cmocka_unit_test(engines_are_aligned),
        cmocka_unit_test(a_black_hole_is_noticed),
        cmocka_unit_test(an_interface_that_is_none),
        cmocka_unit_test(without_multicast_nodes_are_served_alone),
        cmocka_unit_test(facts_of_a_team),
        cmocka_unit_test(a_table_that_cannot_be_read),
        cmocka_unit_test(offload_can_be_switched_off),
        cmocka_unit_test(the_last_descriptors_are_left_to_native),
        cmocka_unit_test(threads_go_by_descriptors),
        cmocka_unit_test(without_a_progress_loop_there_are_workers),
        cmocka_unit_test(a_start_takes_few_exchanges),
        cmocka_unit_test(nodes_that_are_none),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
