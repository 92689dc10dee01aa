// SPDX-License-Identifier: BSD-3-Clause
//
// Meetings of a communicator's members between nodes, with castoff's own broadcasts over the loopback interface and
// something that stands for native: the faster side gets the calls, on all members alike; members that were called with
// other lengths end it for all; settings, tables and nodes keep it out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "engine/decide/meetings.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { RANKS = 3, BYTES = 2000, CALLS_A_CHANCE = 20 };

static const int all_ranks[RANKS] = {0, 1, 2}, one_node[RANKS] = {0, 0, 0}, several_nodes[RANKS] = {0, 1, 2};
static long native_ns;                                  // that what stands for native sleeps in each broadcast
static uint64_t call_ns;                                // that the program's own are said to take
static uint64_t age_ns = UINT64_C(10000) * CO_NS_PER_S; // of the job: there is time for all trials
static bool has_lost[RANKS], has_ended[RANKS], has_none[RANKS], has_paid[RANKS];

struct member {
    struct job_rank *rank;
    struct co_team_seed seed;
    struct co_team *team;
    struct co_meetings *trials;
    struct co_meetings_below below;
    unsigned char bytes[2 * BYTES];
};

static int barrier(void *arg)
{
    struct member *member = arg;
    engine_job_barrier(member->rank);
    return 0;
}

static int broadcast(void *arg, void *data, size_t bytes)
{
    struct member *member = arg;
    struct engine_job *job = member->rank->job;
    job_require(bytes <= sizeof job->board, "room");
    if (member->rank->rank == 0) {
        memcpy(job->board, data, bytes);
    }
    engine_job_barrier(member->rank);
    memcpy(data, job->board, bytes);
    engine_job_barrier(member->rank);
    nanosleep(&(struct timespec){.tv_nsec = native_ns}, NULL);
    return 0;
}

static int minimum(void *arg, int *values, int count)
{
    struct member *member = arg;
    int *board = (int *)(void *)member->rank->job->board;
    memcpy(&board[member->rank->rank * count], values, (size_t)count * sizeof *values);
    engine_job_barrier(member->rank);
    for (int i = 0; i < RANKS * count; i++) {
        values[i % count] = board[i] < values[i % count] ? board[i] : values[i % count];
    }
    engine_job_barrier(member->rank);
    return 0;
}

static void open_member(struct member *member, struct job_rank *rank)
{
    memset(member, 0, sizeof *member);
    member->rank = rank;
    inside_age(rank->engine, age_ns);
    member->below =
        (struct co_meetings_below){.broadcast = broadcast, .barrier = barrier, .minimum = minimum, .arg = member};
    job_require(co_team_seed_open(&member->seed, rank->engine, 7, all_ranks, RANKS, rank->rank) == 0, "seed");
    job_require(co_team_open(&member->team, rank->engine, &member->seed, all_ranks) == 0, "team");
    job_require(co_meetings_open(&member->trials, rank->engine, &member->seed.facts) == 0, "trials");
}

static void close_member(struct member *member)
{
    co_meetings_close(member->trials);
    co_team_close(member->team);
}

// As src/pmpi makes a broadcast; whether native has it.
static bool call(struct member *member, size_t bytes)
{
    bool is_native = co_meetings_decline(member->trials, bytes);
    co_meetings_count(member->trials, bytes, call_ns);
    return is_native;
}

static void take_chance(struct member *member)
{
    struct co_meetings *trials = member->trials;
    trials->chances++;
    if (co_meetings_are_due(trials)) {
        co_meetings_hold(trials, member->rank->engine, member->team, &member->seed.facts, member->rank->rank,
                         &member->below);
    }
}

static void meet_until_a_verdict(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    struct co_trial_row row = {0};
    for (unsigned at = 0; !co_meetings_next(member->trials, &member->seed.facts, &at, &row); at = 0) {
        for (int i = 0; i < CALLS_A_CHANCE; i++) {
            job_require(!call(member, BYTES), "the prior");
        }
        take_chance(member);
    }
    has_lost[rank->rank] = call(member, BYTES);
    job_require(!call(member, 4 * BYTES), "another class");
    job_require(row.call == CO_CALL_BCAST && row.bytes == 1024 && row.bytes_most == 2047 && row.ranks == RANKS &&
                    row.nodes == RANKS && row.would_take == 1 && row.takes == !has_lost[rank->rank],
                "this one");
    job_require(rank->rank != 0 || (row.native_ns < row.castoff_ns) == has_lost[0], "by these times");
    has_paid[rank->rank] = inside_trials_spent_ns(rank->engine) > 0;
    close_member(member);
    free(member);
}

static void what_is_faster_gets_the_calls(void **state)
{
    (void)state;
    native_ns = 2000000;
    engine_job_run(RANKS, several_nodes, meet_until_a_verdict);
    assert_false(has_lost[0] || has_lost[1] || has_lost[2]);
    native_ns = 0;
    engine_job_set("CASTOFF_FAULT", "drop=0.5,seed=3"); // repairs take much longer than a look at shared memory
    engine_job_run(RANKS, several_nodes, meet_until_a_verdict);
    engine_job_set("CASTOFF_FAULT", NULL);
    assert_true(has_lost[0] && has_lost[1] && has_lost[2]);
    assert_true(has_paid[0] && has_paid[1] && has_paid[2]);
}

static void meet_some_times(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int number = 0; number < 4 * CALLS_A_CHANCE; number++) {
        job_require(!call(member, BYTES), "no verdict");
        if (number % CALLS_A_CHANCE == CALLS_A_CHANCE - 1) {
            take_chance(member);
        }
    }
    job_require(member->trials->at_calls != UINT64_MAX, "it goes on");
    close_member(member);
    free(member);
}

static uint64_t trials_of(long sleeps_ns, uint64_t takes_ns)
{
    uint64_t before = co_counter_read(CO_COUNT_ADAPT_TRIALS);
    native_ns = sleeps_ns;
    call_ns = takes_ns;
    uint64_t usual_ns = age_ns;
    age_ns = UINT64_C(400) * CO_NS_PER_S; // four seconds for trials
    engine_job_run(RANKS, several_nodes, meet_some_times);
    age_ns = usual_ns;
    call_ns = 0;
    return co_counter_read(CO_COUNT_ADAPT_TRIALS) - before;
}

static void what_costs_too_much_is_not_tried(void **state)
{
    (void)state;
    assert_int_equal(trials_of(0, CO_NS_PER_S / 2), 0);            // as the program's own calls say
    assert_int_equal(trials_of(600 * CO_NS_PER_MS, 0), RANKS * 2); // as the first call of each way says
}

static int odd_call;

static void one_differs(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int number = 0; number < 10 * CALLS_A_CHANCE; number++) {
        size_t bytes = rank->rank == 1 && number == odd_call ? 2 * BYTES : BYTES;
        job_require(!call(member, bytes), "the prior");
        if (number % CALLS_A_CHANCE == CALLS_A_CHANCE - 1) {
            take_chance(member);
        }
    }
    has_ended[rank->rank] = member->trials->at_calls == UINT64_MAX;
    close_member(member);
    free(member);
}

static void lengths_that_differ_end_it_for_all(void **state)
{
    (void)state;
    native_ns = 2000000;
    odd_call = CALLS_A_CHANCE + 3; // before the first trial, which is at the second meeting
    uint64_t before = co_counter_read(CO_COUNT_ADAPT_ENDED);
    engine_job_run(RANKS, several_nodes, one_differs);
    assert_true(has_ended[0] && has_ended[1] && has_ended[2]);
    assert_int_equal(co_counter_read(CO_COUNT_ADAPT_ENDED) - before, RANKS);
    odd_call = CALLS_A_CHANCE - 3; // before lengths are looked at
    engine_job_run(RANKS, several_nodes, one_differs);
    assert_false(has_ended[0] || has_ended[1] || has_ended[2]);
}

static void look(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    has_none[rank->rank] = member->trials == NULL;
    close_member(member);
    free(member);
}

static bool has_none_with(const char *name, const char *value, const int *nodes)
{
    engine_job_set(name, value);
    engine_job_run(RANKS, nodes, look);
    engine_job_set(name, NULL);
    assert_int_equal(has_none[1], has_none[0]);
    return has_none[0];
}

static void settings_and_nodes_keep_it_out(void **state)
{
    (void)state;
    assert_false(has_none_with("CASTOFF_BCAST", "auto", several_nodes));
    assert_true(has_none_with("CASTOFF_BCAST", "auto", one_node));
    assert_true(has_none_with("CASTOFF_BCAST", "yes", several_nodes));
    assert_true(has_none_with("CASTOFF_BCAST", "no", several_nodes));
    assert_true(has_none_with("CASTOFF_ADAPT", "no", several_nodes));
    assert_true(has_none_with("CASTOFF_ADAPT", "yes", several_nodes)); // in the calls themselves
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_faster_gets_the_calls),
        cmocka_unit_test(what_costs_too_much_is_not_tried),
        cmocka_unit_test(lengths_that_differ_end_it_for_all),
        cmocka_unit_test(settings_and_nodes_keep_it_out),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up, NULL);
}
