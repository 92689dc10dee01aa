// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Wait and MPI_Waitall. Ours are finished first, with native progress in every turn; then native finishes the
// rest, with our engine in its progress loop: neither side can wait for the other in vain. Native sees placeholders
// as inactive requests, so arrays are handed to it as they are. Hot; any thread.
#include "pmpi/requests.h"

int PMPI_Wait(MPI_Request *handle, MPI_Status *status)
{
    if (co_requests_exist() && handle != NULL) {
        struct co_request *request = co_request_of(*handle);
        if (request != NULL) {
            co_request_wait(request, "MPI_Wait");
            return co_request_complete(handle, request, status, "MPI_Wait");
        }
    }
    return co_next_mpi_get()->Wait(handle, status);
}

// Until all of ours in the array are done; how many there are.
static int wait_for_ours(int count, const MPI_Request handles[], const char *call)
{
    int ours = 0;
    for (int i = 0; i < count; i++) {
        struct co_request *request = co_request_of(handles[i]);
        if (request != NULL) {
            co_request_wait(request, call);
            ours++;
        }
    }
    return ours;
}

int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    int ours = !co_requests_exist() || handles == NULL ? 0 : wait_for_ours(count, handles, "MPI_Waitall");
    if (ours == 0) {
        return co_next_mpi_get()->Waitall(count, handles, statuses);
    }
    int code = ours == count ? MPI_SUCCESS : co_next.Waitall(count, handles, statuses);
    return co_requests_complete_all(count, handles, statuses, code, "MPI_Waitall");
}

CO_EXPORT(Wait);
CO_EXPORT(Waitall);
