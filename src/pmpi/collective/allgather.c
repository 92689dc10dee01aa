// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Allgather. Hot.
#include "pmpi/life/failure.h"
#include "pmpi/collective/gather_buffers.h"
#include "pmpi/life/process.h"

static int allgather_take(const struct co_gather_call *call, MPI_Comm comm)
{
    int error = co_communicator_need_team(call->communicator);
    error = error == 0 ? co_gather_run(call) : error;
    return error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Allgather", error);
}

int PMPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHER);
    struct co_gather_call call = {.send = send,
                                  .send_count = send_count,
                                  .send_type = send_type,
                                  .receive = receive,
                                  .receive_count = receive_count,
                                  .receive_type = receive_type};
    enum co_reason reason = co_gather_route(&call, comm, CO_CALL_ALLGATHER);
    int code = reason == CO_TAKE
                   ? allgather_take(&call, comm)
                   : co_next.Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
    co_route_trial_end(call.communicator, call.trial_ns, code);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Allgather_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                     MPI_Count receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Allgather_c(send, send_count, send_type, receive, receive_count, receive_type, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHER);
    struct co_gather_call call = {.send = send,
                                  .send_count = send_count,
                                  .send_type = send_type,
                                  .receive = receive,
                                  .receive_count = receive_count,
                                  .receive_type = receive_type};
    enum co_reason reason = co_gather_route(&call, comm, CO_CALL_ALLGATHER);
    int code = reason == CO_TAKE
                   ? allgather_take(&call, comm)
                   : co_next.Allgather_c(send, send_count, send_type, receive, receive_count, receive_type, comm);
    co_route_trial_end(call.communicator, call.trial_ns, code);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

#endif
