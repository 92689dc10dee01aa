// SPDX-License-Identifier: BSD-3-Clause
//
// The completion calls on a single handle besides wait and test. Fortran indices and generalized requests need nothing:
// such a handle is a native request to them. Any thread.
#include "pmpi/life/failure.h"
#include "pmpi/request/persistent.h"
#include "pmpi/request/requests.h"

static _Atomic bool has_generalized;

bool co_requests_generalized(void)
{
    return co_load_relaxed(&has_generalized); // relaxed: see below
}

int PMPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    struct co_mpi_request *request = co_requests_exist() ? co_request_of(handle) : NULL;
    if (request == NULL || flag == NULL) {
        return co_next_mpi_get()->Request_get_status(handle, flag, status);
    }
    *flag = co_request_poll(request);
    if (*flag) {
        co_request_peek(request, status);
    }
    return MPI_SUCCESS;
}

int PMPI_Request_free(MPI_Request *handle)
{
    struct co_mpi_request *request = handle == NULL ? NULL : co_request_behind(*handle);
    if (request == NULL) {
        return co_next_mpi_get()->Request_free(handle);
    }
    if (co_request_of(*handle) != NULL) {
        return co_request_free(handle, request);
    }
    return co_persistent_free(handle, request);
}

int PMPI_Cancel(MPI_Request *handle)
{
    struct co_mpi_request *request = handle == NULL ? NULL : co_request_behind(*handle);
    if (request != NULL && co_request_of(*handle) != NULL) {
        return co_request_cancel(request);
    }
    // An inactive one of a message is left alone, as natively.
    if (request != NULL && request->persistent != NULL && !request->persistent->kind->is_message) {
        return co_failure_raise_code(co_next.comm_null, "MPI_Cancel", MPI_ERR_REQUEST);
    }
    return co_next_mpi_get()->Cancel(handle);
}

int PMPI_Grequest_start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *free_state,
                        MPI_Grequest_cancel_function *cancel, void *state, MPI_Request *handle)
{
    co_store_relaxed(&has_generalized, true); // relaxed: whoever waits for it has heard of it
    return co_next_mpi_get()->Grequest_start(query, free_state, cancel, state, handle);
}

int PMPI_Grequest_complete(MPI_Request handle)
{
    return co_next_mpi_get()->Grequest_complete(handle);
}
