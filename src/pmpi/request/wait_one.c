// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Wait and MPI_Test. A test that fails moves both the engine and native MPI once, so that a program that only tests
// gets there. Hot; any thread.
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

int PMPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    if (co_requests_exist() && handle != NULL && flag != NULL) {
        struct co_mpi_request *request = co_request_of(*handle);
        if (request != NULL) {
            *flag = co_request_poll(request);
            return *flag ? co_request_complete(handle, request, status, "MPI_Test") : MPI_SUCCESS;
        }
    }
    return co_next_mpi_get()->Test(handle, flag, status);
}
