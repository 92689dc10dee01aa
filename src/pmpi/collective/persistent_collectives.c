// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a persistent collective above the engine. Its buffers stay as the first start has made them: later ones
// only pack anew what was packed. Where the program may have buffers on a device each start looks again.
#include "pmpi/collective/persistent_collectives.h"

#include "pmpi/collective/offloaded.h"
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/datatype/device_memory.h"
#include "pmpi/report/report_sites.h"
#include "pmpi/request/persistent.h"

#include <errno.h>
#include <stdlib.h>

struct planned {
    struct co_persistent persistent; // first
    struct co_nonblocking *operation;
    int (*begin)(void *operation); // of each start, and its request's kind
    const struct co_request_kind *started;
    bool is_open; // its buffers
};

static int refill(struct planned *planned)
{
    struct co_nonblocking *operation = planned->operation;
    if (planned->is_open && !co_device_memory_is_taken) {
        return operation->kind->fill(operation);
    }
    operation->kind->close(operation);
    int error = operation->kind->open(operation);
    planned->is_open = error == 0;
    return error;
}

static int start(struct co_mpi_request *request)
{
    struct planned *planned = (struct planned *)request->persistent;
    struct co_nonblocking *operation = planned->operation;
    operation->ticket = co_call_begin(operation->ticket.call);
    if (operation->ticket.began_ns != 0) {
        co_report_sites_add(operation->ticket.call, CO_TAKE);
    }
    int error = refill(planned);
    error = error == 0 ? planned->begin(operation) : error;
    if (error != 0) {
        co_nonblocking_backend_of(operation)->give_up(operation, error);
        co_call_end(&operation->ticket, CO_TAKE, 0, MPI_ERR_OTHER);
        return error;
    }
    co_request_start(request, planned->started, operation, planned->persistent.communicator);
    return 0;
}

static void leave_team(struct co_persistent *persistent)
{
    const struct co_nonblocking *operation = ((struct planned *)persistent)->operation;
    co_nonblocking_backend_of(operation)->close_team(operation);
}

static void release(struct co_persistent *persistent)
{
    struct planned *planned = (struct planned *)persistent;
    leave_team(persistent);
    co_nonblocking_backend_of(planned->operation)->forget(planned->operation);
    co_nonblocking_let_go(planned->operation);
    free(planned);
}

static const struct co_persistent_kind kind = {.start = start, .release = release, .abandon = leave_team};

static void free_planned(struct planned *planned)
{
    if (planned != NULL && planned->operation != NULL) {
        co_nonblocking_let_go(planned->operation);
    }
    free(planned);
}

// All that this member needs, but the team. NULL: out of memory.
static struct planned *plan(const struct co_nonblocking *operation)
{
    struct planned *planned = calloc(1, sizeof *planned);
    if (planned == NULL) {
        return NULL;
    }
    planned->persistent = (struct co_persistent){.kind = &kind, .communicator = operation->communicator};
    planned->operation = co_nonblocking_copy(operation);
    planned->begin = operation->is_offloaded ? co_nonblocking_by_proxies.begin : operation->kind->begin;
    planned->started = &operation->kind->persistent[operation->is_offloaded];
    if (planned->operation == NULL || planned->operation->kind->keep(planned->operation) != 0) {
        free_planned(planned);
        return NULL;
    }
    return planned;
}

// Of the same answer on all members, whatever they give: nobody may wait for who does not.
static bool is_left_to_native(const struct co_nonblocking *operation)
{
    if (operation->communicator == NULL) {
        return true;
    }
    enum co_reason reason =
        co_team_decide(co_process.engine, &operation->communicator->seed.facts, operation->ticket.call, 0);
    return reason == CO_DISABLED || reason == CO_NO_PROXY;
}

enum co_reason co_persistent_collective_make(const struct co_nonblocking *operation, enum co_reason reason,
                                             MPI_Request *handle)
{
    if (is_left_to_native(operation)) {
        return reason;
    }
    reason = handle == NULL ? CO_BAD_ARGUMENT : reason;
    struct co_mpi_request *request = reason == CO_TAKE ? co_request_handles_take() : NULL;
    struct planned *planned = request == NULL ? NULL : plan(operation);
    reason = reason == CO_TAKE && planned == NULL ? CO_NO_MEMORY : reason;
    struct co_nonblocking *own = planned == NULL ? NULL : planned->operation;
    struct co_nonblocking nobodys = {.communicator = operation->communicator};
    reason = co_nonblocking_backend_of(operation)->open_own_team(own != NULL ? own : &nobodys, reason);
    if (reason != CO_TAKE) {
        free_planned(planned);
        if (request != NULL) {
            co_request_handles_give(request);
        }
        return reason;
    }
    co_communicator_hold(operation->communicator);
    request->persistent = &planned->persistent;
    *handle = request->handle;
    return CO_TAKE;
}
