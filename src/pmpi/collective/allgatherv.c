// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Allgatherv. Equal blocks are an allgather. Hot.
#include "pmpi/collective/gatherv_buffers.h"
#include "pmpi/life/failure.h"

static int blocks_gather(const struct co_gatherv_call *call, struct co_gatherv_buffers *buffers)
{
    struct co_team *team = call->communicator->team;
    return call->is_equal && buffers->packed != NULL ? co_team_allgather(team, NULL, buffers->packed, call->block_bytes)
                                                     : co_team_allgatherv(team, buffers->blocks);
}

static int call_run(const struct co_gatherv_call *call)
{
    if (co_gatherv_is_row(call)) {
        struct co_gather_call row = co_gatherv_as_gather(call);
        return co_gather_run(&row);
    }
    struct co_gatherv_buffers buffers;
    int error = co_gatherv_buffers_open(&buffers, call);
    if (error != 0) {
        co_team_give_up(call->communicator->team, error);
        return error;
    }
    error = blocks_gather(call, &buffers);
    if (error == 0) {
        error = co_gatherv_buffers_unpack(&buffers, call);
    }
    co_gatherv_buffers_close(&buffers);
    return error;
}

static int allgatherv_take(const struct co_gatherv_call *call, MPI_Comm comm)
{
    int error = co_communicator_need_team(call->communicator);
    if (error == 0) {
        error = call_run(call);
    }
    return error == 0 ? MPI_SUCCESS : co_failure_raise(comm, "MPI_Allgatherv", error);
}

int PMPI_Allgatherv(const void *send, int send_count, MPI_Datatype send_type, void *receive, const int counts[],
                    const int places[], MPI_Datatype receive_type, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Allgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHERV);
    struct co_gatherv_call call = {.send = send,
                                   .send_count = send_count,
                                   .send_type = send_type,
                                   .receive = receive,
                                   .counts = counts,
                                   .places = places,
                                   .receive_type = receive_type};
    enum co_reason reason = co_gatherv_route(&call, comm, CO_CALL_ALLGATHERV);
    int code = reason == CO_TAKE
                   ? allgatherv_take(&call, comm)
                   : co_next.Allgatherv(send, send_count, send_type, receive, counts, places, receive_type, comm);
    co_gatherv_end(&ticket, reason, comm, &call, code);
    return code;
}

#ifdef CO_HAS_LARGE_COUNTS

int PMPI_Allgatherv_c(const void *send, MPI_Count send_count, MPI_Datatype send_type, void *receive,
                      const MPI_Count counts[], const MPI_Aint places[], MPI_Datatype receive_type, MPI_Comm comm)
{
    if (co_process_is_off()) {
        return co_next.Allgatherv_c(send, send_count, send_type, receive, counts, places, receive_type, comm);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_ALLGATHERV);
    struct co_gatherv_call call = {.send = send,
                                   .send_count = send_count,
                                   .send_type = send_type,
                                   .receive = receive,
                                   .large_counts = counts,
                                   .large_places = places,
                                   .receive_type = receive_type};
    enum co_reason reason = co_gatherv_route(&call, comm, CO_CALL_ALLGATHERV);
    int code = reason == CO_TAKE
                   ? allgatherv_take(&call, comm)
                   : co_next.Allgatherv_c(send, send_count, send_type, receive, counts, places, receive_type, comm);
    co_gatherv_end(&ticket, reason, comm, &call, code);
    return code;
}

#endif
