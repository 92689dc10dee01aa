// SPDX-License-Identifier: BSD-3-Clause
//
// What nonblocking collectives have in common, and the starts of persistent ones: behind a request stands an engine's
// task, or what proxies carry (offloaded.h). The call starts it and returns; buffers and status are finished by the
// completing call. Hot; the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_NONBLOCKING_H
#define CASTOFF_PMPI_COLLECTIVE_NONBLOCKING_H

#include "pmpi/report/call_counts.h"
#include "pmpi/request/requests.h"

struct co_nonblocking;
struct co_proxied_call;
struct co_proxied_team;

// What runs operations: the engine, or proxies (offloaded.h).
struct co_nonblocking_backend {
    // The communicator's team, for its next operation. 0 or -errno: nobody waits for this member.
    int (*need_team)(struct co_nonblocking *operation);
    int (*begin)(void *operation); // once it is prepared. 0 or -errno. NULL: its kind's
    // A team of its own, as by co_communicator_agree_on_team.
    enum co_reason (*open_own_team)(struct co_nonblocking *operation, enum co_reason reason);
    void (*close_team)(const struct co_nonblocking *operation);
    // This member cannot take part in the next operation: nobody may wait for it.
    void (*give_up)(const struct co_nonblocking *operation, int error);
    void (*forget)(const struct co_nonblocking *operation); // what is left of its last start
};
extern const struct co_nonblocking_backend co_nonblocking_by_engine;

// One of the calls. The functions get the whole operation, whose first member is struct co_nonblocking. 0 or -errno.
struct co_nonblocking_kind {
    struct co_request_kind once[2], persistent[2]; // CO_NONBLOCKING_REQUESTS; by the engine, and by proxies
    size_t operation_bytes;
    int (*prepare)(void *operation); // of one start: opens, and keeps what its end needs
    int (*open)(void *operation);    // gets the buffers ready; nothing is held on failure
    int (*fill)(void *operation);    // the same, where they are open from an earlier start
    // What all starts to come need, and the program may free, is replaced by copies.
    int (*keep)(void *operation);
    int (*begin)(void *operation); // by the engine: the task, to the operation's team. NULL: proxies alone carry it
    int (*submit)(struct co_proxied_call **out, const void *operation); // by proxies: the call, to its proxied team
    int (*refuse)(const void *operation);                               // likewise: it was taken, and cannot begin here
    // After its end with `error` and `given` bytes (of a broadcast: what its root has given): brings the result to the
    // program's buffers. Calls native.
    int (*unpack)(void *operation, int error, size_t given);
    void (*close)(void *operation); // the buffers; nothing where they are not open
};

#define CO_NONBLOCKING_TYPES 2

struct co_nonblocking {
    const struct co_nonblocking_kind *kind;
    struct co_communicator *communicator;
    union { // whose operation it is: the communicator's, or a persistent one's own
        struct co_team *team;
        struct co_proxied_team *proxied_team;
    };
    struct co_call_ticket ticket;
    bool is_offloaded; // by proxies
    size_t bytes;      // for the report
    union {
        struct co_task *task;
        struct co_proxied_call *proxied; // NULL: none is under way
    };
    MPI_Datatype held_types[CO_NONBLOCKING_TYPES]; // duplicates
    int held;                                      // how many of them
    void *held_arrays;                             // copies, NULL: none
};

bool co_nonblocking_is_done(const void *operation);
int co_nonblocking_settle(void *operation);
void co_nonblocking_fill_status(const void *operation, MPI_Status *status);
void co_nonblocking_release(void *operation);
void co_nonblocking_rest(void *operation); // of one start of a persistent one, whose memory the next one uses

// A call that is taken: starts a copy of the operation behind a request. Returns the MPI code; errors are raised.
int co_nonblocking_take(struct co_nonblocking *operation, MPI_Comm comm, MPI_Request *handle);

// A copy of an operation that holds nothing yet. NULL: out of memory.
struct co_nonblocking *co_nonblocking_copy(const struct co_nonblocking *operation);
// Frees it with all that it holds but a task.
void co_nonblocking_let_go(void *operation);

// For `keep` and `prepare`: one of ours in the type's place, for the program may free its own. Of each operation at
// most CO_NONBLOCKING_TYPES. 0 or -ENOMEM.
int co_nonblocking_hold_type(struct co_nonblocking *operation, MPI_Datatype *type);

// What has ended with `error` and `given` bytes.
static inline int co_nonblocking_end(struct co_nonblocking *operation, int error, size_t given)
{
    error = operation->kind->unpack(operation, error, given);
    co_call_end(&operation->ticket, CO_TAKE, error == 0 ? operation->bytes : 0,
                error == 0 ? MPI_SUCCESS : MPI_ERR_OTHER);
    return error;
}

#endif
