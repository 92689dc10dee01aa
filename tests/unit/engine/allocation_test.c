// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that cannot be had: every allocation of one rank fails in turn, first while engines open, then while an
// operation runs. All ranks come to the same verdict about the start, and no rank waits for one that cannot go on.
// The program is linked with --wrap, and an allocation counts for the thread, which is a rank, that makes it.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_job.h"

enum { RANKS = 3, BYTES = 100000, NOT_ARMED = -1, STEPS_MAX = 400 };

static const int nodes[RANKS] = {0, 1, 1}; // rank 2 is led by rank 1

static _Thread_local int until_failure = NOT_ARMED;
static _Thread_local int kept; // allocations less those freed
static int victim, step;
static _Atomic bool has_failed;
static _Atomic bool was_broken;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void __real_free(void *old);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void __wrap_free(void *old);

// One failure, then all is well again.
static bool fails_now(void)
{
    if (until_failure == NOT_ARMED || until_failure-- > 0) {
        return false;
    }
    has_failed = true;
    return true;
}

void *__wrap_malloc(size_t bytes)
{
    kept++;
    return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    kept++;
    return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

void __wrap_free(void *old)
{
    kept -= old != NULL;
    __real_free(old);
}

static void arm(const struct job_rank *rank)
{
    until_failure = rank->rank == victim ? step : NOT_ARMED;
}

static void arm_before_open(struct job_rank *rank)
{
    arm(rank);
}

// Runs jobs until the victim has no allocation left that could fail; returns how many could.
static int run_all_steps(int which, void (*body)(struct job_rank *rank), void (*check)(const struct engine_job *job))
{
    struct engine_job *job = malloc(sizeof(*job));
    victim = which;
    for (step = 0; step < STEPS_MAX; step++) {
        has_failed = false;
        engine_job_run_in(job, RANKS, nodes, body);
        if (check != NULL) {
            check(job);
        }
        if (!has_failed) {
            break;
        }
    }
    free(job);
    return step;
}

// Whoever opened must find the others there: a Bcast, if it is taken, comes through.
static void use_what_opened(struct job_rank *rank)
{
    until_failure = NOT_ARMED;
    if (rank->open_status == 0) {
        struct co_team *all = engine_job_world(rank, 3);
        int value = rank->rank == 0 ? 77 : 0;
        if (co_team_decide(rank->engine, co_team_facts(all), CO_CALL_BCAST, sizeof(value)) == CO_TAKE) {
            job_require(co_team_bcast(all, 0, &value, sizeof(value), NULL) == 0 && value == 77,
                        "bcast after the start");
        }
        co_team_close(all);
    }
}

static void verdicts_are_equal(const struct engine_job *job)
{
    for (int rank = 1; rank < RANKS; rank++) {
        assert_int_equal(job->ranks[rank].open_status < 0, job->ranks[0].open_status < 0);
    }
    for (int rank = 0; rank < RANKS && job->ranks[0].open_status < 0; rank++) {
        assert_true(job->ranks[rank].why[0] != '\0');
    }
}

static void starts_are_agreed(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_PROBE", "50ms"); // who did not start is waited for as long
    engine_job_before_open = arm_before_open;
    for (int rank = 0; rank < RANKS; rank++) {
        int steps = run_all_steps(rank, use_what_opened, verdicts_are_equal);
        assert_in_range(steps, 8, STEPS_MAX - 1); // else nothing was tried, or it never ends
    }
    engine_job_before_open = NULL;
    engine_job_set("CASTOFF_PROBE", "20s");
}

// The operation that meets the failure, and the next one, end on every rank: with the right bytes or an error.
static void broadcast_twice(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3);
    unsigned char *data = malloc(BYTES);
    for (int turn = 0; turn < 2; turn++) {
        memset(data, rank->rank == 0 ? 0x5a + turn : 0, BYTES);
        if (turn == 0) {
            arm(rank);
        }
        int status = co_team_bcast(all, 0, data, BYTES, NULL);
        until_failure = NOT_ARMED;
        if (status < 0) {
            was_broken = true;
        } else {
            job_require(data[0] == 0x5a + turn && memcmp(data, data + 1, BYTES - 1) == 0, "bytes");
        }
    }
    free(data);
    co_team_close(all);
}

static void operations_end(void **state)
{
    (void)state;
    was_broken = false;
    int steps = 0;
    for (int rank = 0; rank < RANKS; rank++) {
        steps += run_all_steps(rank, broadcast_twice, NULL);
    }
    assert_in_range(steps, 1, STEPS_MAX - 1);
    assert_true(was_broken);
}

// As a call does that has no memory for its packed copy.
static void one_gives_up(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *all = engine_job_world(rank, 3), *other = engine_job_world(rank, 4);
    unsigned char *data = calloc(1, BYTES);
    if (rank->rank == victim) {
        co_team_give_up(all, -ENOMEM);
        job_require(co_team_bcast(all, victim, data, BYTES, NULL) == -ENOMEM, "the one who gave up");
    } else {
        job_require(co_team_bcast(all, victim, data, BYTES, NULL) < 0, "the others of its broadcast");
    }
    job_require(co_team_bcast(other, 0, data, BYTES, NULL) == 0, "other communicators");
    free(data);
    co_team_close(all);
    co_team_close(other);
}

static void giving_up_reaches_all(void **state)
{
    (void)state;
    struct engine_job *job = malloc(sizeof(*job));
    for (victim = 0; victim < RANKS; victim++) {
        engine_job_run_in(job, RANKS, nodes, one_gives_up);
    }
    free(job);
}

// A team is opened when its first collective is taken. Whoever cannot tells the others, and they do not wait.
static void one_cannot_open(struct job_rank *rank)
{
    const int all_ranks[RANKS] = {0, 1, 2};
    struct co_team_seed seed;
    struct co_team *all = NULL;
    int value = 0;
    job_require(co_team_seed_open(&seed, rank->engine, 3, all_ranks, RANKS, rank->rank) == 0, "seed");
    job_require((seed.net != NULL) == (rank->rank != 2), "leaders have a seed of the network");
    job_require(co_team_decide(rank->engine, &seed.facts, CO_CALL_BCAST, sizeof(value)) == CO_TAKE, "decided");
    arm(rank);
    int status = co_team_open(&all, rank->engine, &seed, all_ranks);
    until_failure = NOT_ARMED;
    if (status != 0) {
        job_require(status == -ENOMEM && all == NULL, "no memory, no team");
        co_team_seed_break(&seed, rank->engine, status);
        job_require(seed.broken == status, "later calls know");
        co_team_seed_close(&seed, rank->engine);
        was_broken = true;
        return;
    }
    status = co_team_bcast(all, 2, &value, sizeof(value), NULL); // from the one who may have failed
    job_require(status == 0 || has_failed, "bytes, unless somebody failed");
    co_team_close(all);
}

static void who_cannot_open_a_team_tells(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) { // 0 is alone on its node, 1 leads 2
        was_broken = false;
        assert_in_range(run_all_steps(rank, one_cannot_open, NULL), 4, STEPS_MAX - 1);
        assert_true(was_broken);
    }
}

// Who has no memory for what is counted of a communicator's calls says so in the exchange, and all go on without
// trials.
static void one_has_no_table(struct job_rank *rank)
{
    struct co_team *all = engine_job_world(rank, 3);
    co_team_trials_open(all, CO_TRIALS_NO_CLASS);
    for (int i = 0; i < 40; i++) {
        int value = rank->rank == i % RANKS ? i : -1;
        uint64_t trial_ns = 0;
        // The first allocation here is the table's; those of the exchange itself are another test's.
        until_failure = i == 0 && rank->rank == victim ? 0 : NOT_ARMED;
        enum co_reason reason = co_team_choose(all, CO_CALL_BCAST, i % RANKS, sizeof(value), &trial_ns);
        until_failure = NOT_ARMED;
        unsigned at = 0;
        struct co_trial_row row;
        job_require(reason == CO_TAKE && trial_ns == 0 && !co_team_trials_next(all, &at, &row), "the prior");
        job_require(co_team_bcast(all, i % RANKS, &value, sizeof(value), NULL) == 0 && value == i, "bytes");
    }
    job_require(has_failed, "there was an allocation");
    co_team_close(all);
}

static void who_has_no_table_ends_trials_for_all(void **state)
{
    (void)state;
    engine_job_set("CASTOFF_ADAPT", "yes");
    struct engine_job *job = malloc(sizeof(*job));
    for (victim = 0; victim < RANKS; victim++) {
        has_failed = false;
        engine_job_run_in(job, RANKS, nodes, one_has_no_table);
    }
    free(job);
    engine_job_set("CASTOFF_ADAPT", NULL);
}

// A communicator that carries nothing costs its seed alone, and its seat on the node is free again afterwards: they
// would not all fit at once.
static void only_seeds(struct job_rank *rank)
{
    enum { MANY = 100, ROUNDS = 50 };
    const int all_ranks[RANKS] = {0, 1, 2};
    struct co_team_seed seeds[MANY];
    for (int number = 0; number < MANY * ROUNDS; number++) {
        struct co_team_seed *seed = &seeds[number % MANY];
        uint64_t id = 100 + (uint64_t)number;
        kept = 0;
        job_require(co_team_seed_open(seed, rank->engine, id, all_ranks, RANKS, rank->rank) == 0, "seed");
        bool is_first = number == 0; // then there is the leaders' map, too, which later grows in its place
        job_require(kept == (rank->rank == 2 ? 0 : 1 + is_first), "nothing is kept but a leader's few words");
        job_require(co_team_seed_bytes(seed) <= 80, "few");
        job_require((seed->seat < 0) == (rank->rank == 0), "who has neighbours has a seat");
        for (int i = 0; number % MANY == MANY - 1 && i < MANY; i++) {
            co_team_seed_close(&seeds[i], rank->engine);
        }
        if (number % MANY == MANY - 1) {
            pthread_barrier_wait(&rank->job->all);
        }
    }
    kept = 0;
    struct co_team *team = engine_job_world(rank, 3);
    int value = rank->rank == 0 ? 7 : 0;
    job_require(kept > 0, "a team does keep something");
    job_require(co_team_bcast(team, 0, &value, sizeof(value), NULL) == 0 && value == 7, "bcast");
    co_team_close(team);
}

static void an_idle_communicator_costs_its_seed(void **state)
{
    struct engine_job *job = malloc(sizeof(*job));
    (void)state;
    assert_true(sizeof(struct co_team_seed) <= 48);
    engine_job_run_in(job, RANKS, nodes, only_seeds);
    free(job);
}

static int set_up(void **state)
{
    engine_job_set("CASTOFF_BCAST", "yes");
    engine_job_set("CASTOFF_PROGRESS", "caller"); // else a worker thread might make the allocation
    return engine_job_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_are_agreed),
        cmocka_unit_test(operations_end),
        cmocka_unit_test(giving_up_reaches_all),
        cmocka_unit_test(who_cannot_open_a_team_tells),
        cmocka_unit_test(who_has_no_table_ends_trials_for_all),
        cmocka_unit_test(an_idle_communicator_costs_its_seed),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
