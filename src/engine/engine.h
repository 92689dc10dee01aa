// SPDX-License-Identifier: BSD-3-Clause
//
// Front door of the engine: one instance for a process (tests may have several), teams (one for each communicator
// in use), collective operations and their progress. No MPI types: bytes, ranks, callbacks. Submission is safe from
// any thread; an operation of one team is submitted by one thread at a time (MPI's rule for communicators).
#ifndef CASTOFF_ENGINE_ENGINE_H
#define CASTOFF_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/block.h"
#include "engine/collective/let_go.h"
#include "engine/decide/decide.h"

struct co_engine;
struct co_mcast_seed;
struct co_native;
struct co_p2p_context;
struct co_team;
struct co_task;
struct co_shm_op;
struct co_udp_config;

// What the layer above lends for start-up and while waiting. The exchanges are collective over the world and called
// only inside co_engine_open, co_engine_settle and co_engine_close, in the same order on all ranks.
struct co_bootstrap {
    int world_rank, world_size;
    int status; // -errno: this rank could not tell who shares a node, or not reach them; then no rank goes on
    int (*allgather)(void *arg, const void *mine, void *all, size_t bytes_each);
    int (*broadcast)(void *arg, int root, void *data, size_t bytes);
    int (*minimum)(void *arg, int *values, int count);      // of each value over all ranks, in place; needs no memory
    int (*barrier)(void *arg);                              // moves the engine while it waits
    int (*node_minimum)(void *arg, int *values, int count); // among the ranks of this node
    int (*node_broadcast)(void *arg, void *data, size_t bytes); // likewise, from its first rank
    int (*ping)(void *arg, int rank, bool is_last); // a message to it, and back but for the last; NULL: on no rank
    int (*echo)(void *arg, int rank);               // sends one of its back if there is one: 0; 1: the last; -errno
    int node_rank, node_size, node_first;           // here; which rank of the world the first one is
    int node_index, node_count;                     // the engine finds out
    void (*native_progress)(void);                  // moves the MPI below, NULL: none
    bool needs_workers;                             // whose calls do not move the engine; the same on all ranks
    bool native_takes_device_memory;                // on some rank, so all messages are its own; the same on all ranks
    const struct co_native *native; // carries messages between hosts, valid during open only; NULL: on no rank
    int native_status;              // -errno: this rank cannot have them carried, so none has
    void *arg;
};

// Local: the memory that exchanges need. NULL: there is none. No rank may open one that others do not have.
struct co_engine *co_engine_make(int world_size);
void co_engine_discard(struct co_engine *engine); // instead of co_engine_open

// Collective. Opens shared memory and sockets, probes multicast, agrees on the result: every rank gets the same
// verdict. Negative: castoff stays off for this job, the engine is no more; `why` says the reason and the cure in one
// sentence.
int co_engine_open(struct co_engine *engine, const struct co_bootstrap *bootstrap, char *why, size_t why_room);
int co_engine_node_count(const struct co_engine *engine);

// What is left to tell once it is open, with the least of what all ranks say: 0 or -errno. Collective, before any use.
// Negative: it cannot be used, on no rank, is to be closed like any other, and `why` says the reason.
int co_engine_last_word(const struct co_engine *engine);
int co_engine_settle(struct co_engine *engine, int least, char *why, size_t why_room);

// Collective. Answers until nobody has an operation under way, and closes. Teams are closed before.
void co_engine_close(struct co_engine *engine);

// Proxies, which the layer above has (src/offload) or has not, alike on all ranks: what a waiting call does for them.
struct co_proxies {
    int members_most;                         // of a communicator that they take
    int (*descriptor)(void *arg);             // readable when something of theirs is over; -1: none
    void (*sleeps)(void *arg);                // a thread is about to wait for that; then it looks once more
    void (*wakes)(void *arg);                 // it waits no longer
    void (*look)(void *arg, uint64_t now_ns); // whether they are there; now and then, while something is under way
    bool (*move)(void *arg);                  // calls that wait for room at a proxy; whether some still do
    uint64_t (*moved)(void *arg);             // grows while bytes of calls under way come or leave
    void *arg;
    _Atomic unsigned under_way; // calls, counted by that layer
    // Of the engine, from the lending on. True: calls wait for room at a proxy, so whoever moves the engine moves them.
    _Atomic bool *is_crowded;
};
// Before there is a communicator; they stay where they are until the engine is closed.
void co_engine_lend_proxies(struct co_engine *engine, struct co_proxies *proxies);

// A communicator's engine side before its first collective is taken: what decisions are made of, a seat on the node,
// and between nodes what it takes to understand others who begin. One that never carries a collective costs no more.
// Ids are equal on all members and never used twice in a job.
struct co_team_seed {
    uint64_t id;
    struct co_team_facts facts; // equal on all members
    int rank;
    int16_t seat;              // in the node's shared memory; negative: none
    int16_t broken;            // 0, or -errno: no team could be opened
    uint32_t skipped;          // co_bcasts, until a team is opened, which counts on
    struct co_mcast_seed *net; // of the first member of each of several nodes, NULL: none
};

// Local; pmpi agrees on the result over the members. `world_ranks` in communicator order.
int co_team_seed_open(struct co_team_seed *seed, struct co_engine *engine, uint64_t id, const int *world_ranks,
                      int size, int rank);
// By a member whose seed did not open, once all have tried: those that have one wait for its leave.
void co_team_seed_decline(const struct co_engine *engine, uint64_t id, const int *world_ranks, int size, int rank);
size_t co_team_seed_bytes(const struct co_team_seed *seed); // memory of this process beside the struct
void co_team_seed_close(const struct co_team_seed *seed, struct co_engine *engine); // when no team was opened
// No team can be opened: the operations of all other members end with an error instead of waiting for this one.
void co_team_seed_break(struct co_team_seed *seed, struct co_engine *engine, int error);

// CO_TAKE, or why not. Pure in facts that are equal on all members.
enum co_reason co_team_decide(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                              size_t bytes);
// By the setting of `call` and the rows of another one, which it is carried out as.
enum co_reason co_team_decide_as(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                                 enum co_call other, size_t bytes);
// Whether proxies carry it, where it is taken.
bool co_team_decide_by_proxies(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                               enum co_call other, size_t bytes);

// Local, and tells nobody. Seat and `net` go to the team; on failure they stay with the seed. Id, world ranks and own
// rank are numbers, and all that there is to a team: whoever is told them, in whatever process, can open it.
int co_team_open(struct co_team **out, struct co_engine *engine, const struct co_team_seed *seed,
                 const int *world_ranks);
// Waits for nothing: operations still under way keep what they need until they end.
void co_team_close(struct co_team *team);
const struct co_team_facts *co_team_facts(const struct co_team *team);

// Trials, which find out in the job which side is faster (decide/adapt.h), for communicators with such facts.
bool co_trials_are_for(const struct co_engine *engine, const struct co_team_facts *facts);
// Whether such a call counts for them, by facts that are equal on all members.
bool co_trials_count(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                     size_t bytes);
#define CO_TRIALS_AFTER 4 // calls of a communicator, which are counted by who makes them
unsigned co_trials_class(enum co_call call, size_t bytes);
// Once so many were made and the next one is at hand; `class`: theirs, if they and the next one were all of one.
#define CO_TRIALS_NO_CLASS UINT16_MAX
void co_team_trials_open(struct co_team *team, unsigned class);

// As co_team_decide, for a blocking collective of a team whose trials are open and whose arguments are right: counts
// it, on all members alike. At some calls the members exchange words for it. *trial_ns: when it began, if it is to be
// timed, else left alone.
enum co_reason co_team_choose(struct co_team *team, enum co_call call, int root, size_t bytes, uint64_t *trial_ns);
// The same for one that waits for nobody: by the last verdict, if it has no root and all calls have trials.
enum co_reason co_team_choose_at_once(const struct co_team *team, enum co_call call, size_t bytes);
// Of a call that ended well.
void co_team_trial_end(struct co_team *team, uint64_t began_ns);

// What they have found, for the report: a class that was on trial.
struct co_trial_row {
    uint64_t call, bytes; // the least of the class
    int ranks, nodes, per_node;
    enum co_transport_kind transport;
    uint64_t bytes_most;
    uint64_t teams, calls, first_at, changes; // communicators; calls of them; how many the first verdict took, 0: none
    uint64_t takes, would_take;               // now, and without trials
    uint64_t native_ns, castoff_ns;           // 0: unknown
    int64_t gained_ns;                        // over what would have been without, by these times
    uint64_t excess_ns;                       // that trials took longer than the way in force
};
// The next of them, from *at = 0 on; false: there is none.
bool co_team_trials_next(const struct co_team *team, unsigned *at, struct co_trial_row *row);

// Blocking collectives on packed bytes. 0 or -errno (-ETIMEDOUT, -ECONNRESET: a peer is gone).
// `*came` (may be NULL): bytes of the buffer that are the root's, fewer than `bytes` if it gave fewer. -EMSGSIZE: it
// gave more, of which the buffer holds what it has room for, and the team goes on; or the members disagree so much that
// it cannot.
int co_team_bcast(struct co_team *team, int root, void *buffer, size_t bytes, size_t *came);
// `mine` NULL: in place in `all`.
int co_team_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes);

// Blocks of any lengths, one for each rank and the same ones on all members, to where they belong in one buffer; the
// own one stands there already. Of equal ones it is the operation that co_team_allgather is on members where they stand
// in a row.
int co_team_allgatherv(struct co_team *team, const struct co_block blocks[]);

// These start and return at once; *out is released by co_task_release after co_task_is_done. It is NULL before, or such
// a task of an earlier call that is done: that one is used again. `call` is what the program has called, for who waits.
int co_team_ibcast(struct co_task **out, struct co_team *team, enum co_call call, int root, void *buffer, size_t bytes);
int co_team_iallgather(struct co_task **out, struct co_team *team, enum co_call call, const void *mine, void *all,
                       size_t block_bytes);
int co_team_iallgatherv(struct co_task **out, struct co_team *team, enum co_call call,
                        const struct co_block blocks[]); // kept until done

// For a member that was to take part in a call and cannot (no memory for a packed copy): nothing more can be done with
// the team, and the operations of all other members end with an error instead of waiting for this one.
void co_team_give_up(struct co_team *team, int error);

// Point-to-point of a communicator, for src/p2p/p2p.h: CO_TAKE, or why its messages stay native. Pure in facts
// that are equal on all members.
enum co_reason co_messages_decide(const struct co_engine *engine, const struct co_team_facts *facts);
// Its context, where they are taken. NULL: out of memory. Closed by co_p2p_context_close, before the engine.
struct co_p2p_context *co_messages_open_context(struct co_engine *engine, const struct co_team_seed *seed,
                                                const int *world_ranks);

// The most ranks for which CASTOFF_P2P_MEMORY has rings, below 2: none is served; and whether the rings of so many
// could be made here, in what /dev/shm has free: 0 or -errno. `key`: of nobody else.
int co_messages_ranks_most(void);
int co_messages_try(int ranks, uint64_t key);

// How the settings want UDP to be opened, without another node's address.
void co_network_udp_config(struct co_udp_config *config, uint64_t job_tag);

bool co_task_is_done(const struct co_task *task);
int co_task_result(const struct co_task *task);   // after it is done: 0 or -errno
size_t co_task_bytes(const struct co_task *task); // after it is done, of a bcast: bytes that its root gave
void co_task_release(struct co_task *task);

// Moves whatever can move; returns events. Cheap when nothing is outstanding (a few loads). Never blocks; if
// another thread is at it, returns 0. The second one is what the callback in the native progress loop calls.
int co_engine_progress(struct co_engine *engine);
int co_engine_progress_inside(struct co_engine *engine);

// The same for a call that only looks, such as MPI_Test: now and then it looks for peers of the node that are gone.
int co_engine_poll(struct co_engine *engine);

// Grows when something has moved, whoever moved it; for comparing alone.
uint64_t co_engine_moves(const struct co_engine *engine);

// Grows after each end of a message or a nonblocking collective that could be seen by who looked: what was seen in vain
// since it was read is true as long as it stays, but of requests that were started since.
uint64_t co_engine_ends(const struct co_engine *engine);

bool co_engine_has_messages(const struct co_engine *engine); // point-to-point is served for some communicator

// One turn of a waiting loop: engine, native progress, then spin, yield, sleep by how long nothing has happened.
// Start with {.call = name} and look after each turn whether the wait is over. Also looks for peers of the node that
// are gone, and runs the stall watchdog: once for each stall it logs what is waited for and the stack.
struct co_wait {
    const char *call;          // "MPI_Wait"
    unsigned turns, all_turns; // since the last event, since the start
    unsigned message_spins;    // turns that it begins with, which look at messages alone
    uint64_t last_event_ns, last_advance_ns, look_ns, seen_events, seen_advances, seen_completed, inline_moved,
        seen_messages, seen_proxies;
    bool has_told, has_slept; // of this stall; since the last event
    bool is_call; // blocking, and a collective's: worth looking for datagrams longer than for a request, whose program
                  // or its neighbours may be computing
    uint64_t spin_ns;                                                  // before the first sleep since then
    const struct co_shm_op *inline_op;                                 // an operation that runs outside the engine
    bool (*is_over)(const void *waited_for);                           // for a last look before it sleeps; NULL: none
    bool for_message;                                                  // of this node, which no descriptor tells about
    void (*describe)(const void *waited_for, char *text, size_t room); // NULL: the engine knows
    const void *waited_for;
};
void co_engine_wait_turn(struct co_engine *engine, struct co_wait *wait);

// Lines for castoff info and the report: "udp: eth0 ..., probe heard by 8 of 8 nodes".
void co_engine_describe(const struct co_engine *engine, char *text, size_t room);

// After fork: the child must not touch the engine.
void co_engine_abandon(struct co_engine *engine);

#endif
