// SPDX-License-Identifier: BSD-3-Clause
//
// Trials through the engine, with real exchanges, inside a node and between nodes: all ranks choose alike at every
// call, the slower side goes, members that were called with other lengths follow the prior from then on, and their root
// until they have noticed, a root waits for nobody, and a communicator that makes few calls has no table. What stands
// for native here are three of castoff's own broadcasts.
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "base/counters.h"
#include "base/mix_bits.h"
#include "engine/decide/trials.h"
#include "engine_inside.h"
#include "engine_job.h"

enum { RANKS = 3, CALLS = 60, BYTES = 4096 };

static const int all_ranks[RANKS] = {0, 1, 2};
// What each rank chose: its last calls, and of all calls how many there were, which way and in which order. How many it
// takes until members of a busy machine have met is not to be told, so none of them ends a test.
static struct {
    enum co_reason last[CALLS];
    uint64_t calls, native, digest;
} chosen[RANKS];
static uint64_t exchanged, gave_up; // times, all ranks of a job together
static uint64_t exchanged_before;   // ... this job began

struct member {
    struct job_rank *rank;
    struct co_team_seed seed;
    int calls;
    unsigned first_class;
    struct co_team *team;
    bool may_be_short; // the root may give more than there is room for
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

static void note_choice(int rank, enum co_reason reason)
{
    chosen[rank].last[chosen[rank].calls % CALLS] = reason;
    chosen[rank].calls++;
    chosen[rank].native += reason == CO_FOUND_SLOWER;
    chosen[rank].digest = co_mix_bits(chosen[rank].digest ^ (reason == CO_TAKE ? 1 : 2));
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
        reason = co_team_choose(member->team, CO_CALL_BCAST, 0, bytes, &trial_ns);
    }
    if (member->rank->rank == 0) {
        memset(member->bytes, number, bytes);
    }
    for (int i = 0; i < (reason == CO_TAKE ? 1 : 3); i++) {
        int error = co_team_bcast(member->team, 0, member->bytes, bytes, NULL);
        job_require(error == 0 || (error == -EMSGSIZE && member->may_be_short), "bytes");
    }
    job_require(member->bytes[0] == (unsigned char)number, "the root's bytes");
    if (trial_ns != 0) {
        co_team_trial_end(member->team, trial_ns);
    }
    note_choice(member->rank->rank, reason);
    return reason;
}

static void all_alike(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    struct co_trial_row row = {0};
    unsigned at = 0;
    int calls = 0;
    // On a busy machine exchanges are passed by, and races repeated; what one of them has cost is earned by other
    // calls.
    while (calls < CALLS || row.first_at == 0) {
        call(member, ++calls, BYTES);
        at = 0;
        co_team_trials_next(member->team, &at, &row); // none at first
    }
    job_require(row.call == CO_CALL_BCAST && row.bytes == BYTES && row.ranks == RANKS && row.calls == (uint64_t)calls,
                "this one");
    job_require(row.first_at >= 9, "has trials first");
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
    uint64_t ended = co_counter_read(CO_COUNT_ADAPT_ENDED);
    exchanged_before = co_counter_read(CO_COUNT_ADAPT_EXCHANGES);
    memset(chosen, 0, sizeof chosen);
    engine_job_run(RANKS, nodes, body);
    exchanged = co_counter_read(CO_COUNT_ADAPT_EXCHANGES) - exchanged_before;
    gave_up = co_counter_read(CO_COUNT_ADAPT_ENDED) - ended;
    assert_int_equal(exchanged % RANKS, 0); // all or none
    for (int rank = 1; rank < RANKS; rank++) {
        assert_int_equal(chosen[rank].calls, chosen[0].calls);
        assert_int_equal(chosen[rank].digest, chosen[0].digest);
    }
}

static const int one_node[RANKS] = {0, 0, 0}, several_nodes[RANKS] = {0, 1, 1};

static void members_choose_alike(void **state)
{
    (void)state;
    static const int *const nodes[] = {one_node, several_nodes};
    for (int i = 0; i < 2; i++) {
        run(nodes[i], all_alike);
        assert_in_range(exchanged, 5 * RANKS, (chosen[0].calls - 10) * RANKS);
        assert_int_equal(gave_up, 0);
        assert_true(chosen[0].native >= 2 && chosen[0].native < chosen[0].calls);
    }
}

static bool has_ended(const struct member *member)
{
    return inside_trials(member->team)->next == UINT64_MAX;
}

static int odd_call; // at which rank 1 is called with another length

static void one_differs(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS || !has_ended(member); i++) {
        size_t bytes = rank->rank == 1 && i == odd_call ? 2 * BYTES : BYTES;
        enum co_reason reason = call(member, i + 1, bytes);
        pthread_barrier_wait(&rank->job->all); // a root that is far ahead is another story (shm_lengths.c)
        job_require(i <= 4 || i <= odd_call || i >= CALLS || reason == CO_TAKE, "the prior");
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

// After the verdict that the prior, by which all is declined, is wrong for the length that all give: rank `odd_rank`
// gives another one, of which there is no verdict, at a call without exchange. All go the root's way, by the length
// that it gives.
static int odd_rank;

static bool is_turned(const struct member *member)
{
    struct co_trial_row row;
    unsigned at = 0;
    return co_team_trials_next(member->team, &at, &row) && row.takes && !row.would_take;
}

static void one_differs_later(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    bool has_differed = false;
    open_member(member, rank);
    member->may_be_short = odd_rank == 0;
    for (int i = 0; !has_ended(member); i++) {
        const struct co_team_trials *trials = inside_trials(member->team);
        // Who does not wait cannot follow either.
        job_require(!is_turned(member) || co_team_choose_at_once(member->team, CO_CALL_IBCAST, BYTES) != CO_TAKE,
                    "the prior of broadcasts that wait for nobody");
        bool is_now = !has_differed && is_turned(member) && trials->calls + (uint64_t)odd_call < trials->next;
        call(member, i + 1, is_now && rank->rank == odd_rank ? 2 * BYTES : BYTES);
        pthread_barrier_wait(&rank->job->all); // a root that is far ahead is another story (shm_lengths.c)
        job_require(!is_now || (chosen[0].last[i % CALLS] == CO_TAKE) == (odd_rank != 0), "as the root's length says");
        has_differed = has_differed || is_now;
    }
    job_require(has_differed, "it differed");
    close_member(member);
    free(member);
}

static void who_differs_after_a_verdict_follows_the_root(void **state)
{
    (void)state;
    char table[] = "/tmp/castoff-trials.XXXXXX";
    static const char rows[] = "bcast node ranks 1- bytes 1- decline\nibcast node ranks 1- bytes 1- decline\n";
    int file = mkstemp(table);
    assert_true(file >= 0 && write(file, rows, sizeof rows - 1) == (ssize_t)sizeof rows - 1);
    engine_job_set("CASTOFF_TUNE", table);
    for (odd_call = 1; odd_call < 5; odd_call += 3) { // so many calls before the next exchange, at least
        for (odd_rank = 0; odd_rank < RANKS; odd_rank++) {
            run(one_node, one_differs_later);
            assert_int_equal(gave_up, RANKS); // at the next exchange
        }
    }
    engine_job_set("CASTOFF_TUNE", NULL);
    close(file);
    unlink(table);
}

enum { ALONE = 20 };

static _Atomic bool root_is_done;

// Rank 0 makes calls before anybody else has made one, as a program may whose root has the others wait for a message of
// its own after them.
static void root_is_alone_first(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS; i++) {
        while (rank->rank != 0 && !co_load_acquire(&root_is_done)) { // acquire: the calls before
            sched_yield();
        }
        call(member, i + 1, 64);
        if (i + 1 == ALONE) {
            co_store_release(&root_is_done, true); // release: the calls before
        }
    }
    close_member(member);
    free(member);
}

static void a_root_waits_for_nobody(void **state)
{
    (void)state;
    uint64_t before = co_counter_read(CO_COUNT_ADAPT_PASSED);
    root_is_done = false;
    run(one_node, root_is_alone_first);
    assert_int_equal(gave_up, 0);
    assert_true(co_counter_read(CO_COUNT_ADAPT_PASSED) - before >= 4 * RANKS); // at calls 5, 6, 8, 12, 20
    for (int i = 0; i < ALONE; i++) {
        assert_int_equal(chosen[0].last[i], CO_TAKE);
    }
}

static void none_are_made(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    open_member(member, rank);
    for (int i = 0; i < CALLS; i++) {
        job_require(call(member, i + 1, BYTES) == CO_TAKE, "the prior");
    }
    close_member(member);
    free(member);
}

// On a busy machine an exchange may be passed by, though all come to it together.
static void until_they_have_met(struct job_rank *rank)
{
    struct member *member = malloc(sizeof *member);
    bool have_met = false;
    open_member(member, rank);
    for (int i = 0; !have_met; i++) {
        job_require(call(member, i + 1, BYTES) == CO_TAKE, "the prior");
        engine_job_barrier(rank);
        have_met = co_counter_read(CO_COUNT_ADAPT_EXCHANGES) > exchanged_before;
        engine_job_barrier(rank);
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
    run(one_node, until_they_have_met);
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
        cmocka_unit_test(who_differs_after_a_verdict_follows_the_root),
        cmocka_unit_test(a_root_waits_for_nobody),
        cmocka_unit_test(settings_keep_trials_out),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
