// SPDX-License-Identifier: BSD-3-Clause
//
// Worker threads split by direction and subgroup: long operations that they move while the caller sleeps, beside small
// ones and nonblocking ones, with and without lost datagrams; a team that breaks and a transport that breaks while a
// part of a block is being sent; nothing runs when nothing is outstanding; and threads that cannot be had.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "engine_inside.h"
#include "engine_job.h"
#include "pattern.h"
#include "mcast_inside.h"

enum { LONG = 1500003, SMALL = 777, ROUNDS = 6, CALLERS_SLEEPS = 40 };

static _Atomic int threads_left = 1000; // that may be started

// What threads sleep in, as the test sees it.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int threads;       // that were started
    int for_long;      // threads that sleep until something comes, or for a second
    int callers_slept; // times
} sleeps = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_caller;

static void note(int threads, int for_long, int callers_slept)
{
    pthread_mutex_lock(&sleeps.lock);
    sleeps.threads += threads;
    sleeps.for_long += for_long;
    sleeps.callers_slept += callers_slept;
    pthread_cond_broadcast(&sleeps.changed);
    pthread_mutex_unlock(&sleeps.lock);
}

// Ours stand before the C library's.
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *arg)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    int error = atomic_fetch_sub(&threads_left, 1) > 0 ? create(thread, attributes, run, arg) : EAGAIN;
    note(error == 0, 0, 0);
    return error;
}

int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timer, const sigset_t *mask)
{
    int (*sleep_in)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    *(void **)&sleep_in = dlsym(RTLD_NEXT, "ppoll");
    bool is_long = timer == NULL || timer->tv_sec >= 1;
    note(0, is_long, is_caller);
    int ready = sleep_in(descriptors, count, timer, mask), error = errno;
    note(0, -is_long, 0);
    errno = error;
    return ready;
}

static void one_bcast(struct job_rank *rank, struct co_team *team, int root, size_t bytes, unsigned seed)
{
    unsigned char *buffer = calloc(1, bytes);
    if (rank->rank == root) {
        pattern_fill(buffer, bytes, seed);
    }
    job_require(co_team_bcast(team, root, buffer, bytes, NULL) == 0, "bcast");
    job_require(pattern_matches(buffer, bytes, seed), "wrong bytes in a bcast");
    free(buffer);
}

struct gather {
    struct co_task *task;
    unsigned char *mine, *all;
    size_t bytes;
    unsigned seed;
};

static void begin_gather(struct job_rank *rank, struct co_team *team, struct gather *gather, size_t bytes,
                         unsigned seed)
{
    *gather = (struct gather){.bytes = bytes, .seed = seed};
    gather->mine = calloc(1, bytes);
    gather->all = calloc((size_t)rank->job->size, bytes);
    pattern_fill(gather->mine, bytes, seed + (unsigned)rank->rank);
    job_require(co_team_iallgather(&gather->task, team, CO_CALL_IALLGATHER, gather->mine, gather->all, bytes) == 0,
                "iallgather");
}

static void end_gather(struct job_rank *rank, struct gather *gather)
{
    struct co_wait wait = {.call = "test"};
    while (!co_task_is_done(gather->task)) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    job_require(co_task_result(gather->task) == 0, "iallgather result");
    for (int source = 0; source < rank->job->size; source++) {
        job_require(pattern_matches(gather->all + (size_t)source * gather->bytes, gather->bytes,
                                    gather->seed + (unsigned)source),
                    "wrong bytes in an iallgather");
    }
    co_task_release(gather->task);
    free(gather->mine);
    free(gather->all);
}

// Small and long, blocking and not, on two teams.
static void mixed(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 21), *other = engine_job_world(rank, 22);
    for (int round = 0; round < ROUNDS; round++) {
        struct gather long_one, small_one;
        unsigned seed = (unsigned)round * 17;
        int root = round % rank->job->size;
        begin_gather(rank, other, &long_one, LONG / 3, seed);
        one_bcast(rank, team, root, LONG, seed);
        begin_gather(rank, team, &small_one, SMALL, seed + 1);
        one_bcast(rank, team, root, SMALL, seed + 2);
        end_gather(rank, &long_one);
        one_bcast(rank, team, root, LONG + 1400, seed + 3);
        end_gather(rank, &small_one);
    }
    co_team_close(team);
    co_team_close(other);
}

static void several_workers_move_it_all(void **state)
{
    (void)state;
    uint64_t before = co_counter_read(CO_COUNT_PROGRESS_WORKER);
    engine_job_run(3, (const int[]){0, 1, 2}, mixed);
    engine_job_run(4, (const int[]){0, 0, 1, 1}, mixed);
    assert_true(co_counter_read(CO_COUNT_PROGRESS_WORKER) > before);
}

static void they_repair_what_is_lost(void **state)
{
    (void)state;
    uint64_t harmed = co_counter_read(CO_COUNT_FAULTS_INJECTED), repaired = co_counter_read(CO_COUNT_RETRANSMITTED);
    engine_job_set("CASTOFF_FAULT", "drop=0.03,dup=0.02,reorder=0.02,corrupt=0.01,seed=11");
    engine_job_run(3, (const int[]){0, 1, 2}, mixed);
    engine_job_set("CASTOFF_FAULT", NULL);
    assert_true(co_counter_read(CO_COUNT_FAULTS_INJECTED) > harmed);
    assert_true(co_counter_read(CO_COUNT_RETRANSMITTED) > repaired);
}

static void say_workers(struct job_rank *rank)
{
    char text[600];
    job_require(rank->open_status == 0, rank->why);
    co_engine_describe(rank->engine, text, sizeof(text));
    job_require(strstr(text, "2 receiving and 1 sending worker thread") != NULL, text);
}

static void their_number_is_told(void **state)
{
    (void)state;
    engine_job_run(2, (const int[]){0, 1}, say_workers);
}

static void callers_do_it(struct job_rank *rank)
{
    char text[600];
    job_require(rank->open_status == 0, rank->why);
    co_engine_describe(rank->engine, text, sizeof(text));
    job_require(strstr(text, "progress: callers") != NULL, text);
    mixed(rank);
}

static void without_threads_callers_do_it(void **state)
{
    (void)state;
    atomic_store(&threads_left, 3); // the ranks
    engine_job_run(3, (const int[]){0, 1, 2}, callers_do_it);
    atomic_store(&threads_left, 1000);
}

static void ranks_speak(struct job_rank *rank)
{
    job_require(inside_liveness_proof(inside_mcast(rank->engine)) == CO_LIVENESS_PROOF_MEMBERS,
                "silence is not taken for death");
}

static void hosts_speak(struct job_rank *rank)
{
    job_require(inside_liveness_proof(inside_mcast(rank->engine)) == CO_LIVENESS_PROOF_HOSTS,
                "a rank without a thread is silent");
}

static void silence_means_something_where_all_have_threads(void **state)
{
    (void)state;
    engine_job_run(3, (const int[]){0, 1, 2}, ranks_speak);
    atomic_store(&threads_left, 3 + 1); // one rank gets one
    engine_job_run(3, (const int[]){0, 1, 2}, hosts_speak);
    atomic_store(&threads_left, 1000);
}

// The root's team breaks while its block is on the way: the call returns, and only when nobody reads the buffer.
static void break_while_sending(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 23);
    unsigned char *buffer = malloc(4 * LONG);
    pattern_fill(buffer, 4 * LONG, 1);
    uint64_t before = co_counter_read(CO_COUNT_DATA_SENT);
    pthread_barrier_wait(&rank->job->all);
    if (rank->rank == 1) {
        while (co_counter_read(CO_COUNT_DATA_SENT) == before) { // some of it is under way
            sched_yield();
        }
        inside_break_team(team, -EIO);
    } else {
        int result = co_team_bcast(team, 0, buffer, 4 * LONG, NULL);
        job_require(result == -EIO || result == -ECONNRESET, "the failure was not told");
    }
    free(buffer); // a thread that still read it would be seen by the sanitizers
    co_team_close(team);
}

static void a_team_may_break_meanwhile(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        engine_job_run(3, (const int[]){0, 1, 2}, break_while_sending);
    }
}

static void break_transport(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 24);
    unsigned char *buffer = calloc(1, LONG);
    struct gather gather;
    begin_gather(rank, team, &gather, LONG, 5);
    inside_break_network(rank->engine, -ENETDOWN);
    struct co_wait wait = {.call = "test"};
    while (!co_task_is_done(gather.task)) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    job_require(co_task_result(gather.task) < 0, "a broken transport was not told");
    co_task_release(gather.task);
    free(gather.mine);
    free(gather.all);
    free(buffer);
    co_team_close(team);
}

static void the_transport_may_break_meanwhile(void **state)
{
    (void)state;
    engine_job_run(3, (const int[]){0, 1, 2}, break_transport);
}

static void be_idle(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 25);
    one_bcast(rank, team, 0, LONG, 3);
    struct co_wait wait = {.call = "test"};
    while (inside_network_is_busy(rank->engine)) {
        co_engine_wait_turn(rank->engine, &wait);
    }
    pthread_barrier_wait(&rank->job->all);
    uint64_t turns = co_counter_read(CO_COUNT_WORKER_TURNS);
    pthread_mutex_lock(&sleeps.lock);
    while (sleeps.for_long < sleeps.threads - rank->job->size) { // all but the ranks
        pthread_cond_wait(&sleeps.changed, &sleeps.lock);
    }
    pthread_mutex_unlock(&sleeps.lock);
    job_require(co_counter_read(CO_COUNT_WORKER_TURNS) - turns < 100,
                "threads ran although nothing was outstanding"); // the last naps run out
    pthread_barrier_wait(&rank->job->all);
    co_team_close(team);
}

// A caller waits long for another rank: its worker has no part in that, and looks in rarely.
static void wait_long(struct job_rank *rank)
{
    job_require(rank->open_status == 0, rank->why);
    struct co_team *team = engine_job_world(rank, 26);
    one_bcast(rank, team, 0, SMALL, 3);
    pthread_barrier_wait(&rank->job->all);
    uint64_t turns = co_counter_read(CO_COUNT_WORKER_TURNS);
    if (rank->rank == 0) {
        pthread_mutex_lock(&sleeps.lock);
        while (sleeps.callers_slept < CALLERS_SLEEPS) {
            pthread_cond_wait(&sleeps.changed, &sleeps.lock);
        }
        pthread_mutex_unlock(&sleeps.lock);
    } else {
        is_caller = true;
    }
    one_bcast(rank, team, 0, SMALL, 4);
    is_caller = false;
    job_require(co_counter_read(CO_COUNT_WORKER_TURNS) - turns < 1000, "workers spin while a caller waits");
    pthread_barrier_wait(&rank->job->all);
    co_team_close(team);
}

static void they_keep_out_of_callers_way(void **state)
{
    (void)state;
    sleeps.callers_slept = 0;
    engine_job_run(3, (const int[]){0, 1, 2}, wait_long);
}

static void idle_ones_sleep(void **state)
{
    (void)state;
    sleeps.threads = 0; // those of the jobs before have ended
    engine_job_run(3, (const int[]){0, 1, 2}, be_idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_workers_move_it_all),
        cmocka_unit_test(they_repair_what_is_lost),
        cmocka_unit_test(without_threads_callers_do_it),
        cmocka_unit_test(silence_means_something_where_all_have_threads),
        cmocka_unit_test(their_number_is_told),
        cmocka_unit_test(a_team_may_break_meanwhile),
        cmocka_unit_test(the_transport_may_break_meanwhile),
        cmocka_unit_test(they_keep_out_of_callers_way),
        cmocka_unit_test(idle_ones_sleep),
    };
    return cmocka_run_group_tests(tests, engine_job_set_up_split, NULL);
}
