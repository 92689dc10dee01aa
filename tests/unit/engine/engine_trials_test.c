// SPDX-License-Identifier: BSD-3-Clause
//
// Trials through the engine, with real exchanges, inside a node and between nodes: all ranks choose alike at every
// call, the slower side goes, members that were called with other lengths follow the prior from then on, and a
// communicator that makes few calls has no table. What stands for native here are three of castoff's own broadcasts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "engine_job.h"

enum { RANKS = 3, CALLS = 60, BYTES = 4096 };

static const int all_ranks[RANKS] = {0, 1, 2};
static enum co_reason chosen[RANKS][CALLS];
static uint64_t exchanged, gave_up; // times, all ranks of a job together

struct member {
    struct job_rank *rank;
    struct co_team_seed seed;
    int calls;
    unsigned first_class;
    struct co_team *team;
    unsigned char bytes[2 * BYTES];
};

static void open_member(struct member *member, struct job_rank *rank)
{
    memset(member, 0, sizeof *member);
    member->rank = rank;
    job_require(co_team_seed_open(&member->seed, rank->engine, 7, all_ranks, RANKS, rank->rank) == 0, "seed");
    job_require(co_team_open(&member->team, rank->engine, &member->seed, all_ranks) == 0, "team");
}

static void close_member(struct member *member)
{
    co_team_close(member->team);
}

// As src/pmpi makes a call.
static enum co_reason call(struct member *member, int number, size_t bytes)
{
    enum co_reason reason;
    uint64_t trial_ns = 0;
    if (!co_trials_are_for(member->rank->engine, &member->seed.facts) || member->calls++ < CO_TRIALS_AFTER) {
        reason = co_team_decide(member->rank->engine, &member->seed.facts, CO_CALL_BCAST, bytes);
        member->first_class = number == 1 || member->first_class == co_trials_class(CO_CALL_BCAST, bytes)
                                  ? co_trials_class(CO_CALL_BCAST, bytes)
                                  : CO_TRIALS_NO_CLASS;
    } else {
        if (member->calls == CO_TRIALS_AFTER + 1) {
            co_team_trials_open(member->team, member->first_class);
        }
        reason = co_team_choose(member->team, CO_CALL_BCAST, bytes, &trial_ns);
    }
    if (member->rank->rank == 0) {
        memset(member->bytes, number, bytes);
    }
    for (int i = 0; i < (reason == CO_TAKE ? 1 : 3); i++) {
        job_require(co_team_bcast(member->team, 0, member->bytes, bytes, NULL) == 0, "bytes");
    }
    job_require(member->bytes[0] == (unsigned char)number, "the root's bytes");
    if (trial_ns != 0) {
        co_team_trial_end(member->team, trial_ns);
    }
    return reason;
}

static void all_alike(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS; i++) {
        chosen[rank->rank][i] = call(member, i + 1, BYTES);
    }
    struct co_trial_row row;
    unsigned at = 0;
    job_require(co_team_trials_next(member->team, &at, &row), "a class was on trial");
    job_require(row.call == CO_CALL_BCAST && row.bytes == BYTES && row.ranks == RANKS && row.calls == CALLS,
                "this one");
    job_require(row.first_at == 13 || row.first_at == 9, "has a verdict");
    job_require(!co_team_trials_next(member->team, &at, &row), "no other");
    // What waits for nobody has a class of its own.
    job_require(co_team_choose_at_once(member->team, CO_CALL_IALLGATHER, BYTES) ==
                    co_team_decide(rank->engine, &member->seed.facts, CO_CALL_IALLGATHER, BYTES),
                "no verdict about allgathers");
    close_member(member);
    free(member);
}

static void run(const int *nodes, void (*body)(struct job_rank *rank))
{
    uint64_t before = co_counter_read(CO_COUNT_ADAPT_EXCHANGES), ended = co_counter_read(CO_COUNT_ADAPT_ENDED);
    engine_job_run(RANKS, nodes, body);
    exchanged = co_counter_read(CO_COUNT_ADAPT_EXCHANGES) - before;
    gave_up = co_counter_read(CO_COUNT_ADAPT_ENDED) - ended;
    assert_int_equal(exchanged % RANKS, 0); // all or none
    for (int rank = 1; rank < RANKS; rank++) {
        assert_memory_equal(chosen[rank], chosen[0], sizeof chosen[0]);
    }
}

static const int one_node[RANKS] = {0, 0, 0}, several_nodes[RANKS] = {0, 1, 1};

static void members_choose_alike(void **state)
{
    (void)state;
    static const int *const nodes[] = {one_node, several_nodes};
    for (int i = 0; i < 2; i++) {
        run(nodes[i], all_alike);
        assert_in_range(exchanged, 5 * RANKS, (CALLS - 10) * RANKS);
        assert_int_equal(gave_up, 0);
        int native = 0;
        for (int k = 0; k < CALLS; k++) {
            native += chosen[0][k] == CO_FOUND_SLOWER;
        }
        assert_true(native >= 2 && native < CALLS);
    }
}

static int odd_call; // at which rank 1 is called with another length

static void one_differs(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS; i++) {
        size_t bytes = rank->rank == 1 && i == odd_call ? 2 * BYTES : BYTES;
        chosen[rank->rank][i] = call(member, i + 1, bytes);
        pthread_barrier_wait(&rank->job->all); // a root that is far ahead is another story (shm_lengths.c)
    }
    for (int i = odd_call + 1; i < CALLS; i++) {
        job_require(i <= 4 || chosen[rank->rank][i] == CO_TAKE, "the prior");
    }
    close_member(member);
    free(member);
}

static void lengths_that_differ_end_trials_for_all(void **state)
{
    (void)state;
    for (odd_call = 2; odd_call < 9; odd_call++) { // before the first exchange, at it, and between trials
        run(one_node, one_differs);
        assert_int_equal(gave_up, RANKS);
    }
    odd_call = 6;
    run(several_nodes, one_differs);
    assert_int_equal(gave_up, RANKS);
}

static void none_are_made(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS; i++) {
        chosen[rank->rank][i] = call(member, i + 1, BYTES);
        job_require(chosen[rank->rank][i] == CO_TAKE, "the prior");
    }
    close_member(member);
    free(member);
}

static void settings_keep_trials_out(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_ADAPT", "no");
    run(one_node, none_are_made);
    assert_int_equal(exchanged, 0);
    engine_job_set("CASTOFF_ADAPT", "yes");
    engine_job_set("CASTOFF_BCAST", "yes");
    engine_job_set("CASTOFF_ALLGATHER", "yes");
    run(one_node, none_are_made);
    assert_int_equal(exchanged, 0);
    engine_job_set("CASTOFF_ALLGATHER", NULL); // its calls may be tried, broadcasts are counted with them
    run(one_node, none_are_made);
    assert_true(exchanged > 0);
    engine_job_set("CASTOFF_BCAST", NULL);
}

static int set_up(void **state)
{
    int status = engine_job_set_up(state);
    engine_job_set("CASTOFF_ADAPT", "yes");
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_choose_alike),
        cmocka_unit_test(lengths_that_differ_end_trials_for_all),
        cmocka_unit_test(settings_keep_trials_out),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
