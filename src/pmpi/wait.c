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

// From the front of the array: ours are completed as they get done, and what has no status is left out. Where it ends.
static int complete_front(int count, MPI_Request handles[], MPI_Status statuses[], struct co_request_failure *failure)
{
    MPI_Request done = co_placeholders_done(), null = co_next.request_null;
    for (int i = 0; i < count; i++) {
        struct co_request *request = co_request_of(handles[i]);
        if (request != NULL) {
            co_request_wait(request, "MPI_Waitall");
            co_request_complete_entry(&handles[i], request, statuses, i, failure);
        } else if (statuses == MPI_STATUSES_IGNORE && (handles[i] == done || handles[i] == null)) {
            handles[i] = null;
        } else {
            return i;
        }
    }
    return count;
}

// Until all of ours in the array are done; how many there are.
static int wait_for_ours(int count, const MPI_Request handles[])
{
    int ours = 0;
    for (int i = 0; i < count; i++) {
        struct co_request *request = co_request_of(handles[i]);
        if (request != NULL) {
            co_request_wait(request, "MPI_Waitall");
            ours++;
        }
    }
    return ours;
}

int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    struct co_request_failure failure = {.error = 0};
    bool looks = co_requests_exist() && co_requests_are_given(count, handles);
    int front = looks ? complete_front(count, handles, statuses, &failure) : 0;
    if (front > 0 && front == count) {
        return co_request_conclude_array(&failure, MPI_SUCCESS, "MPI_Waitall");
    }
    MPI_Status *others = statuses == MPI_STATUSES_IGNORE ? statuses : statuses + front;
    count -= front;
    handles += front;
    int ours = looks ? wait_for_ours(count, handles) : 0;
    int code = co_next_mpi_get()->Waitall(count, handles, others);
    if (ours > 0) {
        co_requests_complete_rest(count, handles, others, &failure);
    }
    return co_request_conclude_array(&failure, code, "MPI_Waitall");
}

CO_EXPORT(Wait);
CO_EXPORT(Waitall);
