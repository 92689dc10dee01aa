// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Bcast, of both kinds of counts. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/collective/bcast_buffers.h"
#include "pmpi/life/process.h"

#include <errno.h>

// CO_TAKE and the call's code, or why it goes to native after all: its root was called with another length, by which
// it went there.
static enum co_reason bcast_take(const struct co_bcast_call *call, MPI_Comm comm, int *code)
{
    struct co_bcast_buffers buffers;
    int error = co_communicator_need_team(call->communicator);
    if (error != 0) {
        *code = co_failure_raise(comm, "MPI_Bcast", error);
        return CO_TAKE;
    }
    error = co_bcast_buffers_open(&buffers, call);
    if (error == 0) {
        size_t came = 0;
        error = co_team_bcast(call->communicator->team, call->root, buffers.data, call->bytes, &came);
        bool is_let_go = error == -ECANCELED;
        error = co_bcast_buffers_unpack(&buffers, call, error, came);
        co_bcast_buffers_close(&buffers);
        if (is_let_go) {
            return CO_UNEQUAL_LENGTHS;
        }
    } else {
        co_team_give_up(call->communicator->team, error);
    }
    *code = error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Bcast", error);
    return CO_TAKE;
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Bcast(buffer, count, type, root, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_BCAST);
    struct co_bcast_call call = {.buffer = buffer, .count = count, .root = root, .type = type};
    enum co_reason reason = co_bcast_route(&call, comm, CO_CALL_BCAST);
    int code = MPI_SUCCESS;
    reason = reason == CO_TAKE ? bcast_take(&call, comm, &code) : reason;
    if (reason != CO_TAKE) {
        co_bcast_begin_native(&call, reason);
        code = co_next.Bcast(buffer, count, type, root, comm);
    }
    co_route_trial_end(call.communicator, call.trial_ns, code);
    co_bcast_end(&call, comm, reason, code);
    // Between groups, a rank of the root's group that is not the root has no part in it: what it gives is not looked
    // at.
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : count, type, code);
    return code;
}

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Bcast_c(void *buffer, MPI_Count count, MPI_Datatype type, int root, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Bcast_c(buffer, count, type, root, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_BCAST);
    struct co_bcast_call call = {.buffer = buffer, .count = count, .root = root, .type = type};
    enum co_reason reason = co_bcast_route(&call, comm, CO_CALL_BCAST);
    int code = MPI_SUCCESS;
    reason = reason == CO_TAKE ? bcast_take(&call, comm, &code) : reason;
    if (reason != CO_TAKE) {
        co_bcast_begin_native(&call, reason);
        code = co_next.Bcast_c(buffer, count, type, root, comm);
    }
    co_route_trial_end(call.communicator, call.trial_ns, code);
    co_bcast_end(&call, comm, reason, code);
    co_route_end(&ticket, reason, comm, root == MPI_PROC_NULL ? 0 : (ptrdiff_t)count, type, code);
    return code;
}

#endif
