// SPDX-License-Identifier: BSD-3-Clause
//
// A worker thread's life, sleep and waking. Idle it looks once a second whether it can still be woken.
#define _GNU_SOURCE
#include "engine/progress/worker.h"

#include <errno.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/own_thread.h"
#include "base/poll.h"

#define NOTICE_LATE_NS (4 * CO_NS_PER_MS) // no notice waits longer for a timer
#define SLEEP_MOST_NS CO_NS_PER_S // who sleeps on what the program has closed meanwhile is woken by nothing else

enum { NOT_STARTED, STARTED, CANNOT_START }; // the last one also: is not to start any more

// A program may close all that it does not know, and open files of its own: one of those is neither waited for nor
// written to. Then nobody can call, and the worker looks often.
static bool can_hear(const struct co_worker *worker)
{
    return co_descriptor_is_of(worker->wake.fd, &worker->wake.file);
}

bool co_worker_sleep(struct co_worker *worker, struct pollfd *descriptors, int count, uint64_t most_ns)
{
    uint64_t calls, longest_ns = SLEEP_MOST_NS;
    descriptors[count] = (struct pollfd){.fd = worker->wake.fd, .events = POLLIN};
    if (!can_hear(worker)) {
        descriptors[count].fd = -1; // which poll(2) passes over
        longest_ns = NOTICE_LATE_NS;
    }
    most_ns = most_ns < longest_ns ? most_ns : longest_ns;
    bool naps = most_ns <= NOTICE_LATE_NS;
    atomic_store(&worker->sleep, naps ? CO_WORKER_NAPS : CO_WORKER_SLEEPS);
    bool has_word = atomic_load(&worker->is_called) || atomic_load(&worker->must_stop);
    bool found = false;
    if (!has_word && (naps || !atomic_load(&worker->has_notice))) {
        found = co_poll(descriptors, (nfds_t)count + 1, most_ns) > 0;
    }
    atomic_store(&worker->sleep, CO_WORKER_AWAKE);
    bool is_called = found && descriptors[count].revents != 0 && can_hear(worker);
    while (is_called && read(worker->wake.fd, &calls, sizeof(calls)) < 0 && errno == EINTR) {
    }
    return found;
}

bool co_worker_was_called(struct co_worker *worker)
{
    return atomic_exchange(&worker->is_called, false);
}

static void *work(void *arg)
{
    struct co_worker *worker = arg;
    co_store_relaxed(&worker->thread_id, (int)syscall(SYS_gettid)); // relaxed: tells whose clock to read
    // A thread inherits the cores of who makes it, which is whichever of the program's threads needs one first, and
    // they may be bound by then.
    if (worker->knows_cores) {
        sched_setaffinity(0, sizeof(worker->cores), &worker->cores);
    }
    // Waking must not push the program off its core in the middle of MPI_Iallgather; an idle core runs us at once.
    sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0});
    while (!atomic_load(&worker->must_stop)) {
        co_counter_add(CO_COUNT_WORKER_TURNS, 1);
        worker->turn(worker);
    }
    return NULL;
}

int co_worker_start(struct co_worker *worker)
{
    if (!co_trylock_take(&worker->starts)) {
        return 0; // another thread is at it
    }
    if (co_load_relaxed(&worker->state) == NOT_STARTED) { // relaxed: under the lock
        int error = co_own_thread_start(&worker->thread, work, worker);
        if (error != 0) {
            co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "a worker thread cannot be had (error %d)", error);
        }
        co_store_relaxed(&worker->state, error == 0 ? STARTED : CANNOT_START); // relaxed: under the lock
    }
    int state = co_load_relaxed(&worker->state); // relaxed: still under the lock
    co_trylock_drop(&worker->starts);
    return state == STARTED ? 0 : -EAGAIN;
}

bool co_worker_is_refused(const struct co_worker *worker)
{
    return co_load_relaxed(&((struct co_worker *)worker)->state) == CANNOT_START; // relaxed: for a report
}

static void interrupt(struct co_worker *worker)
{
    uint64_t one = 1;
    while (can_hear(worker) && write(worker->wake.fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

static void start_if_new(struct co_worker *worker)
{
    if (co_load_relaxed(&worker->state) == NOT_STARTED) { // relaxed: looked at again under the lock
        co_worker_start(worker);
    }
}

void co_worker_call(struct co_worker *worker)
{
    start_if_new(worker);
    atomic_store(&worker->is_called, true);
    if (atomic_load(&worker->sleep) != CO_WORKER_AWAKE) {
        interrupt(worker);
    }
}

void co_worker_notice(struct co_worker *worker)
{
    start_if_new(worker);
    atomic_store(&worker->has_notice, true);
    if (atomic_load(&worker->sleep) == CO_WORKER_SLEEPS) {
        interrupt(worker);
    }
}

int co_worker_open(struct co_worker *worker, struct co_engine *engine, co_worker_turn_fn turn, unsigned subgroup)
{
    int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_fd < 0) {
        return -errno;
    }
    *worker = (struct co_worker){.engine = engine, .turn = turn, .subgroup = subgroup, .starts = CO_TRYLOCK_INIT};
    co_descriptor_keep(&worker->wake, wake_fd);
    worker->knows_cores = sched_getaffinity(0, sizeof(worker->cores), &worker->cores) == 0;
    return 0;
}

void co_worker_stop(struct co_worker *worker)
{
    if (worker->engine == NULL) {
        return;
    }
    atomic_store(&worker->must_stop, true);
    co_trylock_wait(&worker->starts);
    int state = co_load_relaxed(&worker->state); // relaxed: under the lock
    co_store_relaxed(&worker->state, CANNOT_START);
    co_trylock_drop(&worker->starts);
    if (state == STARTED) {
        co_worker_call(worker);
        pthread_join(worker->thread, NULL);
    }
}

void co_worker_close(struct co_worker *worker)
{
    if (worker->engine == NULL) {
        return;
    }
    co_worker_stop(worker);
    co_descriptor_drop(&worker->wake);
    *worker = (struct co_worker){0};
}
