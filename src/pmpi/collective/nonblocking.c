// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a nonblocking collective above the engine.
#include "pmpi/collective/nonblocking.h"

#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/datatype/datatypes.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/report_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static enum co_reason open_own_team(struct co_nonblocking *operation, enum co_reason reason)
{
    return co_communicator_open_own_team(operation->communicator, reason, &operation->team);
}

static void close_team(const struct co_nonblocking *operation)
{
    co_team_close(operation->team);
}

static void give_up(const struct co_nonblocking *operation, int error)
{
    co_team_give_up(operation->team, error);
}

static void forget(const struct co_nonblocking *operation)
{
    co_task_release(operation->task);
}

const struct co_nonblocking_carrier co_nonblocking_by_engine = {
    .open_own_team = open_own_team, .close_team = close_team, .give_up = give_up, .forget = forget};

bool co_nonblocking_is_done(const void *operation)
{
    return co_task_is_done(((const struct co_nonblocking *)operation)->task);
}

int co_nonblocking_settle(void *operation)
{
    const struct co_nonblocking *nonblocking = operation;
    int error =
        nonblocking->kind->unpack(operation, co_task_result(nonblocking->task), co_task_bytes(nonblocking->task));
    co_call_end(&nonblocking->ticket, CO_TAKE, error == 0 ? nonblocking->bytes : 0,
                error == 0 ? MPI_SUCCESS : MPI_ERR_OTHER);
    return error;
}

// As native leaves it after a nonblocking collective (measured): nothing received from anybody in particular.
void co_nonblocking_fill_status(const void *operation, MPI_Status *status)
{
    (void)operation;
    status->MPI_SOURCE = 0;
    status->MPI_TAG = 0;
    co_status_set_bytes(status, 0, false);
}

void co_nonblocking_let_go(struct co_nonblocking *operation)
{
    operation->kind->close(operation);
    while (operation->held > 0) {
        co_next.Type_free(&operation->held_types[--operation->held]);
    }
    free(operation->held_arrays);
    free(operation);
}

void co_nonblocking_rest(void *operation)
{
    (void)operation;
}

void co_nonblocking_release(void *operation)
{
    forget(operation);
    co_nonblocking_let_go(operation);
}

int co_nonblocking_hold_type(struct co_nonblocking *operation, MPI_Datatype *type)
{
    MPI_Datatype held;
    if (co_datatype_predefined(*type) != NULL) {
        return 0;
    }
    int error = co_datatype_hold(*type, &held);
    if (error == 0) {
        operation->held_types[operation->held++] = *type = held;
    }
    return error;
}

struct co_nonblocking *co_nonblocking_copy(const struct co_nonblocking *operation)
{
    struct co_nonblocking *copy = malloc(operation->kind->operation_bytes);
    if (copy != NULL) {
        memcpy((void *)copy, operation, operation->kind->operation_bytes);
        copy->held = 0;
        copy->held_arrays = NULL;
    }
    return copy;
}

static struct co_nonblocking *start(const struct co_nonblocking *template, int *error)
{
    struct co_nonblocking *operation = co_nonblocking_copy(template);
    if (operation == NULL) {
        *error = -ENOMEM;
        return NULL;
    }
    const struct co_nonblocking_kind *kind = operation->kind;
    operation->team = operation->communicator->team;
    *error = kind->start(operation);
    if (*error != 0) {
        co_nonblocking_let_go(operation);
        return NULL;
    }
    return operation;
}

// Of a call whose start has failed: its site has counted it, and nothing will complete it.
static int fail(const struct co_nonblocking *operation, MPI_Comm comm, int error)
{
    co_call_end(&operation->ticket, CO_TAKE, 0, MPI_ERR_OTHER);
    return co_failure_raise(comm, operation->kind->request.call, error);
}

int co_nonblocking_take(const struct co_nonblocking *operation, MPI_Comm comm, MPI_Request *handle)
{
    const struct co_nonblocking_kind *kind = operation->kind;
    struct co_communicator *communicator = operation->communicator;
    if (operation->ticket.began_ns != 0) {
        co_report_sites_add(operation->ticket.call, CO_TAKE);
    }
    int error = co_communicator_need_team(communicator);
    if (error != 0) {
        return fail(operation, comm, error);
    }
    struct co_mpi_request *request = co_request_handles_take();
    struct co_nonblocking *started = NULL;
    error = -ENOMEM;
    if (request != NULL) {
        started = start(operation, &error);
    }
    if (started == NULL) {
        if (request != NULL) {
            co_request_handles_give(request);
        }
        co_team_give_up(communicator->team, error);
        return fail(operation, comm, error);
    }
    co_request_start(request, &kind->request, started, communicator);
    *handle = request->handle;
    return MPI_SUCCESS;
}
