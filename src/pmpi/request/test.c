// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Test and MPI_Testall. A test that fails moves both the engine and native MPI once, so that a program that only
// tests gets there. Testall is all or nothing: ours are looked at without being consumed, then native decides.
// Hot; any thread.
#include "pmpi/request/requests.h"

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

enum ours { OURS_NONE, OURS_DONE, OURS_PENDING };

static enum ours look_at_ours(int count, const MPI_Request handles[])
{
    enum ours found = OURS_NONE;
    for (int i = 0; i < count; i++) {
        struct co_mpi_request *request = co_request_of(handles[i]);
        if (request != NULL) {
            found = OURS_DONE;
            if (!co_request_poll(request)) {
                return OURS_PENDING;
            }
        }
    }
    return found;
}

int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
    enum ours ours = OURS_NONE;
    if (co_requests_exist() && flag != NULL && co_requests_are_given(count, handles)) {
        ours = look_at_ours(count, handles);
    }
    if (ours == OURS_PENDING) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    int code = co_next_mpi_get()->Testall(count, handles, flag, statuses);
    // An error consumes as a success does: native has completed what it could.
    if (ours == OURS_DONE && (*flag || code != MPI_SUCCESS)) {
        return co_requests_complete_all(count, handles, statuses, code, "MPI_Testall");
    }
    return code;
}

CO_EXPORT(Test);
CO_EXPORT(Testall);
