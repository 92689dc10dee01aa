// SPDX-License-Identifier: BSD-3-Clause
//
// What the completion calls see of an array. Who tests many requests does it again and again, mostly in vain, and
// mostly with the same array: what was seen of one in vain is kept, with a copy of its handles, and holds until
// something of ours ends. Then looking costs a comparison of handles, and not a way to each request. Hot; any thread.
#include <string.h>

#include "base/plain_counters.h"
#include "pmpi/request/requests.h"

// Of 8, four arrays of 2,000 that were tested in turn took each other's place in two runs of three: 13 and 19 us a
// call, and not 0.5.
#define ARRAYS 64
#define HANDLES_LEAST 8 // fewer are looked at in less time
#define HANDLES_MOST 4096

struct array {
    struct co_trylock lock;
    struct co_request_look look;
    int count;              // 0: nothing is kept
    uint64_t ends, renewed; // before the look
    MPI_Request handles[HANDLES_MOST];
};

static struct array arrays[ARRAYS];
// What is seen in vain says the same until one of ours ends, wherever that happens, or is freed, whose handle may then
// be of another kind. One that is inactive may be over as soon as it has started, and a proxy tells nobody of its ends:
// with such requests nothing is kept. Handles that are ours stay ours; others may become it when there are more.
static struct co_request_look scan(int count, const MPI_Request handles[], bool *may_be_kept)
{
    struct co_request_look look = {.done = -1};
    MPI_Request null = co_next.request_null;
    int i = 0;
    for (; i < count && look.done < 0 && handles[i] != CO_NO_HANDLE; i++) {
        const struct co_mpi_request *request = handles[i] == null ? NULL : co_request_handles_find(handles[i]);
        const struct co_request_kind *kind = request == NULL ? NULL : co_load_acquire(&request->kind); // acquire E1
        if (kind != NULL) {
            look.has_ours = true;
            look.done = co_request_is_done(request) ? i : -1;
        } else if (request == NULL) {
            look.has_natives = look.has_natives || handles[i] != null;
        }
        *may_be_kept = *may_be_kept && (request == NULL || (kind != NULL && !kind->ends_untold));
    }
    bool are_given = i >= count || co_requests_are_given(count - i, handles + i);
    *may_be_kept = *may_be_kept && look.done < 0 && are_given;
    return are_given ? look : (struct co_request_look){.done = -1};
}

static bool is_the_same(const struct array *array, int count, const MPI_Request handles[], uint64_t ends,
                        uint64_t renewed)
{
    return array->count == count && array->renewed == renewed && (array->ends == ends || !array->look.has_ours) &&
           memcmp(array->handles, handles, (size_t)count * sizeof handles[0]) == 0;
}

static struct co_request_look look_or_recall(struct array *array, int count, const MPI_Request handles[])
{
    uint64_t ends = co_engine_ends(co_process.engine); // what ends meanwhile makes it old
    uint64_t renewed =
        co_load_relaxed(&co_request_handles_renewed); // relaxed: who has a handle has it from who counted
    if (is_the_same(array, count, handles, ends, renewed)) {
        return array->look;
    }
    bool may_be_kept = true;
    struct co_request_look look = scan(count, handles, &may_be_kept);
    if (may_be_kept) {
        array->look = look;
        array->count = count;
        array->ends = ends;
        array->renewed = renewed;
        memcpy(array->handles, handles, (size_t)count * sizeof handles[0]);
    }
    return look;
}

struct co_request_look co_requests_look(int count, const MPI_Request handles[])
{
    struct array *array = &arrays[co_mix_bits_fast((uint64_t)(uintptr_t)handles >> 3) % ARRAYS];
    if (handles == NULL) {
        return (struct co_request_look){.done = -1};
    }
    if (count < HANDLES_LEAST || count > HANDLES_MOST || !co_plain_lock_try(&array->lock)) {
        return scan(count, handles, &(bool){true});
    }
    struct co_request_look look = look_or_recall(array, count, handles);
    co_plain_lock_drop(&array->lock);
    return look;
}
