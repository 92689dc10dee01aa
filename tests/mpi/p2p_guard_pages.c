// SPDX-License-Identifier: BSD-3-Clause
// Buffers that end right before a page that nobody may touch, or begin right behind one, and buffers that may only be
// read where they are sent from: messages and collectives of sizes around every border neither read nor write a byte
// beside them, and write nothing where they only send.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: right bytes, no fault
// taken: MPI_Isend MPI_Irecv MPI_Bcast MPI_Allgather
#include "oracle/verdict.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { AT_BEGIN, AT_END, PLACES };

static const size_t sizes[] = {1, 7, 65, 1024, 4095, 4097, 9000, 65537, 200000, 1048577};

// A buffer between two pages that may not be touched.
struct fenced {
    char *pages;
    size_t bytes;
    char *buffer;
};

static struct fenced make(size_t bytes, int place)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    struct fenced fenced = {.bytes = inner + 2 * page};
    fenced.pages = mmap(NULL, fenced.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (fenced.pages == MAP_FAILED || mprotect(fenced.pages + page, inner, PROT_READ | PROT_WRITE) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fenced.buffer = fenced.pages + page + (place == AT_END ? inner - bytes : 0);
    return fenced;
}

static void forbid_writes(const struct fenced *fenced)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (mprotect(fenced->pages + page, fenced->bytes - 2 * page, PROT_READ) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void drop(const struct fenced *fenced)
{
    munmap(fenced->pages, fenced->bytes);
}

static void messages(size_t bytes, int place)
{
    int rank = co_test_rank(), ranks = co_test_size();
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    struct fenced out = make(bytes, place), in = make(bytes, place);
    MPI_Request requests[2];
    co_test_pattern_fill(out.buffer, bytes, co_test_seed(rank, 1, bytes));
    forbid_writes(&out);
    MPI_Irecv(in.buffer, (int)bytes, MPI_BYTE, previous, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.buffer, (int)bytes, MPI_BYTE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    co_test_received(in.buffer, bytes, co_test_seed(previous, 1, bytes), "%zu bytes of a message", bytes);
    drop(&out);
    drop(&in);
}

static void collectives(size_t bytes, int place, int root)
{
    int rank = co_test_rank(), ranks = co_test_size();
    struct fenced out = make(bytes, place), all = make(bytes * (size_t)ranks, place);
    co_test_pattern_fill(out.buffer, bytes, co_test_seed(root, 2, bytes));
    if (rank == root) {
        forbid_writes(&out);
    }
    MPI_Bcast(out.buffer, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    co_test_received(out.buffer, bytes, co_test_seed(root, 2, bytes), "%zu bytes of a broadcast", bytes);
    drop(&out);
    out = make(bytes, place);
    co_test_pattern_fill(out.buffer, bytes, co_test_seed(rank, 3, bytes));
    forbid_writes(&out);
    MPI_Allgather(out.buffer, (int)bytes, MPI_BYTE, all.buffer, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++) {
        co_test_received(all.buffer + (size_t)i * bytes, bytes, co_test_seed(i, 3, bytes), "%zu bytes of block %d",
                         bytes, i);
    }
    drop(&out);
    drop(&all);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int place = 0; place < PLACES; place++) {
            messages(sizes[i], place);
            collectives(sizes[i], place, (int)i % co_test_size());
        }
    }
    return co_test_finish();
}
