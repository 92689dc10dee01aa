// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Waitsome and MPI_Testsome over arrays with requests of ours. Indices and statuses are packed: entry i of both
// belongs to the i-th completion, in the order of the array, as Open MPI gives them and programs expect. Native's
// "undefined" only means that it sees nothing active. Hot; any thread.
#include <stdlib.h>
#include <string.h>

#include "pmpi/life/progress_hook.h"
#include "pmpi/request/requests.h"

struct some {
    const char *call;
    int count;
    MPI_Request *handles;
    int *outcount;
    int *indices;
    MPI_Status *statuses;
    int code;
};

static bool has_ours(const struct some *some)
{
    int count = some->outcount != NULL && some->indices != NULL ? some->count : 0;
    const MPI_Request *handles = some->handles;
    if (!co_requests_are_given(count, handles)) {
        return false;
    }
    for (int i = 0; i < count; i++) {
        if (co_request_of(handles[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void append_ours(struct some *some)
{
    struct co_request_failure failure = {.error = 0};
    for (int i = 0; i < some->count; i++) {
        struct co_mpi_request *request = co_request_of(some->handles[i]);
        if (request != NULL && co_request_is_done(request)) {
            int at = (*some->outcount)++;
            some->indices[at] = i;
            co_request_complete_entry(&some->handles[i], request, some->statuses, at, &failure);
        }
    }
    some->code = co_request_conclude_array(&failure, some->code, some->call);
}

// Native's `first` entries and ours behind them, each in order, become one. Without memory they stay as they are, which
// MPI allows.
static void merge(const struct some *some, int first)
{
    int left = first - 1, right = *some->outcount - 1;
    bool has_statuses = some->statuses != MPI_STATUSES_IGNORE;
    if (first == 0 || right < first || some->indices[left] < some->indices[first]) {
        return;
    }
    size_t ours = (size_t)(right - left);
    MPI_Status *statuses = malloc(ours * (sizeof *statuses + sizeof *some->indices));
    if (statuses == NULL) {
        return;
    }
    int *indices = (int *)(statuses + ours);
    memcpy(indices, some->indices + first, ours * sizeof *indices);
    if (has_statuses) {
        memcpy(statuses, some->statuses + first, ours * sizeof *statuses);
    }
    for (int to = right, own = (int)ours - 1; own >= 0; to--) {
        bool is_own = left < 0 || indices[own] > some->indices[left];
        some->indices[to] = is_own ? indices[own] : some->indices[left];
        if (has_statuses) {
            some->statuses[to] = is_own ? statuses[own] : some->statuses[left];
        }
        own -= is_own;
        left -= !is_own;
    }
    free(statuses);
}

// Completes what is done on both sides; true: at least one, or an error of native.
static bool collect(struct some *some)
{
    some->code = co_next.Testsome(some->count, some->handles, some->outcount, some->indices, some->statuses);
    if (*some->outcount == MPI_UNDEFINED) {
        *some->outcount = 0;
    }
    if (some->code != MPI_SUCCESS && some->code != MPI_ERR_IN_STATUS && *some->outcount == 0) {
        return true;
    }
    int native = *some->outcount;
    append_ours(some);
    merge(some, native);
    return *some->outcount > 0;
}

int PMPI_Waitsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct some some = {"MPI_Waitsome", count, handles, outcount, indices, statuses, MPI_SUCCESS};
    if (!co_requests_exist() || !has_ours(&some)) {
        return co_next_mpi_get()->Waitsome(count, handles, outcount, indices, statuses);
    }
    struct co_wait wait = co_request_wait_of_any(count, handles, "MPI_Waitsome");
    while (!collect(&some)) {
        co_engine_wait_turn(co_process.engine, &wait);
    }
    return some.code;
}

int PMPI_Testsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct some some = {"MPI_Testsome", count, handles, outcount, indices, statuses, MPI_SUCCESS};
    if (!co_requests_exist() || !has_ours(&some)) {
        return co_next_mpi_get()->Testsome(count, handles, outcount, indices, statuses);
    }
    co_engine_poll(co_process.engine);
    if (!collect(&some)) {
        co_progress_native_in_vain(); // which it does not do itself where it sees no request of its own
    }
    return some.code;
}

CO_EXPORT(Waitsome);
CO_EXPORT(Testsome);
