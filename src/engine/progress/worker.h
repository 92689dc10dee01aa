// SPDX-License-Identifier: BSD-3-Clause
//
// One worker thread: made at the first need with all signals blocked, asleep while it has nothing to do, woken by a
// word. What it does in a turn is its role's (worker_roles.c). Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_WORKER_H
#define CASTOFF_ENGINE_PROGRESS_WORKER_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/atomics.h"
#include "base/descriptors.h"

#define CO_WORKER_DESCRIPTORS_MAX 32 // to sleep on

struct co_engine;
struct co_worker;

// One turn; sleeps by itself where there is nothing to do.
typedef void (*co_worker_turn_fn)(struct co_worker *worker);

enum { CO_WORKER_AWAKE, CO_WORKER_NAPS, CO_WORKER_SLEEPS };

struct co_worker {
    struct co_engine *engine;
    co_worker_turn_fn turn;
    unsigned subgroup; // a receiving one's
    cpu_set_t cores;   // that it may run on: those of who opened it, at the start of the job,
    bool knows_cores;  // if the kernel tells them in so few bits
    pthread_t thread;
    _Atomic int thread_id; // the kernel's; 0: not started yet
    struct co_trylock starts;
    _Atomic int state;
    struct co_descriptor_kept wake; // an eventfd; never changed while the thread lives, for others look at it, too
    // Who calls or gives notice stores that and then loads sleep; the worker stores sleep and then loads the others.
    // All of it is sequentially consistent: with less, both could see the other's old value, and the word would be
    // slept over.
    _Atomic bool is_called;  // move at once
    _Atomic bool has_notice; // there is something to look at: do not sleep for long
    _Atomic int sleep;
    _Atomic bool must_stop; // a turn that has begun takes the call that follows, but not this
    unsigned seen_turns;    // of the callers
    uint64_t nap_ns;
    uint64_t callers_nap_ns; // short after a submission only: a caller that was preempted for a moment is still there
};

// 0 or -errno. The thread is made by start, or else by the first call or notice.
int co_worker_open(struct co_worker *worker, struct co_engine *engine, co_worker_turn_fn turn, unsigned subgroup);
int co_worker_start(struct co_worker *worker);
// It could not be started, and will not be.
bool co_worker_is_refused(const struct co_worker *worker);
// Ends the thread; none is made any more. Calls and notices may still come, and do nothing.
void co_worker_stop(struct co_worker *worker);
// Stops it; nobody may call it afterwards. Both leave a zeroed worker alone.
void co_worker_close(struct co_worker *worker);

// Any thread: there is something to do at once; there is something to look at within milliseconds.
void co_worker_call(struct co_worker *worker);
void co_worker_notice(struct co_worker *worker);

// By the thread itself. True: it was called since the last question.
bool co_worker_was_called(struct co_worker *worker);
// Until a descriptor is ready, somebody calls, or `most_ns` (UINT64_MAX: no timer) are over. `descriptors` has room for
// one more. True: they say what is ready; false: nothing is known of them, as after a second, for a program that has
// closed what it does not know wakes nobody.
bool co_worker_sleep(struct co_worker *worker, struct pollfd *descriptors, int count, uint64_t most_ns);

#endif
