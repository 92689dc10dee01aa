// SPDX-License-Identifier: BSD-3-Clause
// Buffers in memory that its own process alone reaches (memfd_secret), as in mappings of devices: neither a proxy nor
// another rank can read or write it, and native copies it. Where one sends from, receives into, or both, of one rank or
// of all, at an address that other memory had in the call before.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes CASTOFF_IBCAST=proxy CASTOFF_IALLGATHER=proxy CASTOFF_IALLGATHERV=proxy
// mpirun: --mca coll basic,self,libnbc
// expect: right bytes
// taken: MPI_Ialltoall MPI_Ialltoallv MPIX_Alltoall_init MPI_Ibcast MPI_Iallgather MPI_Iallgatherv
// report: counters["proxy_calls"] > 30
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_Alltoall_init
#endif

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#define BLOCK 40000
#define RANKS 8
#define ROOM ((size_t)84 * 4096) // whole pages

enum kind { ALLTOALL, ALLTOALLV, PLANNED, BCAST, ALLGATHER, ALLGATHERV, KINDS };

struct call {
    enum kind kind;
    int number;
    unsigned char *send, *receive;
    int counts[RANKS], places[RANKS];
    MPI_Request request;
};

static uint64_t seed_of(const struct call *call, int from, int to)
{
    return co_test_seed(from * RANKS + to, call->number, BLOCK);
}

static void make_secret(unsigned char *at)
{
    int file = (int)syscall(SYS_memfd_secret, 0);
    co_test_expect(file >= 0 && ftruncate(file, (off_t)ROOM) == 0 &&
                       mmap(at, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == at,
                   "no secret memory");
    close(file);
}

static void make_plain(unsigned char *at)
{
    co_test_expect(mmap(at, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at,
                   "no memory");
}

static void start(struct call *call)
{
    int root = call->number % co_test_size();
    switch (call->kind) {
    case ALLTOALL:
        MPI_Ialltoall(call->send, BLOCK, MPI_BYTE, call->receive, BLOCK, MPI_BYTE, MPI_COMM_WORLD, &call->request);
        break;
    case ALLTOALLV:
        MPI_Ialltoallv(call->send, call->counts, call->places, MPI_BYTE, call->receive, call->counts, call->places,
                       MPI_BYTE, MPI_COMM_WORLD, &call->request);
        break;
    case PLANNED:
        MPIX_Alltoall_init(call->send, BLOCK, MPI_BYTE, call->receive, BLOCK, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &call->request);
        MPI_Start(&call->request);
        break;
    case BCAST: // its one buffer
        MPI_Ibcast(root == co_test_rank() ? call->send : call->receive, BLOCK, MPI_BYTE, root, MPI_COMM_WORLD,
                   &call->request);
        break;
    case ALLGATHER:
        MPI_Iallgather(call->send, BLOCK, MPI_BYTE, call->receive, BLOCK, MPI_BYTE, MPI_COMM_WORLD, &call->request);
        break;
    default:
        MPI_Iallgatherv(call->send, BLOCK, MPI_BYTE, call->receive, call->counts, call->places, MPI_BYTE,
                        MPI_COMM_WORLD, &call->request);
    }
}

static void check(const struct call *call, const char *where)
{
    int self = co_test_rank(), root = call->number % co_test_size();
    for (int from = 0; from < co_test_size(); from++) {
        bool comes = call->kind != BCAST || (from == root && self != root);
        const unsigned char *block = call->kind == BCAST ? call->receive : call->receive + call->places[from];
        if (comes) {
            co_test_received(block, BLOCK, seed_of(call, from, call->kind >= BCAST ? 0 : self),
                             "%s: call %d of kind %d", where, call->number, call->kind);
        }
    }
}

static void run(enum kind kind, int number, unsigned char *send, unsigned char *receive, const char *where)
{
    struct call call = {.kind = kind, .number = number, .send = send, .receive = receive};
    bool is_uneven = kind == ALLTOALLV || kind == ALLGATHERV; // blocks in reverse, with a gap
    for (int of = 0; of < co_test_size(); of++) {
        call.counts[of] = BLOCK;
        call.places[of] = is_uneven ? (co_test_size() - 1 - of) * (BLOCK + 100) : of * BLOCK;
        co_test_pattern_fill(kind >= BCAST ? send : send + call.places[of], BLOCK,
                             seed_of(&call, co_test_rank(), kind >= BCAST ? 0 : of));
    }
    memset(receive, 0xEE, ROOM);
    start(&call);
    MPI_Wait(&call.request, MPI_STATUS_IGNORE);
    check(&call, where);
    if (kind == PLANNED) {
        memset(receive, 0xEE, ROOM);
        MPI_Start(&call.request);
        MPI_Wait(&call.request, MPI_STATUS_IGNORE);
        check(&call, where);
        MPI_Request_free(&call.request);
    }
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"plain", "secret send", "secret receive", "both secret", "secret of one rank"};
    int number = 0, file = (int)syscall(SYS_memfd_secret, 0);
    MPI_Init(&argc, &argv);
    if (file < 0) {
        MPI_Finalize();
        return CO_TEST_SKIP;
    }
    close(file);
    co_test_begin();
    unsigned char *send = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *receive = send + ROOM;
    for (int kind = 0; kind < KINDS; kind++) {
        for (int way = 0; way < 5; way++) {
            bool is_chosen = way < 4 || co_test_rank() == 1;
            ((way & 1) != 0 || way == 4) && is_chosen ? make_secret(send) : make_plain(send);
            ((way & 2) != 0 || way == 4) && is_chosen ? make_secret(receive) : make_plain(receive);
            run((enum kind)kind, number++, send, receive, names[way]);
        }
    }
    return co_test_finish();
}
