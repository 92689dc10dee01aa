// SPDX-License-Identifier: BSD-3-Clause
//
// Operations from submission to completion. Private to src/engine; all of it but co_task_is_done and the like, which
// engine.h has, belongs to the holder of the engine.
#ifndef CASTOFF_ENGINE_COLLECTIVE_TASK_H
#define CASTOFF_ENGINE_COLLECTIVE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mpsc_queue.h"
#include "engine/collective/task_request.h"
#include "engine/collective/team.h"
#include "engine/decide/decide.h"
#include "shm/shm.h"

#define CO_PLAN_STEPS 4

struct co_mcast_op;

enum co_step {
    CO_STEP_SHM_BCAST,
    CO_STEP_NET_BCAST,
    CO_STEP_SHM_ALLGATHER,
    CO_STEP_SHM_ALLGATHERV,
    CO_STEP_SHM_GATHER,
    CO_STEP_NET_ALLGATHER,
    CO_STEP_NET_ALLGATHERV
};

// One operation under way: the request, and what carries it out. Of the latter nothing but the team is there when it is
// submitted.
struct co_task {
    struct co_mpsc_node submitted; // first: the queue's node is the task
    struct co_task_request request;
    struct co_task *next;      // in its team's list
    struct co_team *team;      // whose id the request holds
    unsigned char *buffer;     // the request's, from co_collective_plan on
    const unsigned char *mine; // allgather: the own block, in the buffer if it stands there
    unsigned char *gathered;   // leader: blocks in node order; may be the buffer
    enum co_step plan[CO_PLAN_STEPS];
    int shm_root[CO_PLAN_STEPS];
    int steps, at;
    bool has_begun, is_background, is_long, is_in_memory;
    struct co_shm_op shm;
    struct co_mcast_op *net;
    uint32_t skipped;              // numbers that its group had skipped when it was called
    uint64_t bcast;                // of its team's, the last one called then: itself, if it is one
    uint32_t skipped_in_memory;    // likewise, of these
    bool has_all_begun;            // no operation of its group is yet to start
    const struct co_block *blocks; // of an allgatherv, else NULL
    unsigned char *packed;         // ... in which they are on their way; NULL: at their places
    size_t stride;                 // from one of them to the next there, 0: one behind the other
    bool is_row;                   // ... or a broadcast of each, one after the other
    uint64_t *words;               // of all members, before that: whether they agree
    int block;                     // that is under way
    bool was_cut;                  // some block was longer than its place
    bool is_numbered;              // its operations of shared memory are some of as many as there are members
    uint64_t number_before;        // ... and the team's number when it began
    unsigned char
        *whole; // bcast: the root's bytes, for the next step, when there are more than the caller has room for
    int result;
    _Atomic int is_done;
};

// What became of a turn: the conductor does what follows from it.
struct co_tasks_turn {
    int events;     // tasks that moved or ended
    bool has_ended; // some of them: their callers may sleep
};

// Any thread, without the lock: counts the task and puts it into the queue. `is_callers`: it is of one node, and
// nothing of its team is outstanding, so that the team's memory is the caller's: it gets its first turn here, before
// that, and may be done with it, which is told by true.
bool co_task_begin(struct co_task *task, bool is_callers);
struct co_tasks_turn co_tasks_progress(struct co_engine *engine, uint64_t now_ns); // lock held
// Lock held: what the first of them waits for, in words.
void co_tasks_describe(const struct co_engine *engine, char *text, size_t room);

// The message, or the blocks of all ranks.
static inline size_t co_task_total_bytes(const struct co_task *task)
{
    size_t bytes = (size_t)task->request.bytes;
    bool is_whole = task->blocks != NULL ? task->stride == 0 : co_call_has_root((enum co_call)task->request.call);
    return is_whole ? bytes : bytes * (size_t)task->team->size;
}

#endif
