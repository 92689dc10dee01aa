// SPDX-License-Identifier: BSD-3-Clause
//
// Starting persistent requests, of whatever kind, and their end.
#include "pmpi/request/persistent.h"

#include "pmpi/life/failure.h"
#include "pmpi/report/message_counts.h"

void co_persistent_release(struct co_persistent *persistent)
{
    struct co_communicator *communicator = persistent->communicator;
    persistent->kind->release(persistent);
    co_communicator_drop(communicator);
}

int co_persistent_free(MPI_Request *handle, struct co_mpi_request *request)
{
    if (request->persistent == NULL) { // completed before, by another copy of the handle
        return co_failure_raise_code(co_next.comm_null, "MPI_Request_free", MPI_ERR_REQUEST);
    }
    co_persistent_release(request->persistent);
    request->persistent = NULL;
    *handle = co_next.request_null;
    co_request_handles_give(request);
    return MPI_SUCCESS;
}

static bool is_active(const struct co_mpi_request *request)
{
    return co_load_acquire(&request->kind) != NULL; // acquire E1
}

static void release_left(struct co_mpi_request *request, void *arg)
{
    struct co_persistent *persistent = request->persistent;
    (void)arg;
    if (persistent == NULL) {
        return;
    }
    request->persistent = NULL;
    if (!is_active(request)) {
        co_persistent_release(persistent);
    } else if (persistent->kind->abandon != NULL) {
        persistent->kind->abandon(persistent);
    }
}

void co_persistent_release_all(void)
{
    co_request_handles_visit(release_left, NULL);
}

static int start(struct co_mpi_request *request, const char *call)
{
    struct co_persistent *persistent = request->persistent;
    if (persistent == NULL || is_active(request)) {
        return co_failure_raise_code(co_next.comm_null, call, MPI_ERR_REQUEST);
    }
    int error = persistent->kind->start(request);
    return error == 0 ? MPI_SUCCESS : co_failure_raise(persistent->communicator->comm, call, error);
}

// Collectives are counted as such.
static bool is_message(const struct co_mpi_request *request)
{
    return request->persistent == NULL || request->persistent->kind->is_message;
}

static size_t bytes_of(const struct co_mpi_request *request)
{
    return request->persistent == NULL ? 0 : request->persistent->bytes;
}

// A program's mistake that native's MPI_Start lets pass, and its MPI_Startall does not: the operation that is under way
// is the one.
static bool is_under_way(const struct co_mpi_request *request)
{
    return !is_message(request) && is_active(request);
}

int PMPI_Start(MPI_Request *handle)
{
    struct co_mpi_request *request = handle == NULL ? NULL : co_request_behind(*handle);
    if (request == NULL) {
        return co_message_declined_handle(CO_MESSAGE_Start, co_next_mpi_get()->Start(handle));
    }
    if (is_under_way(request)) {
        return MPI_SUCCESS;
    }
    if (is_message(request)) {
        co_message_taken(CO_MESSAGE_Start, bytes_of(request));
    }
    return start(request, "MPI_Start");
}

// Native refuses an array with a null handle, and starts nothing.
static bool is_natives(int count, const MPI_Request handles[])
{
    bool has_ours = false;
    for (int i = 0; handles != NULL && i < count; i++) {
        if (handles[i] == co_next.request_null) {
            return true;
        }
        has_ours = has_ours || co_request_behind(handles[i]) != NULL;
    }
    return !has_ours;
}

// Of what is ours: nothing is started of an array in which one cannot be.
static bool are_startable(int count, const MPI_Request handles[])
{
    for (int i = 0; i < count; i++) {
        const struct co_mpi_request *request = co_request_behind(handles[i]);
        if (request != NULL && (request->persistent == NULL || is_active(request))) {
            return false;
        }
    }
    return true;
}

int PMPI_Startall(int count, MPI_Request handles[])
{
    if (co_process_is_off() || is_natives(count, handles)) {
        return co_message_declined_handle(CO_MESSAGE_Startall, co_next_mpi_get()->Startall(count, handles));
    }
    if (!are_startable(count, handles)) {
        return co_failure_raise_code(co_next.comm_world, "MPI_Startall", MPI_ERR_REQUEST);
    }
    int code = MPI_SUCCESS;
    bool has_messages = false;
    size_t bytes = 0;
    for (int i = 0; code == MPI_SUCCESS && i < count; i++) {
        // Never a handle of ours to native: it would take it as started.
        struct co_mpi_request *request = co_request_behind(handles[i]);
        if (request == NULL) {
            code = co_next.Startall(1, &handles[i]);
            continue;
        }
        has_messages = has_messages || is_message(request);
        bytes += bytes_of(request);
        code = start(request, "MPI_Startall");
    }
    if (has_messages) {
        co_message_taken(CO_MESSAGE_Startall, bytes);
    }
    return code;
}
