// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/engine: the structs that its files share.
//   engine.c      open and close
// start
//   transports.c  shared memory and network, agreement
//   network.c     sockets, protocol        shared_network.c  which network they use
//   network_probe.c   do all nodes hear multicast
//   cores.c       cores against ranks      descriptor_budget.c  how many descriptors are ours
//   signs_of_life.c   whose silence is proof
//   messages_channels.c  point-to-point: its channels, which communicators
// decide
//   trials.c      which side is faster, as the job itself finds out (adapt.h)
// collective
//   team_seed.c   communicators from their beginning
//   team.c        ... once they are used
//   calls.c       blocking and nonblocking calls of a team
//   placed.c      large ones that go by RDMA writes to a group (placed_open.c, placed_transfer.c)
//   task.c        life of an operation, queue, steps
//   collective.c  what a bcast or an allgather consists of, level by level
// progress
//   team_failure.c  what is told to whom when something breaks
//   progress.c    who moves what           wait.c  spin, yield, sleep
//   workers.c     threads, how many          worker.c, worker_roles.c  one thread, what each does
//   bells.c       what callers sleep on while workers move their operations
#ifndef CASTOFF_ENGINE_ENGINE_STATE_H
#define CASTOFF_ENGINE_ENGINE_STATE_H

#include <poll.h>

#include "base/mpsc_queue.h"
#include "base/order.h"
#include "engine/engine.h"
#include "p2p/channel/carrier_channel.h"
#include "engine/collective/placed.h"
#include "p2p/p2p_open.h"
#include "engine/collective/task_request.h"
#include "engine/decide/tune_table.h"
#include "mcast/mcast.h"
#include "mcast/shm/shm.h"

#define CO_PLAN_STEPS 4
#define CO_DESCRIPTORS_MOST 256 // that a process can use: sockets, threads, sleepers, peers of the node
#define CO_EXCHANGE_BYTES 128   // most that a rank tells all others in one exchange

enum co_step { CO_STEP_SHM_BCAST, CO_STEP_NET_BCAST, CO_STEP_SHM_ALLGATHER, CO_STEP_SHM_GATHER, CO_STEP_NET_ALLGATHER };

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
    const struct co_part *parts; // of an allgatherv, else NULL
    int part;                    // that is under way
    bool was_cut;                // some part was longer than its place
    unsigned char
        *whole; // bcast: the root's bytes, for the next step, when there are more than the caller has room for
    int result;
    _Atomic int is_done;
};

// What a communicator's blocking collectives are counted for. Equal on all members that were called alike.
struct co_team_trials {
    uint64_t calls;         // of blocking collectives
    uint64_t next;          // number of the one before which the members exchange words; UINT64_MAX: none
    struct co_adapt *table; // NULL: before the first exchange, or none comes
    uint16_t first_class;   // of all calls before it; CO_TRIALS_NO_CLASS: they differed
};

struct co_team {
    struct co_engine *engine;
    struct co_team *next_active;
    bool is_active;
    uint64_t id;
    int size, rank;
    struct co_team_facts facts;
    int *rank_node, *rank_slot;   // node of the team, position on it
    int *node_units, *node_first; // [nodes]: ranks on it, position of its first rank in node order
    int node, slot, node_size;    // ours
    int *neighbours;              // [node_size]: members here, as ranks of the job's node
    bool is_node_ordered;         // blocks in node order stand in rank order
    bool is_flat;                 // one rank a node: operations may overlap
    bool runs_inline;             // one node, several ranks
    struct co_shm_team *shm;      // NULL: alone on the node
    struct co_mcast_group *group; // leaders of teams on several nodes
    struct co_task *oldest, **newest;
    _Atomic unsigned outstanding;
    _Atomic int broken;           // -errno of the first failure: later calls fail at once
    bool is_closing;              // freed when its last operation ends
    struct co_placed_team placed; // of the thread that calls
    struct co_team_trials trials; // likewise
};

struct co_engine {
    struct co_bootstrap bootstrap;
    int *node_of_rank;  // by world rank: its node,
    int *place_of_rank; // and its rank on that node
    int cores;          // of this node that its ranks may run on
    int descriptors;    // that we may still open
    bool is_oversubscribed;
    bool uses_threads;
    bool has_shm, has_single_copy; // on every node that needs it
    bool has_multicast;
    bool has_messages;                     // every node with several ranks has a channel between them
    bool has_carrier;                      // ... and all ranks the one between hosts
    _Atomic bool shares_messages;          // the first worker moves them while the program computes
    struct co_channel *native_carrier;     // `p2p` closes it; NULL: none
    struct co_channel *links_carrier;      // instead of it, over verbs; likewise
    _Atomic bool must_let_go;              // it has yet to give back a device that is taken away
    _Atomic unsigned message_spins;        // turns of a wait for a message before anything else is moved
    _Atomic unsigned message_waits;        // where ranks outnumber cores
    int message_policy;                    // CO_AUTO, CO_YES, CO_NO
    _Atomic uint64_t asked_ns;             // when somebody was last asked for a sign of life,
    _Atomic int asked;                     // and who
    enum co_transport_kind transport_kind; // between nodes; the same on all ranks where has_multicast
    int shm_error;                         // -errno of the first rank without shared memory
    _Atomic bool *is_gone;                 // [node_size]: ranks of this node that have ended
    _Atomic bool has_lost_one;             // some of them is
    _Atomic int network_error;             // -errno when the transport broke
    void *exchange;                        // during the start: room for what all ranks tell, CO_EXCHANGE_BYTES each
    char network[480];                     // description, or why there is no multicast
    const struct co_verbs_module *verbs_module; // NULL: not loaded
    struct co_transport *verbs;                 // during the start: instead of the transport, if all ranks have it
    char verbs_text[200];                       // what it uses, or why it is not used
    uint64_t spin_turns, stall_ns;
    int policy[CO_CALL_COUNT];
    bool adapts; // trials decide, where settings do not
    uint64_t opened_ns;
    _Atomic uint64_t trials_spent_ns, trials_earned_ns; // of all teams
    struct co_tune_table tune;
    struct co_shm_node *shm;
    struct co_transport *transport;
    struct co_auth *auth;
    struct co_mcast *mcast;
    struct co_p2p *p2p;       // NULL: messages stay native
    struct co_placed *placed; // NULL: no collective is placed, on no rank
    char placed_text[240];    // why not, or with which coordinator; empty: none is set

    struct co_trylock lock; // holder moves the engine
    struct co_mpsc_queue submissions;
    struct co_team *active;
    unsigned idle_looks;       // by the holder: turns at which a network without work was left alone
    _Atomic uint64_t events;   // that have moved something, written by the holder
    _Atomic uint64_t advances; // ... and brought an operation nearer to its end
    uint64_t task_advances;
    _Atomic unsigned outstanding;     // tasks
    _Atomic unsigned background;      // of these, nonblocking ones
    _Atomic unsigned in_memory;       // of these, in a step of shared memory, which no descriptor tells about
    _Atomic unsigned turns;           // of callers that had something to move: tells the worker to keep out
    _Atomic unsigned sleepers;        // callers that sleep on the descriptors
    _Atomic bool network_is_busy;     // copies kept, reports owed
    _Atomic unsigned polls;           // without anything outstanding
    _Atomic unsigned glances;         // of calls that only look
    _Atomic unsigned native_turns;    // of the native progress loop
    _Atomic uint64_t native_ns;       // when a waiting call last moved native MPI
    _Atomic uint64_t network_spin_ns; // that a wait looks for a datagram before it sleeps, as learnt
    _Atomic unsigned network_waits;   // that began
    _Atomic bool is_abandoned;
    _Atomic unsigned long_ones; // tasks that the workers move alone: their callers sleep
    _Atomic uint64_t completed; // tasks
    struct co_workers *workers; // NULL: none
};

// cores.c
int co_cores_agree(struct co_engine *engine);

// descriptor_budget.c
void co_descriptors_count(struct co_engine *engine);
int co_descriptors_for_network(void); // the least that it takes
// False: they are not ours to take.
bool co_descriptors_take(struct co_engine *engine, int count);

// signs_of_life.c: collective. Where it is asked for, all ranks have worker threads, or not.
void co_signs_agree(struct co_engine *engine, bool all_have_threads);

// transports.c
int co_transports_open(struct co_engine *engine, char *why, size_t why_room);
void co_transports_close(struct co_engine *engine);

// messages_channels.c
// Collective. 0, or -errno of this rank or its node; `carrier`: likewise for messages between hosts, -ENOTSUP where
// there are none.
int co_messages_open(struct co_engine *engine, uint64_t job_tag, int *carrier);
void co_messages_share(struct co_engine *engine); // with the workers, where there are some
bool co_messages_in_background(const struct co_engine *engine);
int co_messages_move_background(struct co_engine *engine); // by the first worker, as co_p2p_move_background
bool co_messages_are_in_background(void);                  // the calling thread is at that
void co_messages_close(struct co_engine *engine);
void co_messages_let_go(struct co_engine *engine);          // of the device, which is broken or taken away
void co_messages_lose(struct co_engine *engine, int place); // a rank of this node has ended
void co_messages_ask_for_life(struct co_engine *engine);    // those on other hosts that messages wait for
int co_messages_progress(struct co_engine *engine, bool inside);
uint64_t co_messages_advances(const struct co_engine *engine);
bool co_messages_need_native(const struct co_engine *engine); // it moves only as often as it is called

// trials.c: once the facts of the ranks are known; and with the team.
void co_trials_open(struct co_engine *engine);
void co_team_trials_close(struct co_team *team);

// calls.c: a few bytes of each member to all, as a blocking collective of the team in the name of `call`.
int co_team_exchange(struct co_team *team, const void *mine, void *all, size_t bytes, const char *call);

// task.c
void co_task_submit(struct co_task *task);
int co_tasks_progress(struct co_engine *engine, uint64_t now_ns); // lock held
size_t co_task_total_bytes(const struct co_task *task);           // the message, or the blocks of all ranks
const struct co_task *co_task_head(const struct co_engine *engine);
void co_task_describe(const struct co_task *task, char *text, size_t room);

// collective.c
int co_collective_plan(struct co_task *task);
void co_collective_plan_next(struct co_task *task);            // after its last step: the next part, if there is one
bool co_collective_has_more_parts(const struct co_task *task); // that have not begun
int co_collective_begin(struct co_task *task, uint64_t now_ns);
int co_collective_poll(struct co_task *task, bool *has_moved);
void co_collective_finish(struct co_task *task);
bool co_step_is_in_memory(enum co_step step);

// team.c: frees a closing team without operations. Lock held.
void co_team_reap(struct co_team *team);

// team_failure.c
// The team can do nothing more: this process's later calls fail, and so do the operations of all other members. Lock
// held, or the team has no group.
void co_team_break(struct co_team *team, int error);
// What ends an operation in shared memory that does not come to its end: 0 or -errno.
int co_team_failure(const struct co_team *team);
void co_engine_look_for_the_gone(struct co_engine *engine);

// progress.c: for workers, which leave the engine to callers that sleep on the descriptors; and with the lock held.
// Positive: something moved. -EBUSY: somebody else holds the engine, who need not be moving it.
int co_engine_move_for_worker(struct co_engine *engine);
int co_engine_move_held(struct co_engine *engine);

// wait.c: descriptors to sleep on, with the lock taken for a moment. *most_ns shrinks to the next timer. -EBUSY:
// somebody moves the engine right now.
int co_wait_descriptors(struct co_engine *engine, struct pollfd *descriptors, int room, uint64_t *most_ns);
// Somebody has slept on the first `count` of them, which poll(2) has filled in.
void co_wait_woken(struct co_engine *engine, const struct pollfd *descriptors, int count);
void co_sleep_for_event(struct co_engine *engine, uint64_t most_ns);

// workers.c
// 0, or -errno where this rank has no thread.
int co_workers_open(struct co_engine *engine);
void co_workers_close(struct co_engine *engine);
void co_workers_wake(struct co_engine *engine);   // an operation that they shall start at once
void co_workers_notice(struct co_engine *engine); // the network has timers again; callers look after it first
void co_workers_send(struct co_engine *engine);   // lock held: wakes the sending one if there is something for it
bool co_workers_are_split(const struct co_engine *engine);
// A blocking operation that they should move while its caller sleeps.
bool co_workers_want(const struct co_engine *engine, bool crosses_nodes, size_t bytes);
// Wakes callers that sleep on a bell: something has come or ended.
void co_callers_ring(struct co_engine *engine);
struct co_bells *co_workers_bells(const struct co_engine *engine); // NULL where the workers are not split
void co_workers_describe(const struct co_engine *engine, char *text, size_t room);

#endif
