// SPDX-License-Identifier: BSD-3-Clause
//
// The worker thread: moves nonblocking operations while the program computes, and answers neighbours while nobody is
// inside MPI. It keeps out of the way of callers who wait, since they move the engine themselves. While nothing is
// outstanding it sleeps without a timer. Made at the first need, with all signals blocked.
//
// The network's protocol state has one owner at a time (the engine's lock), so one thread serves both directions; the
// role names what a thread looks after, for the day when there are several.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "engine/engine_state.h"

#define NAP_LEAST_NS (20 * CO_NS_PER_US) // between looks at shared memory, whose writers wake nobody
#define NAP_MOST_NS (500 * CO_NS_PER_US)
#define NAP_BUSY_NS (20 * CO_NS_PER_US)           // somebody else holds the engine
#define NAP_CALLERS_LEAST_NS (100 * CO_NS_PER_US) // callers move the engine
#define NAP_CALLERS_MOST_NS (4 * CO_NS_PER_MS)
#define DESCRIPTORS_MAX 32

enum co_worker_role { CO_WORKER_ALL };

enum { NOT_STARTED, STARTED, CANNOT_START };

enum { AWAKE, NAPS, SLEEPS_WITHOUT_TIMER };

struct co_worker {
    struct co_engine *engine;
    enum co_worker_role role;
    pthread_t thread;
    struct co_trylock starts;
    _Atomic int state;
    int wake_fd;
    // Who calls or gives notice stores that and then loads sleep; the worker stores sleep and then loads the others.
    // All of it is sequentially consistent: with less, both could see the other's old value, and the word would be
    // slept over.
    _Atomic bool is_called;  // move at once
    _Atomic bool has_notice; // timers may run again: do not sleep without one
    _Atomic int sleep;
    _Atomic bool must_stop; // followed by a call
    unsigned seen_turns;    // of the callers
    uint64_t nap_ns;
    uint64_t callers_nap_ns; // short after a submission only: a caller that was preempted for a moment is still there
};

static void sleep_on(struct co_worker *worker, struct pollfd *descriptors, int count, uint64_t most_ns)
{
    struct timespec pause = {(time_t)(most_ns / CO_NS_PER_S), (long)(most_ns % CO_NS_PER_S)};
    uint64_t calls;
    descriptors[count] = (struct pollfd){.fd = worker->wake_fd, .events = POLLIN};
    bool has_timer = most_ns != UINT64_MAX;
    atomic_store(&worker->sleep, has_timer ? NAPS : SLEEPS_WITHOUT_TIMER);
    if (!atomic_load(&worker->is_called) && (has_timer || !atomic_load(&worker->has_notice))) {
        ppoll(descriptors, (nfds_t)count + 1, has_timer ? &pause : NULL, NULL);
    }
    atomic_store(&worker->sleep, AWAKE);
    while (read(worker->wake_fd, &calls, sizeof(calls)) < 0 && errno == EINTR) {
    }
}

static void nap(struct co_worker *worker, uint64_t *nap_ns, uint64_t most_ns)
{
    struct pollfd descriptors[1];
    sleep_on(worker, descriptors, 0, *nap_ns);
    *nap_ns = *nap_ns * 2 < most_ns ? *nap_ns * 2 : most_ns;
}

// Nothing moved: sleeps for what could come next.
static void rest(struct co_worker *worker)
{
    struct co_engine *engine = worker->engine;
    struct pollfd descriptors[DESCRIPTORS_MAX + 1];
    bool has_tasks = co_load_relaxed(&engine->background) > 0; // relaxed: who submits calls afterwards
    bool in_memory = has_tasks && (engine->mcast == NULL || co_load_relaxed(&engine->in_memory) > 0);
    uint64_t most_ns = in_memory ? worker->nap_ns : UINT64_MAX;
    int count = 0;
    if (engine->mcast != NULL && co_load_relaxed(&engine->network_error) == 0) {
        count = co_wait_descriptors(engine, descriptors, DESCRIPTORS_MAX, &most_ns);
    }
    if (count < 0) {
        count = 0;
        most_ns = NAP_BUSY_NS;
    }
    if (most_ns > 0) {
        sleep_on(worker, descriptors, count, most_ns);
    }
    worker->nap_ns = worker->nap_ns * 2 < NAP_MOST_NS ? worker->nap_ns * 2 : NAP_MOST_NS;
}

static bool callers_are_at_it(struct co_worker *worker)
{
    unsigned turns = co_load_relaxed(&worker->engine->turns); // relaxed: hints
    bool moved = turns != worker->seen_turns;
    worker->seen_turns = turns;
    return moved || co_load_relaxed(&worker->engine->sleepers) > 0;
}

// A new operation was submitted by a caller who is on his way back to the program.
static void take_call(struct co_worker *worker)
{
    if (atomic_exchange(&worker->is_called, false)) {
        worker->seen_turns = co_load_relaxed(&worker->engine->turns);
        worker->callers_nap_ns = NAP_CALLERS_LEAST_NS;
        worker->nap_ns = NAP_LEAST_NS;
    }
}

static void *work(void *arg)
{
    struct co_worker *worker = arg;
    // Waking must not push the program off its core in the middle of MPI_Iallgather; an idle core runs us at once.
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    while (!co_load_acquire(&worker->must_stop)) { // acquire V1: nothing but the word
        take_call(worker);
        atomic_store(&worker->has_notice, false);
        if (callers_are_at_it(worker)) {
            nap(worker, &worker->callers_nap_ns, NAP_CALLERS_MOST_NS);
            continue;
        }
        if (co_engine_move_for_worker(worker->engine) > 0) {
            co_counter_add(CO_COUNT_PROGRESS_WORKER, 1);
            worker->nap_ns = NAP_LEAST_NS;
        } else {
            rest(worker);
        }
    }
    return NULL;
}

static void start(struct co_worker *worker)
{
    sigset_t all, before;
    if (!co_trylock_take(&worker->starts)) {
        return; // another thread is at it
    }
    if (co_load_relaxed(&worker->state) == NOT_STARTED) { // relaxed: under the lock
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int error = pthread_create(&worker->thread, NULL, work, worker);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error != 0) {
            co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no worker thread (error %d): operations move inside MPI calls only",
                   error);
        }
        co_store_release(&worker->state, error == 0 ? STARTED : CANNOT_START); // release V2: the thread's id
    }
    co_trylock_drop(&worker->starts);
}

int co_worker_open(struct co_engine *engine)
{
    struct co_worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL) {
        return -ENOMEM;
    }
    *worker = (struct co_worker){.engine = engine,
                                 .role = CO_WORKER_ALL,
                                 .starts = CO_TRYLOCK_INIT,
                                 .wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
                                 .nap_ns = NAP_LEAST_NS,
                                 .callers_nap_ns = NAP_CALLERS_LEAST_NS};
    if (worker->wake_fd < 0) {
        int error = -errno;
        free(worker);
        return error;
    }
    engine->worker = worker;
    return 0;
}

static void interrupt(struct co_worker *worker)
{
    uint64_t one = 1;
    while (write(worker->wake_fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static struct co_worker *ready(struct co_engine *engine)
{
    struct co_worker *worker = engine->worker;
    if (worker != NULL && co_load_relaxed(&worker->state) == NOT_STARTED) { // relaxed: looked at again under the lock
        start(worker);
    }
    return worker;
}

void co_worker_wake(struct co_engine *engine)
{
    struct co_worker *worker = ready(engine);
    if (worker != NULL) {
        atomic_store(&worker->is_called, true);
        if (atomic_load(&worker->sleep) != AWAKE) {
            interrupt(worker);
        }
    }
}

void co_worker_notice(struct co_engine *engine)
{
    struct co_worker *worker = ready(engine);
    if (worker != NULL) {
        atomic_store(&worker->has_notice, true);
        if (atomic_load(&worker->sleep) == SLEEPS_WITHOUT_TIMER) {
            interrupt(worker);
        }
    }
}

void co_worker_close(struct co_engine *engine)
{
    struct co_worker *worker = engine->worker;
    if (worker == NULL) {
        return;
    }
    co_store_release(&worker->must_stop, true);       // release V1
    if (co_load_acquire(&worker->state) == STARTED) { // acquire V2
        co_worker_wake(engine);
        pthread_join(worker->thread, NULL);
    }
    engine->worker = NULL;
    close(worker->wake_fd);
    free(worker);
}
