// SPDX-License-Identifier: BSD-3-Clause
//
// Which calls castoff takes: a pure function of facts that MPI makes equal on all members (communicator, total
// bytes, settings agreed at start). Never of local facts. The thresholds are data (tune_table.h). Hot; any thread.
#ifndef CASTOFF_ENGINE_DECIDE_H
#define CASTOFF_ENGINE_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The collectives that castoff serves: the name in MPI, and the word for it in tune tables and options.
#define CO_CALLS(X)                                                                                                    \
    X(BCAST, "MPI_Bcast", "bcast")                                                                                     \
    X(IBCAST, "MPI_Ibcast", "ibcast")                                                                                  \
    X(ALLGATHER, "MPI_Allgather", "allgather")                                                                         \
    X(IALLGATHER, "MPI_Iallgather", "iallgather")                                                                      \
    X(ALLGATHERV, "MPI_Allgatherv", "allgatherv")                                                                      \
    X(IALLGATHERV, "MPI_Iallgatherv", "iallgatherv")                                                                   \
    X(BCAST_INIT, "MPIX_Bcast_init", "bcast_init")                                                                     \
    X(ALLGATHER_INIT, "MPIX_Allgather_init", "allgather_init")                                                         \
    X(ALLGATHERV_INIT, "MPIX_Allgatherv_init", "allgatherv_init")                                                      \
    X(IALLTOALL, "MPI_Ialltoall", "ialltoall")                                                                         \
    X(IALLTOALLV, "MPI_Ialltoallv", "ialltoallv")                                                                      \
    X(ALLTOALL_INIT, "MPIX_Alltoall_init", "alltoall_init")                                                            \
    X(ALLTOALLV_INIT, "MPIX_Alltoallv_init", "alltoallv_init")

#define CO_CALL_ID(id, text, word) CO_CALL_##id,
enum co_call { CO_CALLS(CO_CALL_ID) CO_CALL_COUNT };
#undef CO_CALL_ID

// One message from a root; the others are a block from each rank.
static inline bool co_call_has_root(enum co_call call)
{
    return call == CO_CALL_BCAST || call == CO_CALL_IBCAST || call == CO_CALL_BCAST_INIT;
}

// Each start of a persistent one is the nonblocking call, whose rows of the tune table hold for it.
static inline enum co_call co_call_started(enum co_call call)
{
    return call == CO_CALL_BCAST_INIT        ? CO_CALL_IBCAST
           : call == CO_CALL_ALLGATHER_INIT  ? CO_CALL_IALLGATHER
           : call == CO_CALL_ALLGATHERV_INIT ? CO_CALL_IALLGATHERV
           : call == CO_CALL_ALLTOALL_INIT   ? CO_CALL_IALLTOALL
           : call == CO_CALL_ALLTOALLV_INIT  ? CO_CALL_IALLTOALLV
                                             : call;
}

// Carried by proxies (src/offload), and by nothing else. What others may carry as well: co_decide_by_proxies.
static inline bool co_call_is_proxied(enum co_call call)
{
    enum co_call started = co_call_started(call);
    return started == CO_CALL_IALLTOALL || started == CO_CALL_IALLTOALLV;
}

// Returns at once, and is completed behind a request.
static inline bool co_call_is_nonblocking(enum co_call call)
{
    enum co_call started = co_call_started(call);
    return started == CO_CALL_IBCAST || started == CO_CALL_IALLGATHER || started == CO_CALL_IALLGATHERV ||
           co_call_is_proxied(started);
}

// Reasons, in the words of the report. CO_TAKE is 0. Those from NOT_STARTED on
// are found by src/pmpi.
#define CO_REASONS(X)                                                                                                  \
    X(TAKE, "taken")                                                                                                   \
    X(DISABLED, "disabled_by_setting")                                                                                 \
    X(ZERO_BYTES, "zero_bytes")                                                                                        \
    X(ONE_RANK, "one_rank")                                                                                            \
    X(TOO_SMALL, "too_small")                                                                                          \
    X(TOO_LARGE, "too_large")                                                                                          \
    X(STOCK_FASTER, "stock_is_faster")                                                                                 \
    X(FOUND_SLOWER, "found_slower_here")                                                                               \
    X(UNEQUAL_LENGTHS, "unequal_lengths")                                                                              \
    X(NATIVE_NEARER, "native_is_nearer")                                                                               \
    X(NO_MULTICAST, "no_multicast_between_nodes")                                                                      \
    X(NO_TRANSPORT, "no_transport")                                                                                    \
    X(NO_PROXY, "no_proxy")                                                                                            \
    X(DEVICE_MEMORY, "native_takes_device_memory")                                                                     \
    X(SEVERAL_NODES, "several_nodes")                                                                                  \
    X(NOT_STARTED, "castoff_not_started")                                                                              \
    X(UNKNOWN_COMMUNICATOR, "communicator_not_followed")                                                               \
    X(NATIVE_HANDLE, "native_handle")                                                                                  \
    X(INTERCOMMUNICATOR, "intercommunicator")                                                                          \
    X(HINT_OFF, "switched_off_by_info")                                                                                \
    X(NOBODY, "no_partner")                                                                                            \
    X(BAD_ARGUMENT, "bad_argument")                                                                                    \
    X(NO_MEMORY, "no_memory_at_creation")

#define CO_REASON_ID(id, text) CO_##id,
enum co_reason { CO_REASONS(CO_REASON_ID) CO_REASON_COUNT };
#undef CO_REASON_ID

const char *co_reason_text(enum co_reason reason);
const char *co_call_text(enum co_call call); // "MPI_Bcast"
const char *co_call_word(enum co_call call); // "bcast"

// What carries a team's bytes: shared memory on one node, else what lies between its nodes, below any injected faults;
// proxies, for the calls that they carry. Rows of the table that name none fit any.
enum co_transport_kind {
    CO_TRANSPORT_ANY,
    CO_TRANSPORT_SHM,
    CO_TRANSPORT_UDP,
    CO_TRANSPORT_VERBS,
    CO_TRANSPORT_PROXY,
    CO_TRANSPORT_COUNT
};

const char *co_transport_kind_text(enum co_transport_kind transport); // "udp"
// Of a text of so many bytes; CO_TRANSPORT_COUNT: none is called so.
enum co_transport_kind co_transport_kind_named(const char *text, size_t bytes);

// Facts of a team, fixed when it is made. Each follows from what all ranks exchanged at the start and from who is a
// member, so all members have the same.
struct co_team_facts {
    int ranks;
    int nodes;
    // As small as can be, for there is one of these for each communicator.
    uint16_t max_ranks_per_node; // on the node that has most of them
    enum co_transport_kind transport : 8;
    bool has_multicast : 1;     // all its nodes heard the probe
    bool has_nearer_native : 1; // the MPI below has a much shorter way between nodes
    bool has_shm : 1;           // every node with several ranks has shared memory
    bool has_single_copy : 1;   // on every node with several ranks
    bool is_oversubscribed : 1; // some node has more ranks of the job than cores
    bool has_proxies : 1;       // every node has one, and they take a communicator of so many ranks
};

struct co_tune_table;

// `bytes`: Bcast the message, Allgather one rank's block, Allgatherv the mean of the blocks, rounded up (decide.c says
// why), Alltoall what a rank has for each, Alltoallv 1, for no rank knows what the others have. `policy` is CO_AUTO,
// CO_YES, CO_NO or, of nonblocking ones, CO_BY_PROXIES of the call's setting.
enum co_reason co_decide(const struct co_tune_table *table, const struct co_team_facts *facts, enum co_call call,
                         size_t bytes, int policy);

// Whether it is proxies that carry it where co_decide takes it: by the setting, or by a row of the table that says so.
// A persistent one by its setting alone, for its members choose before they know that they agree about lengths.
bool co_decide_by_proxies(const struct co_tune_table *table, const struct co_team_facts *facts, enum co_call call,
                          size_t bytes, int policy);

// What this job has for messages, the same on all ranks.
struct co_message_ways {
    bool is_open;            // all ranks have opened theirs
    bool has_remote_channel; // the MPI below carries them between hosts
    bool on_devices;         // it takes buffers on devices, which castoff cannot read
};

// All messages of a communicator or none: decided when it is made. CO_AUTO takes those of one node whose ranks have
// cores of their own: between hosts the MPI below carries them anyway, and a rank that shares its core waits for it.
enum co_reason co_decide_messages(const struct co_team_facts *facts, const struct co_message_ways *ways, int policy);

#endif
