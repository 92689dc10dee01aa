// SPDX-License-Identifier: BSD-3-Clause
//
// The engine: what its parts share, and its lock. Private to src/engine; each part has a header of its own. From above
// to below; a part calls only parts below it, and tells those above by what it returns or leaves in here:
//   engine.c      open and close
//   start/        what is opened and agreed on at the start: cores.c, transports.c, network*.c, messages_*.c, ...
//   progress/workers_open.c   threads, how many        worker_roles.c   what each does in a turn
//   collective/blocking.c     one-sided or not         decide/trials.c  which side is faster, as the job finds out
//   collective/team_seed.c    communicators from their beginning
//   collective/onesided_*.c   by RDMA writes to a group
//   collective/team_run.c     on the caller's stack, or as a task
//   progress/wait.c           spin, yield, sleep
//   progress/progress.c       the conductor: it alone moves the parts, and does what follows
//   progress/peer_failure.c   who has ended            messages_progress.c   messages
//   collective/task.c         queue, life of operations
//   collective/collective.c   what they consist of     team.c      communicators once they are used
//   collective/unequal_blocks.c   blocks of an allgatherv: measured, packed
//   progress/team_failure.c   what is told to whom when something breaks
//   progress/wake_sleepers.c  words to who sleeps      worker.c    one thread      wake_fds.c   what callers sleep on
#ifndef CASTOFF_ENGINE_ENGINE_STATE_H
#define CASTOFF_ENGINE_ENGINE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mpsc_queue.h"
#include "base/atomics.h"
#include "base/core_offer.h"
#include "base/descriptors.h"
#include "engine/decide/tune_table.h"
#include "engine/engine.h"

#define CO_EXCHANGE_BYTES 384 // most that a rank tells all others in one exchange, and what goes back sealed

struct co_auth;
struct co_channel;
struct co_mcast;
struct co_p2p;
struct co_onesided_collective;
struct co_shm_node;
struct co_transport;
struct co_verbs_module;
struct co_workers;

struct co_engine {
    struct co_bootstrap bootstrap;
    int *node_of_rank;  // by world rank: its node,
    int *local_rank_of; // and its rank on that node
    int cores;          // of this node that its ranks may run on
    int descriptors;    // that we may still open
    bool is_oversubscribed;
    bool has_sessions;          // of its own each rank, or some: a yield may be taken by none of the others
    struct co_core_offer offer; // what became of the last ones
    bool uses_threads;
    int workers_status;            // -errno: this rank has none of those threads
    bool has_shm, has_single_copy; // on every node that needs it
    bool has_multicast;
    bool has_nearer_native;                // between nodes, by far
    bool hears_unicast_alone;              // all ranks have opened the network, and multicast is not heard
    bool has_messages;                     // every node with several ranks has a channel between them
    bool has_remote_channel;               // ... and all ranks the one between hosts
    _Atomic bool shares_messages;          // the first worker moves them while the program computes
    struct co_channel *native_channel;     // `p2p` closes it; NULL: none
    struct co_channel *rc_channel;         // instead of it, over verbs; likewise
    _Atomic bool has_more_to_move;         // messages have yet to give back a device, or calls wait for room at a proxy
    _Atomic unsigned message_spins;        // turns of a wait for a message before anything else is moved
    _Atomic unsigned message_waits;        // where ranks outnumber cores
    _Atomic uint64_t yield_least_ns;       // that a yield of such a wait has taken; 0: none yet
    _Atomic bool core_is_shared;           // where they do not, and yet: somebody who waits as we do, by the last yield
    int message_policy;                    // CO_AUTO, CO_YES, CO_NO
    _Atomic uint64_t asked_ns;             // when somebody was last asked for a sign of life,
    _Atomic int asked;                     // and who
    enum co_transport_kind transport_kind; // between nodes; the same on all ranks where has_multicast
    int shm_error;                         // -errno of the first rank without shared memory
    _Atomic bool *is_gone;                 // [node_size]: ranks of this node that have ended
    _Atomic bool has_lost_one;             // some of them is
    _Atomic int network_error;             // -errno when the transport broke
    struct co_descriptor_kept watched;     // of the network, one for all
    _Atomic bool has_lost_descriptors;     // the program has closed them
    void *exchange;                        // during the start: room for what all ranks tell, CO_EXCHANGE_BYTES each
    uint8_t key_secret[32];                // likewise: this rank's own half, by which it gets the job's key,
    int key_status;                        // or -errno
    bool hosts_answer;                     // for those that compute; the same on all ranks
    char network[480];                     // description, or why there is no multicast
    const struct co_verbs_module *verbs_module; // NULL: not loaded
    struct co_transport *verbs;                 // during the start: instead of the transport, if all ranks have it
    char verbs_text[200];                       // what it uses, or why it is not used
    uint64_t spin_turns, stall_ns;
    int policy[CO_CALL_COUNT];
    bool adapts, adapts_long_allgathers; // trials decide, where settings do not; only those between hosts
    uint64_t opened_ns;
    _Atomic uint64_t trials_spent_ns, trials_earned_ns; // of all teams,
    _Atomic uint64_t trials_waited_ns;                  // and what roots have waited in vain at exchanges
    struct co_tune_table tune;
    struct co_shm_node *shm;
    struct co_transport *transport;
    struct co_auth *auth;
    struct co_mcast *mcast;
    struct co_p2p *p2p;                      // NULL: messages stay native
    struct co_proxies *proxies;              // of the layer above; NULL: none, on no rank
    struct co_onesided_collective *onesided; // NULL: no collective goes one-sided, on no rank
    char onesided_text[240];                 // why not, or with which coordinator; empty: none is set

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

#endif
