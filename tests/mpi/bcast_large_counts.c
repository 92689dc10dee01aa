// SPDX-License-Identifier: BSD-3-Clause
// MPI 4 has each call in a form for counts that are no int (MPI_Bcast_c), and members of one call may use either: here
// ranks take turns. Blocking, nonblocking and persistent broadcasts and allgathers, equal and unequal; blocks that lie
// further apart than an int says; types that were made with such counts, one of them with bytes that lie in no row.
// Open MPI up to 5.0 has none of these forms.
// ranks: 2 3
// expect: right bytes, whichever form each member uses
// taken: MPI_Bcast MPI_Ibcast MPIX_Bcast_init MPI_Allgather MPI_Iallgather MPI_Allgatherv MPI_Iallgatherv
// report: calls["MPIX_Allgather_init"]["taken"] > 0 and calls["MPIX_Allgatherv_init"]["taken"] > 0
#define _GNU_SOURCE // MAP_ANONYMOUS
#include "oracle/verdict.h"

#if MPI_VERSION < 4 || defined(OPEN_MPI)

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return co_test_skip("this MPI has no calls for large counts");
}

#else

#include <string.h>
#include <sys/mman.h>

enum { BLOCK = 3000, MOST_RANKS = 8 };
#define FAR_APART ((MPI_Aint)1 << 32) // bytes

static unsigned char mine[BLOCK], all[MOST_RANKS * BLOCK];
static int rank, ranks, operation;

// Whose turn it is to use the large form.
static bool is_large(void)
{
    return (rank + operation) % 2 == 0;
}

static void run(MPI_Request *request, bool is_persistent)
{
    if (is_persistent) {
        MPI_Start(request);
    }
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (is_persistent) {
        MPI_Request_free(request);
    }
}

enum { BLOCKING, NONBLOCKING, PERSISTENT, KINDS };

static void broadcast(int kind, int count, MPI_Datatype type, size_t bytes)
{
    int root = ++operation % ranks;
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    uint64_t seed = co_test_seed(root, operation, bytes);
    memset(mine, 0xee, sizeof mine);
    if (rank == root) {
        co_test_pattern_fill(mine, bytes, seed);
    }
    if (kind == BLOCKING) {
        is_large() ? MPI_Bcast_c(mine, count, type, root, comm) : MPI_Bcast(mine, count, type, root, comm);
    } else if (kind == NONBLOCKING) {
        is_large() ? MPI_Ibcast_c(mine, count, type, root, comm, &request)
                   : MPI_Ibcast(mine, count, type, root, comm, &request);
        run(&request, false);
    } else {
        is_large() ? MPI_Bcast_init_c(mine, count, type, root, comm, MPI_INFO_NULL, &request)
                   : MPI_Bcast_init(mine, count, type, root, comm, MPI_INFO_NULL, &request);
        run(&request, true);
    }
    co_test_received(mine, bytes, seed, "broadcast %d of kind %d", operation, kind);
}

static void fill_mine(int bytes)
{
    operation++;
    memset(all, 0xee, sizeof all);
    co_test_pattern_fill(mine, (size_t)bytes, co_test_seed(rank, operation, (size_t)bytes));
}

static void gather(int kind, int bytes)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_BYTE;
    MPI_Request request;
    fill_mine(bytes);
    if (kind == BLOCKING) {
        is_large() ? MPI_Allgather_c(mine, bytes, type, all, bytes, type, comm)
                   : MPI_Allgather(mine, bytes, type, all, bytes, type, comm);
    } else if (kind == NONBLOCKING) {
        is_large() ? MPI_Iallgather_c(mine, bytes, type, all, bytes, type, comm, &request)
                   : MPI_Iallgather(mine, bytes, type, all, bytes, type, comm, &request);
        run(&request, false);
    } else {
        is_large() ? MPI_Allgather_init_c(mine, bytes, type, all, bytes, type, comm, MPI_INFO_NULL, &request)
                   : MPI_Allgather_init(mine, bytes, type, all, bytes, type, comm, MPI_INFO_NULL, &request);
        run(&request, true);
    }
    for (int from = 0; from < ranks; from++) {
        co_test_received(all + from * bytes, (size_t)bytes, co_test_seed(from, operation, (size_t)bytes),
                         "allgather %d of kind %d, block %d", operation, kind, from);
    }
}

// Blocks of unequal lengths, or of equal ones, in turn.
static int length_of(int from)
{
    return operation % 3 == 0 ? 700 : 100 + from * 37;
}

static void gatherv_small(int kind, void *receive, const int *counts, const int *places)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_BYTE;
    MPI_Request request;
    if (kind == BLOCKING) {
        MPI_Allgatherv(mine, counts[rank], type, receive, counts, places, type, comm);
        return;
    }
    if (kind == NONBLOCKING) {
        MPI_Iallgatherv(mine, counts[rank], type, receive, counts, places, type, comm, &request);
    } else {
        MPI_Allgatherv_init(mine, counts[rank], type, receive, counts, places, type, comm, MPI_INFO_NULL, &request);
    }
    run(&request, kind == PERSISTENT);
}

static void gatherv_large(int kind, void *receive, const MPI_Count *counts, const MPI_Aint *places)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Datatype type = MPI_BYTE;
    MPI_Request request;
    if (kind == BLOCKING) {
        MPI_Allgatherv_c(mine, counts[rank], type, receive, counts, places, type, comm);
        return;
    }
    if (kind == NONBLOCKING) {
        MPI_Iallgatherv_c(mine, counts[rank], type, receive, counts, places, type, comm, &request);
    } else {
        MPI_Allgatherv_init_c(mine, counts[rank], type, receive, counts, places, type, comm, MPI_INFO_NULL, &request);
    }
    run(&request, kind == PERSISTENT);
}

// `apart`: the large form has its blocks so far apart, in `room`.
static void gatherv(int kind, unsigned char *room, MPI_Aint apart)
{
    int counts[MOST_RANKS], places[MOST_RANKS];
    MPI_Count large_counts[MOST_RANKS];
    MPI_Aint large_places[MOST_RANKS];
    fill_mine(BLOCK);
    unsigned char *receive = is_large() ? room : all;
    for (int from = 0; from < ranks; from++) {
        large_counts[from] = counts[from] = length_of(from);
        places[from] = from * BLOCK;
        large_places[from] = from * apart;
    }
    co_test_pattern_fill(mine, (size_t)counts[rank], co_test_seed(rank, operation, (size_t)counts[rank]));
    if (is_large()) {
        gatherv_large(kind, receive, large_counts, large_places);
    } else {
        gatherv_small(kind, receive, counts, places);
    }
    for (int from = 0; from < ranks; from++) {
        size_t bytes = (size_t)counts[from];
        co_test_received(receive + (is_large() ? large_places[from] : places[from]), bytes,
                         co_test_seed(from, operation, bytes), "allgatherv %d of kind %d, block %d", operation, kind,
                         from);
    }
}

// Made with such a count, and without: of three ints every second one, so the others of `mine` stay as they were.
static void types(void)
{
    MPI_Datatype row, gaps;
    MPI_Type_contiguous_c(10, MPI_INT, &row);
    MPI_Type_vector_c(3, 1, 2, MPI_INT, &gaps);
    MPI_Type_commit(&row);
    MPI_Type_commit(&gaps);
    for (int kind = 0; kind < KINDS; kind++) {
        broadcast(kind, 20, row, 800);
        int values[5] = {-1, -1, -1, -1, -1}, root = ++operation % ranks;
        for (int i = 0; rank == root && i < 5; i++) {
            values[i] = 100 * operation + i;
        }
        is_large() ? MPI_Bcast_c(values, 1, gaps, root, MPI_COMM_WORLD)
                   : MPI_Bcast(values, 1, gaps, root, MPI_COMM_WORLD);
        for (int i = 0; i < 5; i++) {
            int wanted = i % 2 == 0 || rank == root ? 100 * operation + i : -1;
            co_test_expect(values[i] == wanted, "gaps: %d at %d instead of %d", values[i], i, wanted);
        }
    }
    MPI_Type_free(&row);
    MPI_Type_free(&gaps);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    ranks = co_test_size();
    size_t bytes = (size_t)FAR_APART * MOST_RANKS;
    unsigned char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    for (int round = 0; round < 4; round++) {
        for (int kind = 0; kind < KINDS; kind++) {
            broadcast(kind, 1 + 999 * round, MPI_BYTE, (size_t)(1 + 999 * round));
            gather(kind, 1 + 333 * round);
            gatherv(kind, all, BLOCK);
        }
    }
    for (int kind = 0; room != MAP_FAILED && kind < KINDS; kind++) {
        gatherv(kind, room, FAR_APART);
        gatherv(kind, room, FAR_APART);
    }
    types();
    return co_test_finish();
}

#endif
