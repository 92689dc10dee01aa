// SPDX-License-Identifier: BSD-3-Clause
// Mixed request arrays: start, judge each completion, release. Messages go to the next rank of
// MPI_COMM_WORLD and carry their slot as tag, so that a status in the wrong place shows. What the statuses of
// collectives say is part of the digest, for MPI leaves it open and castoff says what native says. Not that of
// all-to-alls, nor of those of no bytes, which are native's in all modes: there it leaves what its memory had. Not hot.
#include "oracle/mixture.h"

#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

bool co_mixture_exchanges;

// Of collectives MPICH says what the request said of something before.
#ifdef OPEN_MPI
static const bool has_definite_statuses = true;
#else
static const bool has_definite_statuses = false;
#endif

// The order of starting, the same on all ranks; where each one stands in the array differs.
static const enum co_mixture_kind sequence[CO_MIXTURE_SLOTS] = {
    CO_MIXTURE_GATHER,
    CO_MIXTURE_RECEIVE,
    CO_MIXTURE_NULL,
    CO_MIXTURE_SEND,
    CO_MIXTURE_BROADCAST,
    CO_MIXTURE_PERSISTENT_RECEIVE,
    CO_MIXTURE_BARRIER,
    CO_MIXTURE_INACTIVE,
    CO_MIXTURE_PERSISTENT_SEND,
    CO_MIXTURE_UNEQUAL_GATHER,
    CO_MIXTURE_RECEIVE,
#ifdef OPEN_MPI
    CO_MIXTURE_PERSISTENT_GATHER,
#else // MPICH's own do not end
    CO_MIXTURE_UNEQUAL_GATHER,
#endif
    CO_MIXTURE_SEND,
    CO_MIXTURE_GATHER,
    CO_MIXTURE_BROADCAST,
#ifdef OPEN_MPI
    CO_MIXTURE_INACTIVE_BROADCAST,
#else
    CO_MIXTURE_NULL,
#endif
};

// The receive at step 1 matches the send at step 3, and so on.
static int message_tag(int step)
{
    switch (step) {
    case 1:
    case 3:
        return 101;
    case 5:
    case 8:
        return 105;
    default:
        return 110;
    }
}

static bool is_persistent(enum co_mixture_kind kind)
{
    return kind >= CO_MIXTURE_PERSISTENT_SEND && kind <= CO_MIXTURE_INACTIVE_BROADCAST;
}

bool co_mixture_is_active(enum co_mixture_kind kind)
{
    return kind != CO_MIXTURE_NULL && kind != CO_MIXTURE_INACTIVE && kind != CO_MIXTURE_INACTIVE_BROADCAST;
}

static bool gathers(enum co_mixture_kind kind)
{
    return kind == CO_MIXTURE_GATHER || kind == CO_MIXTURE_UNEQUAL_GATHER || kind == CO_MIXTURE_PERSISTENT_GATHER;
}

static bool is_collective(enum co_mixture_kind kind)
{
    return gathers(kind) || kind == CO_MIXTURE_BROADCAST || kind == CO_MIXTURE_INACTIVE_BROADCAST;
}

static int root_of(const struct co_mixture_slot *slot)
{
    return slot->operation % co_test_size();
}

static int previous_rank(void)
{
    return (co_test_rank() + co_test_size() - 1) % co_test_size();
}

static int next_rank(void)
{
    return (co_test_rank() + 1) % co_test_size();
}

static size_t size_of(int step, int round)
{
    static const size_t sizes[] = {0, 3, 49, 5000, 70001, 300000};
    size_t which = (size_t)(step / 5 + round) % 6;
    // The two ends of a message agree on its size.
    if (!is_collective(sequence[step])) {
        which = (size_t)(message_tag(step) + round) % 6;
    }
    return sizes[which];
}

static void start_message(struct co_mixture_slot *slot, MPI_Request *request, int step)
{
    int count = (int)slot->bytes;
    int tag = message_tag(step);
    switch (slot->kind) {
    case CO_MIXTURE_SEND:
        MPI_Isend(slot->send, count, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD, request);
        break;
    case CO_MIXTURE_RECEIVE:
        MPI_Irecv(slot->receive, count, MPI_BYTE, previous_rank(), tag, MPI_COMM_WORLD, request);
        break;
    case CO_MIXTURE_PERSISTENT_SEND:
        MPI_Send_init(slot->send, count, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD, request);
        MPI_Start(request);
        break;
    case CO_MIXTURE_PERSISTENT_RECEIVE:
        MPI_Recv_init(slot->receive, count, MPI_BYTE, previous_rank(), tag, MPI_COMM_WORLD, request);
        MPI_Start(request);
        break;
    default: // inactive: made, never started
        MPI_Recv_init(slot->receive, 0, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, request);
        break;
    }
}

// A block for each rank, and from each.
static uint64_t exchange_seed(const struct co_mixture_slot *slot, int from, int to)
{
    return co_test_seed(from * 256 + to, slot->operation, slot->bytes);
}

static void start_exchange(struct co_mixture_slot *slot, MPI_Request *request)
{
    enum { RANKS = 16 };
    static int counts[CO_MIXTURE_SLOTS][RANKS], places[CO_MIXTURE_SLOTS][RANKS]; // as long as the call
    int count = (int)slot->bytes, step = slot->operation % 1000;
    slot->send = realloc(slot->send, slot->bytes * (size_t)co_test_size() + 1);
    for (int r = 0; r < co_test_size(); r++) {
        co_test_pattern_fill(slot->send + slot->bytes * (size_t)r, slot->bytes, exchange_seed(slot, co_test_rank(), r));
        counts[step][r] = count;
        places[step][r] = r * count;
    }
    if (step % 2 == 0) {
        MPI_Ialltoall(slot->send, count, MPI_BYTE, slot->receive, count, MPI_BYTE, MPI_COMM_WORLD, request);
    } else {
        MPI_Ialltoallv(slot->send, counts[step], places[step], MPI_BYTE, slot->receive, counts[step], places[step],
                       MPI_BYTE, MPI_COMM_WORLD, request);
    }
}

// Of every second rank a third less, with a gap behind it.
static size_t block_of(const struct co_mixture_slot *slot, int rank)
{
    return slot->counts == NULL ? slot->bytes : (size_t)slot->counts[rank];
}

static void lay_out(struct co_mixture_slot *slot)
{
    size_t size = (size_t)co_test_size();
    slot->counts = malloc(2 * size * sizeof(int));
    slot->places = slot->counts + size;
    for (int r = 0; r < co_test_size(); r++) {
        slot->counts[r] = (int)(slot->bytes - slot->bytes / 3 * (size_t)(r % 2));
        slot->places[r] = r * (int)slot->bytes;
    }
}

static void start_unequal(struct co_mixture_slot *slot, MPI_Request *request)
{
    lay_out(slot);
    MPI_Iallgatherv(slot->send, slot->counts[co_test_rank()], MPI_BYTE, slot->receive, slot->counts, slot->places,
                    MPI_BYTE, MPI_COMM_WORLD, request);
}

#ifdef OPEN_MPI
static void start_persistent(struct co_mixture_slot *slot, MPI_Request *request)
{
    int count = (int)slot->bytes, is_equal = slot->operation / 1000 % 2 == 0;
    if (is_equal) {
        MPIX_Allgather_init(slot->send, count, MPI_BYTE, slot->receive, count, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                            request);
    } else {
        lay_out(slot);
        MPIX_Allgatherv_init(slot->send, slot->counts[co_test_rank()], MPI_BYTE, slot->receive, slot->counts,
                             slot->places, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, request);
    }
    MPI_Start(request);
}
#endif

static void start_collective(struct co_mixture_slot *slot, MPI_Request *request)
{
    int count = (int)slot->bytes, root = root_of(slot);
    switch (slot->kind) {
    case CO_MIXTURE_GATHER:
        MPI_Iallgather(slot->send, count, MPI_BYTE, slot->receive, count, MPI_BYTE, MPI_COMM_WORLD, request);
        break;
    case CO_MIXTURE_UNEQUAL_GATHER:
        start_unequal(slot, request);
        break;
#ifdef OPEN_MPI
    case CO_MIXTURE_PERSISTENT_GATHER:
        start_persistent(slot, request);
        break;
    case CO_MIXTURE_INACTIVE_BROADCAST:
        MPIX_Bcast_init(slot->receive, count, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, request);
        break;
#endif
    default:
        if (co_test_rank() == root) {
            memcpy(slot->receive, slot->send, slot->bytes);
        }
        MPI_Ibcast(slot->receive, count, MPI_BYTE, root, MPI_COMM_WORLD, request);
    }
}

static void start_slot(struct co_mixture *mixture, int index, int step)
{
    struct co_mixture_slot *slot = &mixture->slots[index];
    MPI_Request *request = &mixture->requests[index];
    memset(slot, 0, sizeof *slot);
    slot->kind = sequence[step];
    slot->bytes = size_of(step, mixture->round);
    slot->operation = mixture->round * 1000 + message_tag(step);
    if (is_collective(slot->kind)) {
        slot->operation = mixture->round * 1000 + step;
    }
    slot->send = malloc(slot->bytes + 1);
    slot->receive = malloc(slot->bytes * (size_t)co_test_size() + 1);
    memset(slot->receive, 0xEE, slot->bytes * (size_t)co_test_size());
    co_test_pattern_fill(slot->send, slot->bytes, co_test_seed(co_test_rank(), slot->operation, slot->bytes));
    *request = MPI_REQUEST_NULL;
    if (slot->kind == CO_MIXTURE_GATHER && co_mixture_exchanges) {
        start_exchange(slot, request);
    } else if (is_collective(slot->kind)) {
        start_collective(slot, request);
    } else if (slot->kind == CO_MIXTURE_BARRIER) {
        MPI_Ibarrier(MPI_COMM_WORLD, request);
    } else if (slot->kind != CO_MIXTURE_NULL) {
        start_message(slot, request, step);
    }
    slot->handle = *request;
    mixture->active += co_mixture_is_active(slot->kind);
}

void co_mixture_start(struct co_mixture *mixture, int round)
{
    memset(mixture, 0, sizeof *mixture);
    mixture->round = round;
    // Steps coprime to the number of slots visit every slot once.
    int stride = 2 * ((round + co_test_rank()) % (CO_MIXTURE_SLOTS / 2)) + 1;
    int offset = round + 3 * co_test_rank();
    for (int step = 0; step < CO_MIXTURE_SLOTS; step++) {
        start_slot(mixture, (step * stride + offset) % CO_MIXTURE_SLOTS, step);
    }
}

static void check_message_status(const struct co_mixture_slot *slot, const MPI_Status *status)
{
    int count = -1;
    int tag = slot->operation % 1000;
    MPI_Get_count(status, MPI_BYTE, &count);
    co_test_expect(status->MPI_SOURCE == previous_rank() && status->MPI_TAG == tag && (size_t)count == slot->bytes,
                   "status says source %d, tag %d, count %d instead of %d, %d, %zu", status->MPI_SOURCE,
                   status->MPI_TAG, count, previous_rank(), tag, slot->bytes);
}

static void check_gathered(const struct co_mixture_slot *slot)
{
    bool is_exchange = slot->kind == CO_MIXTURE_GATHER && co_mixture_exchanges;
    for (int r = 0; r < co_test_size(); r++) {
        const unsigned char *block = slot->receive + slot->bytes * (size_t)r;
        size_t bytes = block_of(slot, r), written = 0;
        uint64_t seed =
            is_exchange ? exchange_seed(slot, r, co_test_rank()) : co_test_seed(r, slot->operation, slot->bytes);
        co_test_received(block, bytes, seed, "operation %d, block %d", slot->operation, r);
        for (size_t i = bytes; i < slot->bytes; i++) {
            written += block[i] != 0xEE;
        }
        co_test_expect(written == 0, "operation %d, block %d: written behind it", slot->operation, r);
    }
}

static void check_data(const struct co_mixture_slot *slot)
{
    if (gathers(slot->kind)) {
        check_gathered(slot);
    } else if (slot->kind == CO_MIXTURE_BROADCAST) {
        co_test_received(slot->receive, slot->bytes, co_test_seed(root_of(slot), slot->operation, slot->bytes),
                         "broadcast %d", slot->operation);
    } else {
        co_test_received(slot->receive, slot->bytes, co_test_seed(previous_rank(), slot->operation, slot->bytes),
                         "message %d", slot->operation);
    }
}

void co_mixture_complete(struct co_mixture *mixture, int index, const MPI_Status *status)
{
    if (!co_test_expect(index >= 0 && index < CO_MIXTURE_SLOTS, "index %d", index)) {
        return;
    }
    struct co_mixture_slot *slot = &mixture->slots[index];
    co_test_expect(co_mixture_is_active(slot->kind), "index %d, which has no active request, completed", index);
    co_test_expect(!slot->completed, "index %d completed twice", index);
    slot->completed = true;
    mixture->active--;
    MPI_Request expected = is_persistent(slot->kind) ? slot->handle : MPI_REQUEST_NULL;
    co_test_expect(mixture->requests[index] == expected, "request %d of kind %d has a wrong handle", index, slot->kind);
    bool receives = slot->kind == CO_MIXTURE_RECEIVE || slot->kind == CO_MIXTURE_PERSISTENT_RECEIVE;
    if (status != NULL && receives) {
        check_message_status(slot, status);
    }
    if (status != NULL && is_collective(slot->kind)) {
        slot->told[0] = status->MPI_SOURCE;
        slot->told[1] = status->MPI_TAG;
        MPI_Get_count(status, MPI_BYTE, &slot->told[2]);
    }
}

void co_mixture_check_untouched(const struct co_mixture *mixture, const char *call)
{
    int changed = 0;
    for (int i = 0; i < CO_MIXTURE_SLOTS; i++) {
        bool consumed = mixture->slots[i].completed && !is_persistent(mixture->slots[i].kind);
        changed += mixture->requests[i] != (consumed ? MPI_REQUEST_NULL : mixture->slots[i].handle);
    }
    if (changed > 0) {
        co_test_expect(false, "%s reported nothing but changed %d requests", call, changed);
    }
}

void co_mixture_settle(struct co_mixture *mixture)
{
    for (int i = 0; i < CO_MIXTURE_SLOTS; i++) {
        int flag = 0;
        while (flag == 0) {
            MPI_Request_get_status(mixture->requests[i], &flag, MPI_STATUS_IGNORE);
        }
    }
    co_mixture_check_untouched(mixture, "Request_get_status");
}

void co_mixture_finish(struct co_mixture *mixture, const char *call)
{
    co_test_expect(mixture->active == 0, "%s: %d operations never reported", call, mixture->active);
    co_mixture_check_untouched(mixture, call);
    // In the order of starting, so that the digest is the same on every run.
    int stride = 2 * ((mixture->round + co_test_rank()) % (CO_MIXTURE_SLOTS / 2)) + 1;
    int offset = mixture->round + 3 * co_test_rank();
    for (int step = 0; step < CO_MIXTURE_SLOTS; step++) {
        int index = (step * stride + offset) % CO_MIXTURE_SLOTS;
        struct co_mixture_slot *slot = &mixture->slots[index];
        bool has_come = gathers(slot->kind) || slot->kind == CO_MIXTURE_BROADCAST || slot->kind == CO_MIXTURE_RECEIVE ||
                        slot->kind == CO_MIXTURE_PERSISTENT_RECEIVE;
        if (has_come) {
            check_data(slot);
        }
        bool is_left_open = (slot->kind == CO_MIXTURE_GATHER && co_mixture_exchanges) || slot->bytes == 0;
        if (has_definite_statuses && !is_left_open) {
            co_test_absorb(slot->told, sizeof slot->told);
        }
        if (is_persistent(slot->kind)) {
            MPI_Request_free(&mixture->requests[index]);
        }
        free(slot->counts);
        free(slot->send);
        free(slot->receive);
    }
}

void co_mixture_check_empty_status(const MPI_Status *status, const char *where)
{
    int count = -1;
    int cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_expect(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && count == 0 &&
                       cancelled == 0,
                   "%s: the status is not empty", where);
}
