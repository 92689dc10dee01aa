// SPDX-License-Identifier: BSD-3-Clause
// The bytes from rank i to rank j of an event follow from its seed, i and, where each gets its own, j.
#include "oracle/collective.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <string.h>

#include "oracle/verdict.h"

#define GUARD 64 // bytes behind and between blocks that nobody may write
#define TAG_RING 1000
#if MPI_VERSION >= 4
#define PLANNED(call) MPI_##call
#elif defined(OPEN_MPI)
#define PLANNED(call) MPIX_##call
#endif

static uint64_t block_seed(const struct co_collective *collective, int from, int to)
{
    return collective->seed + (uint64_t)from * 7919 + (uint64_t)to * 104729;
}

static bool is_to_each(const struct co_collective *collective)
{
    return collective->kind == CO_SCRIPT_ALLTOALL || collective->kind == CO_SCRIPT_IALLTOALL;
}

static bool is_unequal(const struct co_collective *collective)
{
    return collective->kind == CO_SCRIPT_ALLGATHERV || collective->kind == CO_SCRIPT_IALLGATHERV ||
           collective->kind == CO_SCRIPT_ALLGATHERV_INIT;
}

// Blocks with gaps between them; unequal ones backwards and every third empty, but for odd seeds.
static void place_blocks(struct co_collective *collective)
{
    int size = collective->group->size, at = 0;
    for (int turn = 0; turn < size; turn++) {
        int of = is_unequal(collective) ? size - 1 - turn : turn;
        collective->counts[of] = (int)collective->bytes;
        if (is_unequal(collective) && collective->seed % 2 == 0) {
            collective->counts[of] = of % 3 == 2 ? 0 : (int)collective->bytes * (of % 4 + 1) / 4;
        }
        collective->offsets[of] = at;
        at += collective->counts[of] + (is_unequal(collective) ? GUARD : 0);
    }
    co_parcel_open(&collective->all, 0, (size_t)at + GUARD);
}

static char *block_of(const struct co_collective *collective, int rank)
{
    return (char *)collective->all.memory + collective->offsets[rank];
}

// Every byte of the result, and each gap as co_parcel_open has marked it.
static bool holds_blocks(const struct co_collective *collective)
{
    const struct co_script_group *group = collective->group;
    struct co_collective fresh = *collective;
    place_blocks(&fresh);
    for (int from = 0; from < group->size; from++) {
        co_test_pattern_fill(block_of(&fresh, from), (size_t)collective->counts[from],
                             block_seed(collective, from, is_to_each(collective) ? group->rank : 0));
    }
    bool holds = memcmp(fresh.all.memory, collective->all.memory, collective->all.bytes) == 0;
    co_parcel_close(&fresh.all);
    return holds;
}

// The own block, or those for all, in place or not. What is to be passed as send buffer.
static const void *fill_blocks(struct co_collective *collective, bool is_in_place)
{
    int rank = collective->group->rank, targets = is_to_each(collective) ? collective->group->size : 1;
    co_parcel_open(&collective->one, 0, collective->bytes * (size_t)targets + GUARD);
    if (!is_to_each(collective)) {
        char *to = is_in_place ? block_of(collective, rank) : collective->one.memory;
        co_test_pattern_fill(to, (size_t)collective->counts[rank], block_seed(collective, rank, 0));
        return is_in_place ? MPI_IN_PLACE : collective->one.memory;
    }
    for (int to = 0; to < targets; to++) {
        co_test_pattern_fill((char *)collective->one.memory + (size_t)to * collective->bytes, collective->bytes,
                             block_seed(collective, rank, to));
    }
    return collective->one.memory;
}

static void start_planned(MPI_Request *request, bool *is_persistent)
{
    *is_persistent = true;
    MPI_Start(request);
}

static void exchange_blocks(struct co_collective *collective, bool is_in_place, MPI_Request *request,
                            bool *is_persistent)
{
    MPI_Comm comm = collective->group->comm;
    place_blocks(collective);
    const void *sent = fill_blocks(collective, is_in_place);
    void *all = collective->all.memory;
    int bytes = (int)collective->bytes, own = collective->counts[collective->group->rank];
    const int *counts = collective->counts, *offsets = collective->offsets;
    switch (collective->kind) {
    case CO_SCRIPT_ALLGATHERV:
        MPI_Allgatherv(sent, own, MPI_BYTE, all, counts, offsets, MPI_BYTE, comm);
        break;
    case CO_SCRIPT_IALLGATHER:
        MPI_Iallgather(sent, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, request);
        break;
    case CO_SCRIPT_IALLGATHERV:
        MPI_Iallgatherv(sent, own, MPI_BYTE, all, counts, offsets, MPI_BYTE, comm, request);
        break;
    case CO_SCRIPT_ALLTOALL:
        MPI_Alltoall(sent, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
        break;
    case CO_SCRIPT_IALLTOALL:
        MPI_Ialltoall(sent, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, request);
        break;
#ifdef PLANNED
    case CO_SCRIPT_ALLGATHER_INIT:
        PLANNED(Allgather_init)(sent, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm, MPI_INFO_NULL, request);
        start_planned(request, is_persistent);
        break;
    case CO_SCRIPT_ALLGATHERV_INIT:
        PLANNED(Allgatherv_init)(sent, own, MPI_BYTE, all, counts, offsets, MPI_BYTE, comm, MPI_INFO_NULL, request);
        start_planned(request, is_persistent);
        break;
#endif
    default:
        MPI_Allgather(sent, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm);
    }
}

static void broadcast(struct co_collective *collective, int root, int layout, MPI_Request *request, bool *is_persistent)
{
    MPI_Comm comm = collective->group->comm;
    struct co_parcel *one = &collective->one;
    co_parcel_open(one, layout, collective->bytes);
    if (collective->group->rank == root) {
        co_parcel_fill(one, collective->seed);
    }
    switch (collective->kind) {
    case CO_SCRIPT_IBCAST:
        MPI_Ibcast(one->memory, one->count, one->type, root, comm, request);
        break;
#ifdef PLANNED
    case CO_SCRIPT_BCAST_INIT:
        PLANNED(Bcast_init)(one->memory, one->count, one->type, root, comm, MPI_INFO_NULL, request);
        start_planned(request, is_persistent);
        break;
#endif
    default:
        MPI_Bcast(one->memory, one->count, one->type, root, comm);
    }
}

// To the next, from the one before; where it comes to the same place, the memory of what was sent.
static void shift_ring(struct co_collective *collective, bool replaces, int layout)
{
    const struct co_script_group *group = collective->group;
    int next = (group->rank + 1) % group->size, previous = (group->rank + group->size - 1) % group->size;
    struct co_parcel out;
    co_parcel_open(&out, layout, collective->bytes);
    co_parcel_fill(&out, block_seed(collective, group->rank, 0));
    MPI_Status status;
    if (replaces) {
        MPI_Sendrecv_replace(out.memory, out.count, out.type, next, TAG_RING, previous, TAG_RING, group->comm, &status);
        collective->one = out;
    } else {
        co_parcel_open(&collective->one, 0, collective->bytes);
        MPI_Sendrecv(out.memory, out.count, out.type, next, TAG_RING, collective->one.memory, collective->one.count,
                     collective->one.type, previous, TAG_RING, group->comm, &status);
        co_parcel_close(&out);
    }
    co_test_expect(status.MPI_SOURCE == previous && status.MPI_TAG == TAG_RING, "the ring's status");
}

// Native's own, among the others: a sum of all ranks' bytes, or nothing.
static void reduce(struct co_collective *collective, MPI_Request *request)
{
    uint64_t *sums = collective->one.memory;
    for (size_t i = 0; i < collective->bytes / sizeof *sums; i++) {
        sums[i] = collective->seed % 1000 + i + (uint64_t)collective->group->rank;
    }
    int count = (int)(collective->bytes / sizeof *sums);
    if (collective->kind == CO_SCRIPT_IALLREDUCE) {
        MPI_Iallreduce(MPI_IN_PLACE, sums, count, MPI_UINT64_T, MPI_SUM, collective->group->comm, request);
    } else if (collective->kind == CO_SCRIPT_IBARRIER) {
        MPI_Ibarrier(collective->group->comm, request);
    } else {
        MPI_Barrier(collective->group->comm);
    }
}

static bool holds_sums(const struct co_collective *collective)
{
    const uint64_t *sums = collective->one.memory;
    uint64_t size = (uint64_t)collective->group->size;
    for (size_t i = 0; i < collective->bytes / sizeof *sums; i++) {
        if (sums[i] != size * (collective->seed % 1000 + i) + size * (size - 1) / 2) {
            return false;
        }
    }
    return true;
}

void co_collective_begin(struct co_collective *collective, const struct co_script_event *event,
                         const struct co_script_group *group, uint64_t *own, MPI_Request *request, bool *is_persistent)
{
    *collective =
        (struct co_collective){.kind = event->kind, .group = group, .bytes = event->bytes, .seed = event->seed};
    *request = MPI_REQUEST_NULL;
    *is_persistent = false;
    bool is_odd = co_parcel_random(own, 3) == 0;
    int layout = co_parcel_layout_for(event->bytes, co_parcel_random(own, 8));
    switch (event->kind) {
    case CO_SCRIPT_BARRIER:
    case CO_SCRIPT_IBARRIER:
    case CO_SCRIPT_IALLREDUCE:
        co_parcel_open(&collective->one, 0, event->bytes);
        reduce(collective, request);
        break;
    case CO_SCRIPT_BCAST:
    case CO_SCRIPT_IBCAST:
    case CO_SCRIPT_BCAST_INIT:
        broadcast(collective, event->root, layout, request, is_persistent);
        break;
    case CO_SCRIPT_RING:
        shift_ring(collective, is_odd, layout);
        break;
    default:
        exchange_blocks(collective, is_odd, request, is_persistent);
    }
}

bool co_collective_end(struct co_collective *collective)
{
    bool holds = true;
    switch (collective->kind) {
    case CO_SCRIPT_BARRIER:
    case CO_SCRIPT_IBARRIER:
        break;
    case CO_SCRIPT_IALLREDUCE:
        holds = holds_sums(collective);
        break;
    case CO_SCRIPT_BCAST:
    case CO_SCRIPT_IBCAST:
    case CO_SCRIPT_BCAST_INIT:
        holds = co_parcel_holds(&collective->one, collective->bytes, collective->seed);
        break;
    case CO_SCRIPT_RING: {
        const struct co_script_group *group = collective->group;
        int previous = (group->rank + group->size - 1) % group->size;
        holds = co_parcel_holds(&collective->one, collective->bytes, block_seed(collective, previous, 0));
        break;
    }
    default:
        holds = holds_blocks(collective);
        co_parcel_close(&collective->all);
    }
    co_parcel_close(&collective->one);
    return holds;
}
