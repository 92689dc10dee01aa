// SPDX-License-Identifier: BSD-3-Clause
// Small allgathers of unequal blocks between six hosts and more go by way of one of them, as small allgathers of equal
// ones do: blocking, nonblocking and persistent ones are a single broadcast each, whatever their places, whoever has
// nothing, and where the own block stands in its place already.
// ranks: 6 7
// mpirun: --mca coll basic,self,libnbc
// modes: native on
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo
// expect: the right bytes, no gap written; one chunk for each operation
// taken: MPI_Allgatherv MPI_Iallgatherv MPIX_Allgatherv_init
// report: counters["data_chunks_sent"] == 60
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#include <string.h>

#define RANKS 8
#define MOST 24 // bytes of a block
#define GAP 3
#define ROOM (RANKS * (MOST + GAP))
#define ROUNDS 60 // as the report says
#define UNTOUCHED 0xEE

enum way { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };

static int rank, size, number;

struct gather {
    int counts[RANKS], places[RANKS];
    uint64_t seeds[RANKS];
    unsigned char mine[MOST], all[ROOM];
    bool is_in_place;
};

// Never the same for two ranks; every fourth operation one of them has nothing.
static int bytes_of(int of)
{
    return number % 4 == 0 && of == number % size ? 0 : 1 + (of * 3 + number) % MOST;
}

// One behind the other, or with gaps and from another rank on.
static void lay_out(struct gather *gather)
{
    int at = 0;
    number++;
    for (int turn = 0; turn < size; turn++) {
        int of = number % 3 == 0 ? turn : (turn + rank + number) % size;
        gather->counts[of] = bytes_of(of);
        gather->places[of] = at;
        gather->seeds[of] = co_test_seed(of, number, (size_t)gather->counts[of]);
        at += gather->counts[of] + (number % 3 == 0 ? 0 : GAP);
    }
    gather->is_in_place = number % 5 == 0;
    memset(gather->all, UNTOUCHED, sizeof gather->all);
    unsigned char *own = gather->is_in_place ? gather->all + gather->places[rank] : gather->mine;
    co_test_pattern_fill(own, (size_t)gather->counts[rank], gather->seeds[rank]);
}

static void check(const struct gather *gather)
{
    unsigned char expected[ROOM];
    memset(expected, UNTOUCHED, sizeof expected);
    for (int of = 0; of < size; of++) {
        co_test_pattern_fill(expected + gather->places[of], (size_t)gather->counts[of], gather->seeds[of]);
        co_test_absorb(gather->all + gather->places[of], (size_t)gather->counts[of]);
    }
    co_test_expect(memcmp(expected, gather->all, sizeof expected) == 0, "operation %d: other bytes", number);
}

static void run(enum way way)
{
    struct gather gather;
    MPI_Request request = MPI_REQUEST_NULL;
    lay_out(&gather);
    const void *mine = gather.is_in_place ? MPI_IN_PLACE : gather.mine;
    if (way == BLOCKING) {
        MPI_Allgatherv(mine, gather.counts[rank], MPI_BYTE, gather.all, gather.counts, gather.places, MPI_BYTE,
                       MPI_COMM_WORLD);
    } else if (way == NONBLOCKING) {
        MPI_Iallgatherv(mine, gather.counts[rank], MPI_BYTE, gather.all, gather.counts, gather.places, MPI_BYTE,
                        MPI_COMM_WORLD, &request);
    } else {
        MPIX_Allgatherv_init(mine, gather.counts[rank], MPI_BYTE, gather.all, gather.counts, gather.places, MPI_BYTE,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (way == PERSISTENT) {
        MPI_Request_free(&request);
    }
    check(&gather);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    for (int round = 0; round < ROUNDS; round++) {
        run((enum way)(round % WAYS));
    }
    return co_test_finish();
}
