// SPDX-License-Identifier: BSD-3-Clause
// The nonblocking and the persistent collectives, and MPI_Allgatherv, with 64 MiB in all, one after the other in one
// buffer: a broadcast, blocks of which every second is three times as long as the others, the last rank's first, and
// equal ones. Persistent ones are started twice. With one rank up to eight: tests/long/large_test.sh.
// ranks: 3
// mpirun: --mca coll basic,self,libnbc
// memory: 1
// timeout: 120
// expect: right bytes, the same errors in every mode
// taken: MPI_Ibcast MPI_Allgatherv MPI_Iallgatherv MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

#define MEBIBYTE (1 << 20)
#define ALL (64 * MEBIBYTE)
#define RANKS 8

static unsigned char *buffer;
static int root, unequal[RANKS], behind[RANKS], equal[RANKS], in_order[RANKS], whole[RANKS], at_first[RANKS];

static void lay_out(void)
{
    int size = co_test_size(), part = ALL / (size + 2 * (size / 2)), at = 0;
    root = 1 % size;
    for (int of = size - 1; of >= 0; of--) {
        unequal[of] = of % 2 == 1 ? 3 * part : part;
        behind[of] = at;
        at += unequal[of];
    }
    for (int of = 0; of < size; of++) {
        equal[of] = ALL / size;
        in_order[of] = of * equal[of];
        whole[of] = of == root ? ALL : 0;
    }
}

// Own bytes where they belong, all others wiped.
static void fill(int operation, const int counts[], const int places[])
{
    int self = co_test_rank();
    memset(buffer, 0, ALL);
    co_test_pattern_fill(buffer + places[self], (size_t)counts[self],
                         co_test_seed(self, operation, (size_t)counts[self]));
}

static void check(int operation, const int counts[], const int places[], const char *what)
{
    for (int of = 0; of < co_test_size(); of++) {
        size_t bytes = (size_t)counts[of];
        size_t at = co_test_pattern_mismatch(buffer + places[of], bytes, co_test_seed(of, operation, bytes));
        co_test_expect(at == bytes, "%s: byte %zu of %zu of rank %d differs", what, at, bytes, of);
    }
}

static void finish(MPI_Request *request)
{
    MPI_Status status = {.MPI_ERROR = -7};
    int error = MPI_Wait(request, &status);
    co_test_say("%d %d ", error, status.MPI_ERROR);
}

static void run(MPI_Request *request, int starts, int operation, const int counts[], const int places[],
                const char *what)
{
    for (int start = 0; start < starts; start++) {
        fill(operation + start, counts, places);
        MPI_Start(request);
        finish(request);
        check(operation + start, counts, places, what);
    }
    MPI_Request_free(request);
}

static void one_after_the_other(void)
{
    MPI_Request request;
    fill(1, whole, at_first);
    MPI_Ibcast(buffer, ALL, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    finish(&request);
    check(1, whole, at_first, "MPI_Ibcast");
    fill(2, unequal, behind);
    MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, unequal, behind, MPI_BYTE, MPI_COMM_WORLD, &request);
    finish(&request);
    check(2, unequal, behind, "MPI_Iallgatherv");
    fill(3, equal, in_order);
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, equal[0], MPI_BYTE, MPI_COMM_WORLD, &request);
    finish(&request);
    check(3, equal, in_order, "MPI_Iallgather");
    fill(10, unequal, behind);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, unequal, behind, MPI_BYTE, MPI_COMM_WORLD);
    check(10, unequal, behind, "MPI_Allgatherv");
}

static void persistent(void)
{
    MPI_Request request;
    MPIX_Bcast_init(buffer, ALL, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    run(&request, 2, 4, whole, at_first, "MPIX_Bcast_init");
    MPIX_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, unequal, behind, MPI_BYTE, MPI_COMM_WORLD,
                         MPI_INFO_NULL, &request);
    run(&request, 2, 6, unequal, behind, "MPIX_Allgatherv_init");
    MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, buffer, equal[0], MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                        &request);
    run(&request, 2, 8, equal, in_order, "MPIX_Allgather_init");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    buffer = malloc(ALL);
    if (buffer == NULL) {
        return co_test_skip("not enough memory");
    }
    lay_out();
    one_after_the_other();
    persistent();
    free(buffer);
    return co_test_finish();
}
