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
    struct co_request_look look;
    int code;
};

static bool look_at(struct some *some)
{
    some->look = co_requests_look(some->count, some->handles);
    return some->look.has_ours;
}

static bool has_ours(struct some *some)
{
    return some->outcount != NULL && some->indices != NULL && look_at(some);
}

static void append_ours(struct some *some)
{
    struct co_request_failure failure = {.error = 0};
    for (int i = some->look.done; i < some->count; i++) {
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

// Behind one of ours that is done may be any.
static void collect_natives(struct some *some)
{
    *some->outcount = 0;
    some->code = MPI_SUCCESS;
    if (some->look.has_natives || some->look.done >= 0) {
        some->code = co_next.Testsome(some->count, some->handles, some->outcount, some->indices, some->statuses);
    }
    if (*some->outcount == MPI_UNDEFINED) {
        *some->outcount = 0;
    }
}

// Completes what is done on both sides; true: at least one, or an error of native.
static bool collect(struct some *some)
{
    collect_natives(some);
    int native = *some->outcount;
    if (some->code != MPI_SUCCESS && some->code != MPI_ERR_IN_STATUS && native == 0) {
        return true;
    }
    if (some->look.done >= 0) {
        append_ours(some);
        merge(some, native);
    }
    return *some->outcount > 0;
}

int PMPI_Waitsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct some some = {.call = "MPI_Waitsome",
                        .count = count,
                        .handles = handles,
                        .outcount = outcount,
                        .indices = indices,
                        .statuses = statuses};
    if (!co_requests_exist() || !has_ours(&some)) {
        return co_next_mpi_get()->Waitsome(count, handles, outcount, indices, statuses);
    }
    if (collect(&some)) {
        return some.code;
    }
    struct co_wait wait = co_request_wait_of_any(count, handles, "MPI_Waitsome");
    do {
        co_engine_wait_turn(co_process.engine, &wait);
        look_at(&some);
    } while (!collect(&some));
    return some.code;
}

int PMPI_Testsome(int count, MPI_Request handles[], int *outcount, int indices[], MPI_Status statuses[])
{
    struct some some = {.call = "MPI_Testsome",
                        .count = count,
                        .handles = handles,
                        .outcount = outcount,
                        .indices = indices,
                        .statuses = statuses};
    if (!co_requests_exist() || !has_ours(&some)) {
        return co_next_mpi_get()->Testsome(count, handles, outcount, indices, statuses);
    }
    // Also where native's are done, again and again: ours are to move.
    if (some.look.done < 0 && co_engine_poll(co_process.engine) > 0) {
        look_at(&some);
    }
    if (!collect(&some)) {
        co_progress_native_in_vain(); // which it does not do itself where it sees no request of its own
    }
    return some.code;
}
