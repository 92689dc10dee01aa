// SPDX-License-Identifier: BSD-3-Clause
//
// Requests that castoff serves itself: started by a call such as MPI_Iallgather, completed by the 14 completion
// calls. A request knows its kind; the kind knows how to see that it is done, how to finish the program's buffers and
// what its status says. Hot; one thread completes a request (MPI's rule), any thread may look.
#ifndef CASTOFF_PMPI_REQUEST_REQUESTS_H
#define CASTOFF_PMPI_REQUEST_REQUESTS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/life/process.h"
#include "pmpi/request/request_handles.h"

struct co_persistent;

struct co_mpi_request;

struct co_request_kind {
    const char *call; // "MPI_Iallgather"
    bool (*is_done)(const void *operation);
    // Brings the result into the program's buffers. Called once, in a thread that may call native MPI; 0 or -errno.
    int (*settle)(void *operation);
    void (*fill_status)(const void *operation, MPI_Status *status); // all but MPI_ERROR
    void (*release)(void *operation);
    // The last three in one, where nothing was looked at before; NULL: one by one.
    int (*conclude)(struct co_mpi_request *request, MPI_Status *status);
    bool ends_untold; // co_engine_ends does not count them
    bool is_message;  // between two ranks: hints of its communicator do not concern it
    // Of messages; NULL for collectives, for which both calls are errors. detach: under way, and nobody will complete
    // it: true: it releases itself when it is done.
    void (*cancel)(void *operation);
    bool (*detach)(void *operation);
    void (*describe)(const void *operation, char *text, size_t room); // what it waits for, for the stall watchdog
};

struct co_mpi_request {
    alignas(CO_CACHE_LINE) MPI_Request handle;    // native, never started, for life
    struct co_mpi_request *next;                  // free list
    _Atomic(const struct co_request_kind *) kind; // NULL: nothing under way
    void *operation;
    void *kept;                           // memory of an earlier message, for the next one; NULL: none. Not its own
    struct co_communicator *communicator; // held
    struct co_persistent *persistent;     // what MPI_Start starts, NULL: not persistent
    bool is_settled;
    _Atomic bool is_guarded; // of a collective: nobody else settles it, or takes its kind away
    int result;              // once settled: 0 or -errno
};

_Static_assert(sizeof(struct co_mpi_request) == CO_CACHE_LINE, "one line");

extern _Atomic size_t co_requests_outstanding;

// Binds an operation to a request (from co_request_handles_take) and holds the communicator.
static inline void co_request_start(struct co_mpi_request *request, const struct co_request_kind *kind, void *operation,
                                    struct co_communicator *communicator)
{
    request->operation = operation;
    request->communicator = communicator;
    request->is_settled = false;
    request->result = 0;
    co_communicator_hold(communicator);
    if (!kind->is_message) {
        co_plain_counter_hold(&communicator->pending); // relaxed: the same thread may not set hints meanwhile
    }
    co_plain_counter_add(&co_requests_outstanding, 1); // relaxed: see co_requests_exist
    co_store_release(&request->kind, kind);            // release E1: the operation is there
}

// True when a completion call must look at its handles: some request of ours is in use.
static inline bool co_requests_exist(void)
{
    // relaxed: a thread that completes a request has started it or heard of it, so it sees the count of it.
    return !co_process_is_off() && co_load_relaxed(&co_requests_outstanding) != 0;
}

// The request in use behind a handle, or NULL.
static inline struct co_mpi_request *co_request_of(MPI_Request handle)
{
    struct co_mpi_request *request = co_request_handles_find(handle);
    return request != NULL && co_load_acquire(&request->kind) != NULL ? request : NULL; // acquire E1
}

// Whether an array call may be looked at: native looks at all arguments before it completes anything, and a wrong one
// is its to report. No handle is a null pointer.
static inline bool co_requests_are_given(int count, const MPI_Request handles[])
{
    bool are_given = count > 0 && handles != NULL;
    for (int i = 0; are_given && i < count; i++) {
        are_given = handles[i] != CO_NO_HANDLE;
    }
    return are_given;
}

// The first of ours in an array that is done, and what stands before it.
struct co_request_look {
    int done; // -1: none of ours
    bool has_ours, has_natives;
};

// Of no array and of one with a wrong argument nothing is seen.
struct co_request_look co_requests_look(int count, const MPI_Request handles[]);

// The request behind a handle that is ours, in use or a persistent one that is not, or NULL.
static inline struct co_mpi_request *co_request_behind(MPI_Request handle)
{
    return co_process_is_off() ? NULL : co_request_handles_find(handle);
}

bool co_request_is_done(const struct co_mpi_request *request);

// Like is_done, but moves the engine and native MPI once when it is not.
bool co_request_poll(const struct co_mpi_request *request);

// Until it is done. `call` names the waiting call for the stall watchdog.
void co_request_wait(const struct co_mpi_request *request, const char *call);

// The same for about so long at most, in a wait that goes on when the request is the same as before; true: it is done.
bool co_request_wait_for(const struct co_mpi_request *request, struct co_wait *wait, const char *call,
                         uint64_t patience_ns);

// Of a request that is done: whether it is an error. Its buffers are the program's afterwards.
bool co_request_has_failed(struct co_mpi_request *request);

// What a call that waits for any of these waits for. A message is told by no descriptor.
struct co_wait co_request_wait_of_any(int count, const MPI_Request handles[], const char *call);

// Status of a request that is done, without completing it: its buffers are the program's afterwards.
void co_request_peek(struct co_mpi_request *request, MPI_Status *status);

// Completes a request that is done: buffers, status (not MPI_ERROR; may be MPI_STATUS_IGNORE), *handle =
// MPI_REQUEST_NULL, but for a persistent one, which native, too, frees only when it has failed. Returns MPI_SUCCESS or
// an error code, raised on the communicator's handler in the name of the completing call.
int co_request_complete(MPI_Request *handle, struct co_mpi_request *request, MPI_Status *status, const char *call);

// The first failure among the requests of ours in an array: the one that is raised, once for the call, as natively.
struct co_request_failure {
    int error;        // 0: none
    const char *call; // that started it
    MPI_Comm comm;
};

// As above for the array calls: writes MPI_ERROR, too, and raises nothing. `statuses` may be MPI_STATUSES_IGNORE.
void co_request_complete_entry(MPI_Request *handle, struct co_mpi_request *request, MPI_Status *statuses, int index,
                               struct co_request_failure *failure);

// The code of an array call for which native said `code`: raises the failure, unless native has raised one of its own.
int co_request_conclude_array(const struct co_request_failure *failure, int code, const char *call);

// MPI_Cancel and MPI_Request_free. A collective can be neither cancelled nor freed while it is under way: native
// answers MPI_ERR_REQUEST on MPI_COMM_WORLD and keeps the handle, so do we.
int co_request_cancel(struct co_mpi_request *request);
int co_request_free(MPI_Request *handle, struct co_mpi_request *request);

// Whether the program has started generalized requests in C.
bool co_requests_generalized(void);

// Until nothing is under way on a communicator; the requests stay to be completed.
void co_requests_drain(const struct co_communicator *communicator);

#endif
