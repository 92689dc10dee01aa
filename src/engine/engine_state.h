// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/engine: the structs that its files share.
//   engine.c      open and close           transports.c  shared memory, sockets, probe, agreement
//   cores.c       cores against ranks
//   team.c        communicators            task.c        life of an operation, queue, steps
//   collective.c  what a bcast or an allgather consists of, level by level
//   progress.c    who moves what           wait.c        spin, yield, sleep        worker.c  threads
#ifndef CASTOFF_ENGINE_ENGINE_STATE_H
#define CASTOFF_ENGINE_ENGINE_STATE_H

#include <pthread.h>

#include "base/mpsc_queue.h"
#include "base/order.h"
#include "engine/engine.h"
#include "engine/tune_table.h"
#include "mcast/mcast.h"
#include "mcast/shm/shm.h"

#define CO_PLAN_STEPS 4

enum co_step { CO_STEP_SHM_BCAST, CO_STEP_NET_BCAST, CO_STEP_SHM_ALLGATHER, CO_STEP_GATHER, CO_STEP_NET_ALLGATHER };

// One operation under way. Flat data: what a proxy process would need to know stands in it as numbers and offsets of
// the caller's buffers.
struct co_task {
    struct co_mpsc_node submitted; // first: the queue's node is the task
    struct co_task *next;          // in its team's list
    struct co_team *team;
    enum co_call call;
    int root;
    unsigned char *buffer; // bcast: the message; allgather: the result
    const unsigned char *mine;
    size_t bytes;            // message, or one rank's block
    unsigned char *gathered; // leader: blocks in node order; may be the buffer
    enum co_step plan[CO_PLAN_STEPS];
    int shm_root[CO_PLAN_STEPS];
    int steps, at;
    bool has_begun, is_background;
    struct co_shm_op shm;
    struct co_mcast_op *net;
    int result;
    _Atomic int is_done;
};

struct co_team {
    struct co_engine *engine;
    struct co_team *next; // all teams of the engine
    struct co_team *next_active;
    bool is_active;
    uint64_t id;
    int size, rank;
    struct co_team_facts facts;
    int *rank_node, *rank_slot;   // node of the team, position on it
    int *node_units, *node_first; // [nodes]: ranks on it, position of its first rank in node order
    int node, slot, node_size;    // ours
    bool is_node_ordered;         // blocks in node order stand in rank order
    bool is_flat;                 // one rank a node: operations may overlap
    struct co_shm_team *shm;      // NULL: alone on the node
    struct co_mcast_group *group; // leaders of teams on several nodes
    struct co_task *oldest, **newest;
    _Atomic unsigned outstanding;
    _Atomic int broken; // -errno of the first failure: later calls fail at once
    bool is_closing;
};

struct co_engine {
    struct co_bootstrap bootstrap;
    int *node_of_rank;
    int cores; // of this node that its ranks may run on
    bool is_oversubscribed;
    bool uses_threads;
    bool has_shm, has_single_copy; // on every node that needs it
    bool has_multicast;
    bool peer_is_gone; // a rank of this node has ended
    char network[256]; // description, or why there is no multicast
    uint64_t spin_turns, stall_ns;
    int policy[CO_CALL_COUNT];
    struct co_tune_table tune;
    struct co_shm_node *shm;
    struct co_transport *transport;
    struct co_auth *auth;
    struct co_mcast *mcast;

    struct co_trylock lock; // holder moves the engine
    struct co_mpsc_queue submissions;
    struct co_team *teams, *active;
    pthread_mutex_t teams_lock;
    _Atomic unsigned outstanding; // tasks
    _Atomic unsigned background;  // of these, nonblocking ones
    _Atomic unsigned callers;     // in waiting loops
    _Atomic bool network_is_busy; // copies kept, reports owed
    _Atomic unsigned polls;       // of a merely busy network
    _Atomic bool is_abandoned;
    struct co_worker *worker;
};

// cores.c
int co_cores_agree(struct co_engine *engine);

// transports.c
int co_transports_open(struct co_engine *engine, char *why, size_t why_room);
void co_transports_close(struct co_engine *engine);

// task.c
void co_task_submit(struct co_task *task);
int co_tasks_progress(struct co_engine *engine, uint64_t now_ns);
const struct co_task *co_task_head(const struct co_engine *engine);
void co_task_describe(const struct co_task *task, char *text, size_t room);

// collective.c
int co_collective_plan(struct co_task *task);
int co_collective_begin(struct co_task *task, uint64_t now_ns);
int co_collective_poll(struct co_task *task, uint64_t now_ns);
int co_collective_finish(struct co_task *task);

// team.c
void co_team_reap(struct co_team *team);

// wait.c
void co_wait_begin(struct co_engine *engine, struct co_wait *wait, const char *call);
void co_wait_end(struct co_engine *engine);
void co_sleep_for_event(struct co_engine *engine, uint64_t most_ns);

// worker.c
int co_worker_open(struct co_engine *engine);
void co_worker_close(struct co_engine *engine);
void co_worker_wake(struct co_engine *engine);

#endif
