// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Wait. Hot; any thread.
#include "pmpi/request/requests.h"

int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    if (co_requests_exist() && handle != NULL) {
        struct co_mpi_request *request = co_request_of(*handle);
        if (request != NULL) {
            co_request_wait(request, "MPI_Wait");
            return co_request_complete(handle, request, status, "MPI_Wait");
        }
    }
    return co_next_mpi_get()->Wait(handle, status);
}

CO_EXPORT(Wait);
