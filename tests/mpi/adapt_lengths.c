// SPDX-License-Identifier: BSD-3-Clause
// A broadcast whose root gives another length than the others, while sides are tried: a mistake of the program, which
// MPI libraries live with. Members see it when they exchange their words, at a call whose number they all know whatever
// their lengths, and from then on all of them go where they would go without trials. Broadcasts of unequal lengths come
// before the first exchange, right at it, between two trials, and after it.
// ranks: 2
// expect: same errors and bytes in every mode, and trials end
// environment: CASTOFF_BCAST=auto CASTOFF_IBCAST=auto CASTOFF_ALLGATHER=auto CASTOFF_IALLGATHER=auto CASTOFF_ADAPT=yes
// modes: native off on
// report: counters["adapt_exchanges"] > 0
// report: counters["adapt_ended"] == 2 * 8
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST 300000
#define UNTOUCHED 0x5a

static unsigned char *buffer;
static int number;

static unsigned char byte_of(int place)
{
    return (unsigned char)(number * 31 + place * 7 + place / 251);
}

static void broadcast(MPI_Comm comm, int given, int room)
{
    int root = ++number % 2, rank = co_test_rank(), class = MPI_SUCCESS, wrong = 0;
    int count = rank == root ? given : room, came = given < count ? given : count;
    memset(buffer, UNTOUCHED, (size_t)count);
    for (int i = 0; i < count && rank == root; i++) {
        buffer[i] = byte_of(i);
    }
    MPI_Error_class(MPI_Bcast(buffer, count, MPI_BYTE, root, comm), &class);
    co_test_expect(class == (count < given ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%d bytes where %d were given: class %d",
                   count, given, class);
    for (int i = 0; i < count && class == MPI_SUCCESS; i++) {
        wrong += buffer[i] != (i < came ? byte_of(i) : UNTOUCHED);
    }
    co_test_expect(wrong == 0, "operation %d, %d bytes, of which %d came", number, count, came);
}

// `before` calls of equal lengths, then an unequal one, then many more of either kind.
static void try_after(int before, int given, int room)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < before; i++) {
        broadcast(comm, given, given);
    }
    for (int i = 0; i < 20; i++) {
        broadcast(comm, given, room);
        broadcast(comm, given, given);
        broadcast(comm, room, given);
    }
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    buffer = malloc(LARGEST);
    co_test_expect(buffer != NULL, "memory");
    static const int befores[] = {0, 3, 4, 5};
    for (int i = 0; i < 4; i++) {
        try_after(befores[i], 700, 5000);
        try_after(befores[i], LARGEST, 40);
    }
    free(buffer);
    return co_test_finish();
}
