// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Iallgather: starts the engine's task behind a request and returns; buffers and status are finished by the
// completing call. The receive type is held by a duplicate when it is needed then, for the program may free its own.
// Hot.
#include "pmpi/report/call_counts.h"
#include "pmpi/life/failure.h"
#include "pmpi/collective/gather_buffers.h"
#include "pmpi/report/report_sites.h"
#include "pmpi/request/requests.h"

#include <errno.h>
#include <stdlib.h>

struct gather {
    struct co_task *task;
    struct co_gather_call call;
    struct co_gather_buffers buffers;
    struct co_call_ticket ticket;
    MPI_Datatype held_type; // datatype_null: none
};

static bool is_done(const void *operation)
{
    const struct gather *gather = operation;
    return co_task_is_done(gather->task);
}

static int settle(void *operation)
{
    struct gather *gather = operation;
    int error = co_task_result(gather->task);
    if (error == 0) {
        error = co_gather_buffers_deliver(&gather->buffers, &gather->call);
    }
    co_call_end(&gather->ticket, CO_TAKE, error == 0 ? gather->call.block_bytes : 0,
                error == 0 ? MPI_SUCCESS : MPI_ERR_OTHER);
    return error;
}

// As native leaves it after an Iallgather (measured): nothing received from anybody in particular.
static void fill_status(const void *operation, MPI_Status *status)
{
    (void)operation;
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    status->_cancelled = 0;
    status->_ucount = 0;
}

static void release(void *operation)
{
    struct gather *gather = operation;
    co_task_release(gather->task);
    co_gather_buffers_close(&gather->buffers);
    if (gather->held_type != co_next.datatype_null) {
        co_next.Type_free(&gather->held_type);
    }
    free(gather);
}

static const struct co_request_kind kind = {
    .call = "MPI_Iallgather", .is_done = is_done, .settle = settle, .fill_status = fill_status, .release = release};

static int hold_type(struct gather *gather)
{
    gather->held_type = co_next.datatype_null;
    if (gather->buffers.packed_all == NULL) {
        return 0;
    }
    if (co_next.Type_dup(gather->call.receive_type, &gather->held_type) != MPI_SUCCESS) {
        return -ENOMEM;
    }
    gather->call.receive_type = gather->held_type;
    return 0;
}

static int start(struct gather *gather)
{
    int error = co_gather_buffers_open(&gather->buffers, &gather->call);
    if (error != 0) {
        return error;
    }
    error = hold_type(gather);
    if (error == 0) {
        error = co_team_iallgather(&gather->task, gather->call.communicator->team, gather->buffers.mine,
                                   gather->buffers.all, gather->call.block_bytes);
        if (error != 0 && gather->held_type != co_next.datatype_null) {
            co_next.Type_free(&gather->held_type);
        }
    }
    if (error != 0) {
        co_gather_buffers_close(&gather->buffers);
    }
    return error;
}

static int take(const struct co_gather_call *call, const struct co_call_ticket *ticket, MPI_Comm comm,
                MPI_Request *handle)
{
    int error = co_communicator_need_team(call->communicator);
    if (error != 0) {
        return co_failure_raise(comm, "MPI_Iallgather", error);
    }
    struct co_mpi_request *request = co_placeholders_take();
    struct gather *gather = malloc(sizeof *gather);
    error = -ENOMEM;
    if (request != NULL && gather != NULL) {
        *gather = (struct gather){.call = *call, .ticket = *ticket};
        error = start(gather);
    }
    if (error != 0) {
        free(gather);
        if (request != NULL) {
            co_placeholders_give(request);
        }
        co_team_give_up(call->communicator->team, error);
        return co_failure_raise(comm, "MPI_Iallgather", error);
    }
    co_request_start(request, &kind, gather, call->communicator);
    *handle = request->handle;
    return MPI_SUCCESS;
}

int PMPI_Iallgather(const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count,
                    MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
    if (co_layer_is_off()) {
        return co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    }
    struct co_call_ticket ticket = co_call_begin(CO_CALL_IALLGATHER);
    struct co_gather_call call = {.send = send,
                                  .send_count = send_count,
                                  .send_type = send_type,
                                  .receive = receive,
                                  .receive_count = receive_count,
                                  .receive_type = receive_type};
    enum co_reason reason = co_gather_route(&call, comm, CO_CALL_IALLGATHER);
    if (reason == CO_TAKE) {
        if (ticket.began_ns != 0) {
            co_report_sites_add(CO_CALL_IALLGATHER, reason);
        }
        return take(&call, &ticket, comm, handle);
    }
    int code = co_next.Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, handle);
    co_route_end(&ticket, reason, comm, receive_count, receive_type, code);
    return code;
}

CO_EXPORT(Iallgather);
