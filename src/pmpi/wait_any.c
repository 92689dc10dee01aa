// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Waitany and MPI_Testany over arrays with requests of ours. Ours are looked at from a moving start, and ours and
// native ones take turns at being asked first, so that no request starves. Native answers "flag, but index undefined"
// when all that it sees is inactive: that is no hit while one of ours is there. Hot; any thread.
#include "pmpi/requests.h"

// Where the search among ours begins, and who is asked first.
static _Thread_local unsigned turn;

// What find_done says instead of the index of a request of ours that is done.
enum { NONE_OURS = -1, NONE_DONE = -2 };

static int find_done(int count, const MPI_Request handles[])
{
    int found = NONE_OURS;
    unsigned start = turn++;
    for (int i = 0; i < count; i++) {
        int index = (int)((start + (unsigned)i) % (unsigned)count);
        struct co_request *request = co_request_of(handles[index]);
        if (request != NULL) {
            if (co_request_is_done(request)) {
                return index;
            }
            found = NONE_DONE;
        }
    }
    return found;
}

struct any {
    const char *call;
    int count;
    MPI_Request *handles;
    int *index;
    MPI_Status *status;
    int code;
};

static bool try_ours(struct any *any)
{
    int found = find_done(any->count, any->handles);
    if (found < 0) {
        return false;
    }
    MPI_Request *handle = &any->handles[found];
    any->code = co_request_complete(handle, co_request_of(*handle), any->status, any->call);
    *any->index = found;
    return true;
}

static bool try_native(struct any *any)
{
    int flag = 0;
    // Not the program's status: an answer that is no hit must not write there.
    MPI_Status status;
    bool wants_status = any->status != MPI_STATUS_IGNORE;
    if (wants_status) {
        status.MPI_ERROR = any->status->MPI_ERROR;
    }
    any->code =
        co_next.Testany(any->count, any->handles, any->index, &flag, wants_status ? &status : MPI_STATUS_IGNORE);
    if (any->code == MPI_SUCCESS && (!flag || *any->index == MPI_UNDEFINED)) {
        return false;
    }
    if (wants_status) {
        *any->status = status;
    }
    return true;
}

// One round over both sides.
static bool try_both(struct any *any)
{
    if (turn % 2 == 0) {
        return try_ours(any) || try_native(any);
    }
    return try_native(any) || try_ours(any);
}

static bool has_ours(int count, const MPI_Request handles[])
{
    return co_requests_are_given(count, handles) && find_done(count, handles) != NONE_OURS;
}

int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
    if (!co_requests_exist() || index == NULL || !has_ours(count, handles)) {
        return co_next_mpi_get()->Waitany(count, handles, index, status);
    }
    struct any any = {"MPI_Waitany", count, handles, index, status, MPI_SUCCESS};
    struct co_wait wait = co_request_wait_of_any(count, handles, "MPI_Waitany");
    while (!try_both(&any)) {
        co_engine_wait_turn(co_layer.engine, &wait);
    }
    return any.code;
}

int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    if (!co_requests_exist() || index == NULL || flag == NULL || !has_ours(count, handles)) {
        return co_next_mpi_get()->Testany(count, handles, index, flag, status);
    }
    struct any any = {"MPI_Testany", count, handles, index, status, MPI_SUCCESS};
    *flag = try_both(&any);
    if (!*flag) {
        co_engine_glance(co_layer.engine);
        *flag = try_ours(&any);
    }
    if (!*flag) {
        *index = MPI_UNDEFINED;
    }
    return any.code;
}

CO_EXPORT(Waitany);
CO_EXPORT(Testany);
