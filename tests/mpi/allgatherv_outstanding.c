// SPDX-License-Identifier: BSD-3-Clause
// 64 unequal allgathers and broadcasts outstanding on three communicators, while one rank is late: it comes when the
// others have started all of theirs, which therefore wait for nobody. Blocking ones, castoff's and native, come between
// them on the same communicators; two of these are freed while their operations are pending, and a new one is used at
// once. Waited for in reverse order, by MPI_Testall, and by MPI_Waitall.
// ranks: 2 3 5
// expect: every operation delivers its own bytes to its own places, no gap is written
// taken: MPI_Iallgatherv MPI_Ibcast MPI_Allgatherv
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define OUTSTANDING 64
#define COMMS 3
#define RANKS 8
#define GAP 3
#define MARK 0x5a
#define ROUNDS 3

struct operation {
    int counts[RANKS], places[RANKS];
    int bytes; // with gaps
    unsigned char *buffer;
};

static const int scales[] = {1, 50, 0, 1500, 300, 9000, 20, 60000};
static struct operation operations[OUTSTANDING];
static MPI_Request requests[OUTSTANDING];
static MPI_Comm comms[COMMS];

static bool is_bcast(int slot)
{
    return slot % 5 == 4;
}

static int root_of(int slot)
{
    return slot % co_test_size();
}

static int count_of(int slot, int of)
{
    int scale = scales[slot % 8];
    if (is_bcast(slot)) {
        return of == root_of(slot) ? scale * 2 : 0;
    }
    return slot % 3 == 0 ? scale * ((of + slot) % 3) : scale + of * slot;
}

static uint64_t seed_of(int round, int slot, int of)
{
    return co_test_seed(of, round * 1000 + slot, (size_t)operations[slot].counts[of]);
}

// In place, one block behind the other with gaps, the first one another on each slot.
static void prepare(int round, int slot)
{
    struct operation *operation = &operations[slot];
    int size = co_test_size(), at = GAP;
    for (int turn = 0; turn < size; turn++) {
        int of = (turn + slot) % size;
        operation->counts[of] = count_of(slot, of);
        operation->places[of] = at;
        at += operation->counts[of] + GAP;
    }
    operation->bytes = at;
    operation->buffer = malloc((size_t)at);
    memset(operation->buffer, MARK, (size_t)at);
    int self = co_test_rank();
    co_test_pattern_fill(operation->buffer + operation->places[self], (size_t)operation->counts[self],
                         seed_of(round, slot, self));
}

static void start(int round, int slot)
{
    struct operation *operation = &operations[slot];
    MPI_Comm comm = comms[slot % COMMS];
    prepare(round, slot);
    int root = root_of(slot);
    if (is_bcast(slot)) {
        MPI_Ibcast(operation->buffer + operation->places[root], operation->counts[root], MPI_BYTE, root, comm,
                   &requests[slot]);
    } else {
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, operation->buffer, operation->counts, operation->places,
                        MPI_BYTE, comm, &requests[slot]);
    }
    co_test_expect(requests[slot] != MPI_REQUEST_NULL, "request %d is null", slot);
}

static void finish(int round, int slot)
{
    struct operation *operation = &operations[slot];
    int wrong = 0;
    co_test_expect(requests[slot] == MPI_REQUEST_NULL, "request %d kept after completion", slot);
    for (int of = 0; of < co_test_size(); of++) {
        unsigned char *block = operation->buffer + operation->places[of];
        co_test_received(block, (size_t)operation->counts[of], seed_of(round, slot, of), "round %d, operation %d",
                         round, slot);
        memset(block, MARK, (size_t)operation->counts[of]);
    }
    for (int i = 0; i < operation->bytes; i++) {
        wrong += operation->buffer[i] != MARK;
    }
    co_test_expect(wrong == 0, "round %d, operation %d: %d bytes of gaps are written", round, slot, wrong);
    free(operation->buffer);
}

// The late rank has heard of all others that theirs have begun.
static void let_one_be_late(int late, bool is_before)
{
    int token = late;
    for (int rank = 0; rank < co_test_size(); rank++) {
        if (is_before && co_test_rank() == late && rank != late) {
            MPI_Recv(&token, 1, MPI_INT, rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (!is_before && co_test_rank() != late) {
        MPI_Ssend(&token, 1, MPI_INT, late, 77, MPI_COMM_WORLD);
    }
}

static void call_blocking(int round, MPI_Comm comm)
{
    int self = co_test_rank(), size = co_test_size(), counts[RANKS], places[RANKS], at = 0, sum = 0, one = 1;
    int mine[RANKS], all[RANKS * RANKS];
    for (int of = 0; of < size; of++) {
        counts[of] = (of + round) % 3;
        places[of] = at;
        at += counts[of];
    }
    for (int i = 0; i < counts[self]; i++) {
        mine[i] = self * 10 + round;
    }
    MPI_Allgatherv(mine, counts[self], MPI_INT, all, counts, places, MPI_INT, comm);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    co_test_expect(sum == size, "reduction while some are pending");
    for (int of = 0; of < size; of++) {
        for (int i = 0; i < counts[of]; i++) {
            co_test_expect(all[places[of] + i] == of * 10 + round, "round %d: block %d of a blocking one", round, of);
        }
    }
}

static void wait_for_all(int round)
{
    int done = round == 1 ? 0 : 1;
    for (int slot = OUTSTANDING - 1; slot >= 0 && round == 0; slot--) {
        MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
    }
    while (!done) {
        MPI_Testall(OUTSTANDING, requests, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
}

static void run(int round)
{
    int late = round % co_test_size();
    MPI_Comm next;
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    let_one_be_late(late, true);
    for (int slot = 0; slot < OUTSTANDING; slot++) {
        start(round, slot);
    }
    let_one_be_late(late, false);
    call_blocking(round, comms[1]);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    MPI_Comm_dup(MPI_COMM_WORLD, &next);
    call_blocking(round + 1, next);
    wait_for_all(round);
    for (int slot = 0; slot < OUTSTANDING; slot++) {
        finish(round, slot);
    }
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&next);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int round = 0; round < ROUNDS; round++) {
        run(round);
    }
    return co_test_finish();
}
