// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Waitany and MPI_Testany over arrays with requests of ours. The first in the array that is done is taken,
// whoever's it is: MPI lets any be taken, but programs lean on the order of Open MPI, which goes by the array. Native
// answers "flag, but index undefined" when all that it sees is inactive: that is no hit while one of ours is there.
// Hot; any thread.
#include "pmpi/life/progress_hook.h"
#include "pmpi/request/requests.h"

struct any {
    const char *call;
    int count;
    MPI_Request *handles;
    int *index;
    MPI_Status *status;
    int code;
};

static bool try_ours(struct any *any, int found)
{
    if (found < 0) {
        return false;
    }
    MPI_Request *handle = &any->handles[found];
    any->code = co_request_complete(handle, co_request_of(*handle), any->status, any->call);
    *any->index = found;
    return true;
}

// Among the first `count` of the array.
static bool try_native(struct any *any, int count)
{
    int flag = 0;
    // Not the program's status: an answer that is no hit must not write there.
    MPI_Status status;
    bool wants_status = any->status != MPI_STATUS_IGNORE;
    if (wants_status) {
        status.MPI_ERROR = any->status->MPI_ERROR;
    }
    any->code = co_next.Testany(count, any->handles, any->index, &flag, wants_status ? &status : MPI_STATUS_IGNORE);
    if (any->code == MPI_SUCCESS && (!flag || *any->index == MPI_UNDEFINED)) {
        return false;
    }
    if (wants_status) {
        *any->status = status;
    }
    return true;
}

// One round over both sides: native is asked for what of its own stands before the first of ours that is done.
static bool try_both(struct any *any, const struct co_request_look *look)
{
    int before = look->done < 0 ? any->count : look->done;
    return (look->has_natives && try_native(any, before)) || try_ours(any, look->done);
}

static bool has_ours(int count, const MPI_Request handles[], struct co_request_look *look)
{
    *look = co_requests_look(count, handles);
    return look->has_ours;
}

int PMPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
    struct co_request_look look;
    if (!co_requests_exist() || index == NULL || !has_ours(count, handles, &look)) {
        return co_next_mpi_get()->Waitany(count, handles, index, status);
    }
    struct any any = {"MPI_Waitany", count, handles, index, status, MPI_SUCCESS};
    if (try_both(&any, &look)) {
        return any.code;
    }
    struct co_wait wait = co_request_wait_of_any(count, handles, "MPI_Waitany");
    do {
        co_engine_wait_turn(co_process.engine, &wait);
        look = co_requests_look(count, handles);
    } while (!try_both(&any, &look));
    return any.code;
}

int PMPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
    struct co_request_look look;
    if (!co_requests_exist() || index == NULL || flag == NULL || !has_ours(count, handles, &look)) {
        return co_next_mpi_get()->Testany(count, handles, index, flag, status);
    }
    struct any any = {"MPI_Testany", count, handles, index, status, MPI_SUCCESS};
    *flag = try_both(&any, &look);
    if (!*flag && co_engine_poll(co_process.engine) > 0) { // what others have moved is seen by the next call
        *flag = try_ours(&any, co_requests_look(count, handles).done);
    }
    if (!*flag) {
        co_progress_native_in_vain(); // which it does not do itself where it sees no request of its own
        *index = MPI_UNDEFINED;
    }
    return any.code;
}
