// SPDX-License-Identifier: BSD-3-Clause
// Calls that one rank alone makes and is refused for their arguments (MPI_ERRORS_RETURN), and a broadcast of more than
// one rank has room for, or of less, before and between meetings: of those refused the others know nothing, all meet at
// the same calls as before, number alike what castoff carries next, and bytes and sums stay right.
// ranks: 3 4
// expect: what one rank is refused changes nothing for all
// environment: CASTOFF_NODE_RANKS=1 CASTOFF_UDP_INTERFACE=lo CASTOFF_BCAST=auto CASTOFF_ADAPT=auto
// report: counters["adapt_exchanges"] > 0
#include "oracle/verdict.h"

#include <string.h>

enum { BYTES = 3000, SHORT = 2900, STEPS = 150, KINDS = 5, HAS_LESS_ROOM = KINDS, GIVES_LESS };

static unsigned char buffer[BYTES];

static int refused_call(int kind, MPI_Comm comm)
{
    int number = 1, sum;
    switch (kind) {
    case 0:
        return MPI_Bcast(buffer, 10, MPI_BYTE, -5, comm);
    case 1:
        return MPI_Bcast(buffer, 10, MPI_DATATYPE_NULL, 0, comm);
    case 2:
        return MPI_Bcast(buffer, -1, MPI_BYTE, 0, comm);
    case 3:
        return MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_OP_NULL, comm);
    default:
        return MPI_Allreduce(&number, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, comm);
    }
}

static void step(int number, MPI_Comm comm)
{
    int rank = co_test_rank(), size, sum;
    uint64_t seed = co_test_seed(0, number, BYTES);
    MPI_Comm_size(comm, &size);
    memset(buffer, 0xee, BYTES);
    if (rank == 0) {
        co_test_pattern_fill(buffer, BYTES, seed);
    }
    MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, comm);
    co_test_received(buffer, BYTES, seed, "broadcast %d", number);
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    co_test_expect(sum == size * number, "the sum of %d numbers %d is %d", size, number, sum);
    MPI_Barrier(comm);
}

// The last one: native passes on nothing of what it has no room for.
static void one_has_less_room(MPI_Comm comm)
{
    int size, class;
    MPI_Comm_size(comm, &size);
    int is_short = co_test_rank() == size - 1, code = MPI_Bcast(buffer, is_short ? SHORT : BYTES, MPI_BYTE, 0, comm);
    MPI_Error_class(code, &class);
    co_test_expect(class == (is_short ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "a broadcast of too much: class %d", class);
}

// So little that native has it whoever looks: which MPICH calls an error of who has room for more, Open MPI does not.
static void root_gives_less(MPI_Comm comm)
{
    int is_root = co_test_rank() == 0, code = MPI_Bcast(buffer, is_root ? 40 : 100, MPI_BYTE, 0, comm);
    co_test_expect(code == MPI_SUCCESS || !is_root, "a broadcast of too little: %d at the root", code);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int kind = 0; kind <= GIVES_LESS; kind++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (int number = 0; number < STEPS; number++) {
            if (number % 40 == 5 && kind == HAS_LESS_ROOM) {
                one_has_less_room(comm);
            } else if (number % 40 == 5 && kind == GIVES_LESS) {
                root_gives_less(comm);
            } else if (number % 40 == 5 && co_test_rank() == 1) {
                co_test_expect(refused_call(kind, comm) != MPI_SUCCESS, "call %d is refused", kind);
            }
            step(number, comm);
        }
        MPI_Comm_free(&comm);
    }
    return co_test_finish();
}
