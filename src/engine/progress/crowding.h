// SPDX-License-Identifier: BSD-3-Clause
//
// Several worker threads are worth their price where there are cores for them. How many a rank has is counted at the
// start (start/cores.h), but containers, other jobs and other hosts' ranks may use the same ones. The kernel says how
// long threads wait for one (sched_info: /proc/self/task/N/schedstat, since Linux 2.6.9). Where that is much, and the
// network so fast that it is what operations take, they go back to their callers for a while. Private to src/engine.
#ifndef CASTOFF_ENGINE_PROGRESS_CROWDING_H
#define CASTOFF_ENGINE_PROGRESS_CROWDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Of threads, since they are there.
struct co_processor_time {
    uint64_t ran_ns, waited_ns;
};

// Zeroed at first: threads work.
struct co_crowding {
    bool is_crowded;
    uint64_t took_ns, bytes;         // of operations in this spell of work
    struct co_processor_time before; // at its beginning
    uint64_t rest_ns, rested_ns;     // the latest rest, and when it began
};

// An operation of the threads' kind has ended. Is the spell over, so that the threads' clocks are to be read?
bool co_crowding_ended(struct co_crowding *crowding, size_t bytes, uint64_t took_ns, uint64_t now_ns);
// It is, and that is what they say.
void co_crowding_judge(struct co_crowding *crowding, struct co_processor_time time, uint64_t now_ns);
// Adds a thread's. False: the kernel does not tell.
bool co_processor_time_add(struct co_processor_time *time, int thread);

#endif
