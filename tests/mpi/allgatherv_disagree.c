// SPDX-License-Identifier: BSD-3-Clause
// What becomes of collectives whose ranks disagree about lengths, a mistake of the program: a table of calls and
// mistakes, each at four sizes, blocking, nonblocking and persistent, on a communicator of its own. Every call ends on
// every rank. Broadcasts end as bcast_lengths says, and the communicator goes on. Allgathers end with MPI_ERR_TRUNCATE
// for whoever notices, with that or the error of a peer that is gone for others, or unnoticed; what a later collective
// of that communicator says is one of these, too, and it ends. Native is left out: it does not end many of these calls.
// ranks: 2 3 4
// modes: on faults damage
// expect: every call ends
// taken: MPI_Bcast MPI_Ibcast MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

#define RANKS 8
#define MOST 200000

enum call { BCAST, ALLGATHER, ALLGATHERV };
enum way { BLOCKING, NONBLOCKING, PERSISTENT, WAYS };

// Who is mistaken is one rank or, of a broadcast's root, all others. Lengths are those of the others if not said.
enum mistake {
    GIVES_MORE,         // twice as much
    GIVES_LESS,         // a byte
    GIVES_NOTHING,      // and says so of itself
    EXPECTS_NOTHING,    // of the last rank
    EXPECTS_OTHER,      // of the last rank
    ALL_ARE_EQUAL,      // where the others say that the last one gives more
    ALL_BUT_ONE_EQUAL,  // where the others say that all are equal
    ONE_ALONE_HAS_ANY,  // rank 0
    TWICE_OF_THE_FIRST, // as much as two ranks of a host give together
    MISTAKES
};

static const struct {
    enum call call;
    enum mistake mistake;
    const char *what;
} table[] = {
    {BCAST, GIVES_MORE, "bcast, longer root"},
    {BCAST, GIVES_LESS, "bcast, shorter root"},
    {ALLGATHER, GIVES_MORE, "allgather, one has twice the count"},
    {ALLGATHER, GIVES_LESS, "allgather, one has a byte"},
    {ALLGATHERV, GIVES_MORE, "allgatherv, one gives more than it is expected to"},
    {ALLGATHERV, GIVES_LESS, "allgatherv, one gives less than it is expected to"},
    {ALLGATHERV, GIVES_NOTHING, "allgatherv, one gives nothing where bytes are expected"},
    {ALLGATHERV, EXPECTS_NOTHING, "allgatherv, one expects nothing where bytes are given"},
    {ALLGATHERV, EXPECTS_OTHER, "allgatherv, one expects other bytes than are given"},
    {ALLGATHERV, ALL_ARE_EQUAL, "allgatherv, counts are equal on one rank alone"},
    {ALLGATHERV, ALL_BUT_ONE_EQUAL, "allgatherv, counts are equal on all ranks but one"},
    {ALLGATHERV, ONE_ALONE_HAS_ANY, "allgatherv, one rank says that rank 0 alone has bytes"},
    {ALLGATHERV, TWICE_OF_THE_FIRST, "allgatherv, one rank says that rank 0 has twice as many bytes"},
};

static int rank, size, counts[RANKS], places[RANKS];
static unsigned char *mine, *all;

// The counts as `of` has them.
static void lay_out(enum mistake mistake, bool is_mistaken, int length)
{
    int at = 0, last = size - 1;
    for (int i = 0; i < size; i++) {
        counts[i] = length;
    }
    counts[last] += mistake == ALL_ARE_EQUAL && !is_mistaken ? length : 0;
    if (is_mistaken) {
        counts[rank] = mistake == GIVES_MORE ? 2 * length : mistake == GIVES_LESS ? 1 : counts[rank];
        counts[rank] = mistake == GIVES_NOTHING ? 0 : counts[rank];
        counts[last] = mistake == EXPECTS_NOTHING ? 0 : counts[last];
        counts[last] += mistake == EXPECTS_OTHER || mistake == ALL_BUT_ONE_EQUAL ? 3 : 0;
        counts[0] *= mistake == TWICE_OF_THE_FIRST ? 2 : 1;
        for (int i = 1; i < size && mistake == ONE_ALONE_HAS_ANY; i++) {
            counts[i] = 0;
        }
    }
    for (int i = 0; i < size; i++) {
        places[i] = at;
        at += counts[i];
    }
}

static int run_blocking(enum call call, int root, MPI_Comm comm)
{
    int count = counts[rank];
    return call == BCAST       ? MPI_Bcast(all, count, MPI_BYTE, root, comm)
           : call == ALLGATHER ? MPI_Allgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm)
                               : MPI_Allgatherv(mine, count, MPI_BYTE, all, counts, places, MPI_BYTE, comm);
}

static int run_nonblocking(enum call call, int root, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int count = counts[rank];
    int code = call == BCAST ? MPI_Ibcast(all, count, MPI_BYTE, root, comm, &request)
               : call == ALLGATHER
                   ? MPI_Iallgather(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm, &request)
                   : MPI_Iallgatherv(mine, count, MPI_BYTE, all, counts, places, MPI_BYTE, comm, &request);
    return code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
}

// Twice, where the first time went well: a broadcast goes well for some and not for others.
static int run_persistent(enum call call, int root, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int count = counts[rank], code = MPI_SUCCESS;
    if (call == BCAST) {
        MPIX_Bcast_init(all, count, MPI_BYTE, root, comm, MPI_INFO_NULL, &request);
    } else if (call == ALLGATHER) {
        MPIX_Allgather_init(mine, count, MPI_BYTE, all, count, MPI_BYTE, comm, MPI_INFO_NULL, &request);
    } else {
        MPIX_Allgatherv_init(mine, count, MPI_BYTE, all, counts, places, MPI_BYTE, comm, MPI_INFO_NULL, &request);
    }
    for (int turn = 0; turn < (call == BCAST ? 1 : 2) && code == MPI_SUCCESS; turn++) {
        code = MPI_Start(&request);
        code = code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code;
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    return code;
}

static int run(enum way way, enum call call, int root, MPI_Comm comm)
{
    return way == BLOCKING      ? run_blocking(call, root, comm)
           : way == NONBLOCKING ? run_nonblocking(call, root, comm)
                                : run_persistent(call, root, comm);
}

// Of a peer that is gone there is no class in MPI 3.1: castoff adds one.
static bool may_be(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class == MPI_SUCCESS || class == MPI_ERR_TRUNCATE || class > MPI_ERR_LASTCODE;
}

static void check_bcast(enum mistake mistake, int code, int root, const char *what)
{
    int class;
    bool is_cut = rank != root && mistake == GIVES_MORE;
    MPI_Error_class(code, &class);
    co_test_expect(class == (is_cut ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "%s: class %d", what, class);
}

static void try_it(int row, enum way way, int length)
{
    MPI_Comm comm;
    int root = (row + length) % size;
    bool is_mistaken = rank == root;
    enum mistake mistake = table[row].mistake;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    lay_out(mistake, is_mistaken, length);
    int code = run(way, table[row].call, root, comm);
    co_test_expect(may_be(code), "%s, way %d, %d bytes: code %d", table[row].what, way, length, code);
    if (table[row].call == BCAST) {
        check_bcast(mistake, code, root, table[row].what);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    lay_out(MISTAKES, false, length);
    code = run_blocking(BCAST, 0, comm);
    co_test_expect(may_be(code), "%s, way %d, %d bytes: code %d of a broadcast after it", table[row].what, way, length,
                   code);
    co_test_expect(table[row].call != BCAST || code == MPI_SUCCESS, "%s: the communicator does not go on",
                   table[row].what);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {8, 700, 9000, MOST / 2};
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    mine = calloc(1, MOST);
    all = calloc(2 * RANKS, MOST);
    co_test_expect(mine != NULL && all != NULL, "memory");
    for (int row = 0; row < (int)(sizeof table / sizeof *table); row++) {
        for (int way = 0; way < WAYS; way++) {
            for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); i++) {
                try_it(row, (enum way)way, lengths[i]);
            }
        }
    }
    free(mine);
    free(all);
    return co_test_finish();
}
