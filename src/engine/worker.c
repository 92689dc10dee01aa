// SPDX-License-Identifier: BSD-3-Clause
//
// The worker thread: moves nonblocking operations while the program computes, and serves neighbours from kept copies
// while nobody is inside MPI. Asleep without a timer while nothing is outstanding; it keeps out of the way of callers
// who wait, since they move the engine themselves. Made at the first need, with all signals blocked.
#define _GNU_SOURCE // SCHED_BATCH
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "engine/engine_state.h"

#define NAP_NETWORK_NS (2 * CO_NS_PER_MS)
#define NAP_SHARED_LEAST_NS (20 * CO_NS_PER_US)
#define NAP_SHARED_MOST_NS (500 * CO_NS_PER_US)
#define NAP_CALLERS_NS CO_NS_PER_MS

struct co_worker {
    struct co_engine *engine;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool is_running, must_stop, is_called;
    _Atomic bool sleeps;
};

static bool has_work(struct co_engine *engine)
{
    return co_load_relaxed(&engine->background) > 0 || co_load_relaxed(&engine->network_is_busy); // relaxed: hints
}

// Until somebody calls: a call that came before is remembered, so none is missed.
static bool sleep_until_called(struct co_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    co_store_relaxed(&worker->sleeps, true); // relaxed: under the lock; co_worker_wake looks again under it
    while (!worker->is_called && !worker->must_stop && !has_work(worker->engine)) {
        pthread_cond_wait(&worker->wake, &worker->lock);
    }
    co_store_relaxed(&worker->sleeps, false);
    worker->is_called = false;
    bool stops = worker->must_stop;
    pthread_mutex_unlock(&worker->lock);
    return !stops;
}

static bool must_stop(struct co_worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    bool stops = worker->must_stop;
    pthread_mutex_unlock(&worker->lock);
    return stops;
}

static void nap(struct co_engine *engine, uint64_t *nap_ns)
{
    if (engine->mcast != NULL) {
        co_sleep_for_event(engine, NAP_NETWORK_NS);
        return;
    }
    struct timespec pause = {0, (long)*nap_ns};
    nanosleep(&pause, NULL);
    *nap_ns = *nap_ns * 2 > NAP_SHARED_MOST_NS ? NAP_SHARED_MOST_NS : *nap_ns * 2;
}

static void *work(void *arg)
{
    struct co_worker *worker = arg;
    struct co_engine *engine = worker->engine;
    uint64_t nap_ns = NAP_SHARED_LEAST_NS;
    // Waking must not push the program off its core in the middle of MPI_Iallgather; an idle core runs us at once.
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    while (!must_stop(worker)) {
        if (!has_work(engine)) {
            if (!sleep_until_called(worker)) {
                break;
            }
            continue;
        }
        if (co_load_relaxed(&engine->callers) > 0) { // relaxed: a hint
            struct timespec pause = {0, NAP_CALLERS_NS};
            nanosleep(&pause, NULL);
            continue;
        }
        if (co_engine_progress(engine) > 0) {
            co_counter_add(CO_COUNT_PROGRESS_WORKER, 1);
            nap_ns = NAP_SHARED_LEAST_NS;
        } else {
            nap(engine, &nap_ns);
        }
    }
    return NULL;
}

static int start(struct co_worker *worker)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&worker->thread, NULL, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "no worker thread (error %d): operations move inside MPI calls only",
               error);
    }
    return -error;
}

int co_worker_open(struct co_engine *engine)
{
    struct co_worker *worker = calloc(1, sizeof(*worker));
    if (worker == NULL) {
        return -ENOMEM;
    }
    worker->engine = engine;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->wake, NULL);
    engine->worker = worker;
    return 0;
}

void co_worker_wake(struct co_engine *engine)
{
    struct co_worker *worker = engine->worker;
    if (worker == NULL) {
        return;
    }
    pthread_mutex_lock(&worker->lock);
    if (!worker->is_running) {
        worker->is_running = start(worker) == 0;
    }
    worker->is_called = true;
    if (co_load_relaxed(&worker->sleeps)) { // relaxed: under the lock
        pthread_cond_signal(&worker->wake);
    }
    pthread_mutex_unlock(&worker->lock);
}

void co_worker_close(struct co_engine *engine)
{
    struct co_worker *worker = engine->worker;
    if (worker == NULL) {
        return;
    }
    engine->worker = NULL;
    pthread_mutex_lock(&worker->lock);
    worker->must_stop = true;
    pthread_cond_signal(&worker->wake);
    pthread_mutex_unlock(&worker->lock);
    if (worker->is_running) {
        pthread_join(worker->thread, NULL);
    }
    pthread_cond_destroy(&worker->wake);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}
