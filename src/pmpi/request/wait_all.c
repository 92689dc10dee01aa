// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Waitall and MPI_Testall. Ours are finished first, with native progress in every turn; then native finishes the
// rest, with our engine in its progress loop: neither side can wait for the other in vain. Native sees our handles as
// inactive requests, so arrays are handed to it as they are.
//
// When a request has failed, native waits for the others no longer, for they may need what the program does about it.
// Whether one of native's own has failed is learnt only by completing it. So an array of which ours take long, or fail,
// is completed one by one, each as it is done, until one fails. Testall is all or nothing: ours are looked at without
// being consumed, then native decides. Hot; any thread.
#include "base/clock.h"
#include "pmpi/p2p/freed_receives.h"
#include "pmpi/request/requests.h"

#include <stdlib.h>

#define PATIENCE_NS (50 * CO_NS_PER_MS) // with one of ours, before the others are looked at
#define PATIENCE_PER_LOOK 16            // times what that has taken
#define FEW_BYTES 128                   // of marks; more are allocated

struct all {
    int count;
    MPI_Request *handles;
    MPI_Status *statuses;
    struct co_request_failure failure; // the first of ours
    int code;                          // native's
    uint64_t patience_ns;
    struct co_wait wait; // for one of ours
};

static bool has_failed(const struct all *all)
{
    return all->failure.error != 0 || all->code != MPI_SUCCESS;
}

static bool gets_done_soon(struct all *all, const struct co_mpi_request *request)
{
    return co_request_wait_for(request, &all->wait, "MPI_Waitall", all->patience_ns);
}

// From the front of the array: ours are completed as they get done, and what has no status is left out. Where it ends.
static int complete_front(struct all *all)
{
    MPI_Request done = co_request_handles_done(), null = co_next.request_null;
    struct co_request_walk walk;
    int i = 0;
    co_freed_receives_finish();
    co_request_walk_begin(&walk, all->count, all->handles);
    while (i < all->count && !has_failed(all)) {
        bool has_ended = all->handles[i] == done || all->handles[i] == null; // a window of sends is full of these
        struct co_mpi_request *request = has_ended ? NULL : co_request_walk_find(&walk, i);
        co_request_walk_pass(&walk, i);
        if (request != NULL && co_load_acquire(&request->kind) != NULL) { // acquire E1
            if (!co_request_is_done(request) && !gets_done_soon(all, request)) {
                break;
            }
            co_request_complete_entry(&all->handles[i], request, all->statuses, i, &all->failure);
        } else if (has_ended && all->statuses == MPI_STATUSES_IGNORE) {
            all->handles[i] = null;
        } else {
            break;
        }
        i++;
    }
    return i;
}

// Whether all of ours from `first` on get done soon, and without an error.
static bool are_done_soon(struct all *all, int first)
{
    for (int i = first; i < all->count; i++) {
        struct co_mpi_request *request = co_request_of(all->handles[i]);
        if (request != NULL && (!gets_done_soon(all, request) || co_request_has_failed(request))) {
            return false;
        }
    }
    return true;
}

// All of ours, which are done.
static void complete_rest(int count, MPI_Request handles[], MPI_Status statuses[], struct co_request_failure *failure)
{
    for (int i = 0; i < count; i++) {
        struct co_mpi_request *request = co_request_of(handles[i]);
        if (request != NULL) {
            co_request_complete_entry(&handles[i], request, statuses, i, failure);
        }
    }
}

// Those from `first` to before `end`, of which ours are done.
static void complete(struct all *all, int first, int end)
{
    int count = end - first;
    MPI_Status *statuses = all->statuses == MPI_STATUSES_IGNORE ? all->statuses : all->statuses + first;
    int code = co_next.Waitall(count, all->handles + first, statuses);
    all->code = code != MPI_SUCCESS ? code : all->code;
    complete_rest(count, all->handles + first, statuses, &all->failure);
}

// A generalized request is asked for its status each time that it is looked at: programs that have some, and count, are
// left to native, and one of theirs that has failed is found when ours are done.
static bool is_over(MPI_Request handle)
{
    struct co_mpi_request *request = co_request_of(handle);
    int flag = 0;
    if (request != NULL) {
        return co_request_is_done(request);
    }
    return !co_requests_generalized() && co_next.Request_get_status(handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           flag;
}

// A mark for each entry that is completed.
static bool is_marked(const unsigned char *marks, int i)
{
    return (marks[i / 8] >> i % 8 & 1) != 0;
}

static void mark(unsigned char *marks, int i)
{
    marks[i / 8] |= (unsigned char)(1U << i % 8);
}

static void complete_marked(struct all *all, int first, int end, unsigned char *marks)
{
    complete(all, first, end);
    for (int i = first; i < end; i++) {
        mark(marks, i);
    }
}

// Completes what is done, neighbours together, so that native raises one error for them.
static void sweep(struct all *all, int first, unsigned char *marks)
{
    int begin = first;
    uint64_t start_ns = co_clock_now_ns();
    for (int i = first; i <= all->count; i++) {
        if (i < all->count && !is_marked(marks, i) && is_over(all->handles[i])) {
            continue;
        }
        if (i > begin) {
            complete_marked(all, begin, i, marks);
        }
        begin = i + 1;
    }
    uint64_t patience_ns = PATIENCE_PER_LOOK * (co_clock_now_ns() - start_ns);
    all->patience_ns = patience_ns > PATIENCE_NS ? patience_ns : PATIENCE_NS;
}

// Completes ours as they get done, up to one that takes long. Where that is.
static int complete_ours(struct all *all, int first, unsigned char *marks)
{
    int i = first;
    while (i < all->count && !has_failed(all)) {
        struct co_mpi_request *request = is_marked(marks, i) ? NULL : co_request_of(all->handles[i]);
        if (request != NULL) {
            if (!gets_done_soon(all, request)) {
                break;
            }
            complete_marked(all, i, i + 1, marks);
        }
        i++;
    }
    return i;
}

// Where native's alone are left.
static void complete_native(struct all *all, int first, unsigned char *marks)
{
    int i = first;
    while (i < all->count && !has_failed(all)) {
        int end = i;
        while (end < all->count && !is_marked(marks, end)) {
            end++;
        }
        if (end > i) {
            complete_marked(all, i, end, marks);
        }
        i = end + 1;
    }
}

static void complete_one_by_one(struct all *all, int first, unsigned char *marks)
{
    int next = first;
    while (next < all->count && !has_failed(all)) {
        next = complete_ours(all, next, marks);
        if (next < all->count) {
            sweep(all, first, marks);
        }
    }
    complete_native(all, first, marks);
    if (has_failed(all)) {
        sweep(all, first, marks); // what has come meanwhile
    }
    for (int i = first; i < all->count && all->statuses != MPI_STATUSES_IGNORE; i++) {
        if (!is_marked(marks, i)) {
            all->statuses[i].MPI_ERROR = MPI_ERR_PENDING;
        }
    }
}

// Without memory for marks the failure of one is seen when the others are done.
static void complete_slowly(struct all *all, int first)
{
    unsigned char few[FEW_BYTES] = {0};
    size_t bytes = (size_t)all->count / 8 + 1;
    unsigned char *marks = bytes <= sizeof few ? few : calloc(1, bytes);
    if (marks != NULL) {
        complete_one_by_one(all, first, marks);
    } else {
        for (int i = first; i < all->count; i++) {
            struct co_mpi_request *request = co_request_of(all->handles[i]);
            if (request != NULL) {
                co_request_wait(request, "MPI_Waitall");
            }
        }
        complete(all, first, all->count);
    }
    if (marks != few) {
        free(marks);
    }
}

int PMPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
    if (!co_requests_exist() || !co_requests_are_given(count, handles)) {
        return co_next_mpi_get()->Waitall(count, handles, statuses);
    }
    struct all all = {
        .count = count, .handles = handles, .statuses = statuses, .code = MPI_SUCCESS, .patience_ns = PATIENCE_NS};
    int front = complete_front(&all);
    if (front < count && !has_failed(&all) && are_done_soon(&all, front)) {
        complete(&all, front, count);
    } else if (front < count) {
        complete_slowly(&all, front);
    }
    return co_request_conclude_array(&all.failure, all.code, "MPI_Waitall");
}

enum ours { OURS_NONE, OURS_DONE, OURS_PENDING };

// Where an array had one that was under way when it was last tested: mostly it still is. A hint that need not be right.
#define PENDING_HINTS 64
static _Atomic int pending_hints[PENDING_HINTS];

static _Atomic int *hint_of(const MPI_Request handles[])
{
    return &pending_hints[co_mix_bits_fast((uint64_t)(uintptr_t)handles >> 3) % PENDING_HINTS];
}

static struct co_mpi_request *pending_at(const MPI_Request handles[], int i)
{
    struct co_mpi_request *request = co_request_of(handles[i]);
    return request != NULL && !co_request_is_done(request) ? request : NULL;
}

// The first from `from` on that is under way, or `count`.
static int find_pending(int count, const MPI_Request handles[], int from)
{
    int i = from;
    while (i < count && pending_at(handles, i) == NULL) {
        i++;
    }
    return i;
}

static enum ours look_at_ours(int count, const MPI_Request handles[])
{
    _Atomic int *hint = hint_of(handles);
    int at = co_load_relaxed(hint), from = 0; // relaxed: looked at again
    bool is_good = handles != NULL && at < count && pending_at(handles, at) != NULL;
    // A look sees wrong arguments, too, which are native's to report.
    if (is_good ? !co_requests_are_given(count, handles) : !co_requests_look(count, handles).has_ours) {
        return OURS_NONE;
    }
    if (!is_good) {
        at = find_pending(count, handles, 0);
        from = at + 1;
    }
    while (at < count) {
        co_store_relaxed(hint, at); // relaxed: a hint
        if (!co_request_poll(co_request_of(handles[at]))) {
            return OURS_PENDING;
        }
        at = find_pending(count, handles, from);
        from = at + 1;
    }
    return OURS_DONE;
}

int PMPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
    enum ours ours = OURS_NONE;
    if (co_requests_exist() && flag != NULL) {
        ours = look_at_ours(count, handles);
    }
    if (ours == OURS_PENDING) {
        *flag = 0;
        return MPI_SUCCESS;
    }
    int code = co_next_mpi_get()->Testall(count, handles, flag, statuses);
    // An error consumes as a success does: native has completed what it could.
    if (ours == OURS_DONE && (*flag || code != MPI_SUCCESS)) {
        struct co_request_failure failure = {.error = 0};
        complete_rest(count, handles, statuses, &failure);
        return co_request_conclude_array(&failure, code, "MPI_Testall");
    }
    return code;
}
