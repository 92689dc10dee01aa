// SPDX-License-Identifier: BSD-3-Clause
//
// The life of a nonblocking collective above the engine.
#include "pmpi/collective/nonblocking.h"

#include "pmpi/datatype/datatypes.h"
#include "pmpi/life/failure.h"
#include "pmpi/report/report_sites.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool co_nonblocking_is_done(const void *operation)
{
    return co_task_is_done(((const struct co_nonblocking *)operation)->task);
}

int co_nonblocking_settle(void *operation)
{
    const struct co_nonblocking *nonblocking = operation;
    int error = nonblocking->kind->deliver(operation, co_task_result(nonblocking->task));
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
    status->_cancelled = 0;
    status->_ucount = 0;
}

// What the start has taken but for the task.
static void let_go(struct co_nonblocking *operation)
{
    operation->kind->close(operation);
    if (operation->held_type != co_next.datatype_null) {
        co_next.Type_free(&operation->held_type);
    }
    free(operation);
}

void co_nonblocking_release(void *operation)
{
    co_task_release(((struct co_nonblocking *)operation)->task);
    let_go(operation);
}

int co_nonblocking_hold_type(struct co_nonblocking *operation, MPI_Datatype *type)
{
    int error = co_datatype_hold(*type, &operation->held_type);
    if (error == 0) {
        *type = operation->held_type;
    }
    return error;
}

static struct co_nonblocking *start(const struct co_nonblocking *template, int *error)
{
    const struct co_nonblocking_kind *kind = template->kind;
    struct co_nonblocking *operation = malloc(kind->operation_bytes);
    if (operation == NULL) {
        *error = -ENOMEM;
        return NULL;
    }
    memcpy((void *)operation, template, kind->operation_bytes);
    operation->held_type = co_next.datatype_null;
    *error = kind->start(operation);
    if (*error != 0) {
        let_go(operation);
        return NULL;
    }
    return operation;
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
        return co_failure_raise(comm, kind->request.call, error);
    }
    struct co_mpi_request *request = co_placeholders_take();
    struct co_nonblocking *started = NULL;
    error = -ENOMEM;
    if (request != NULL) {
        started = start(operation, &error);
    }
    if (started == NULL) {
        if (request != NULL) {
            co_placeholders_give(request);
        }
        co_team_give_up(communicator->team, error);
        return co_failure_raise(comm, kind->request.call, error);
    }
    co_request_start(request, &kind->request, started, communicator);
    *handle = request->handle;
    return MPI_SUCCESS;
}
