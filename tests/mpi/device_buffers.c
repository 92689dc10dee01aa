// SPDX-License-Identifier: BSD-3-Clause
// Buffers that the processor cannot touch, on an MPI below that says it takes such: this program answers in its place,
// and loads a library that stands for the driver only after MPI_Init. All three collectives, each side by turns on the
// device, in managed memory that is there, or on the host, registered or not; blocks in a row and with gaps, in
// place and not, two Iallgathers at a time into gaps of each other.
// ranks: 2 3
// arguments: cuda
// arguments: rocm
// environment: CASTOFF_P2P=yes
// modes: on faults damage
// expect: right bytes, gaps as they were; messages, here in the host's memory, are all native
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
// report: calls["MPI_Sendrecv"]["taken"] == 0
// report: list(calls["MPI_Sendrecv"]["declined"]) == ["native_takes_device_memory"]
#define _GNU_SOURCE
#include "oracle/verdict.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTS 20000
#define MOST_RANKS 8
#define DEVICE_BYTES ((size_t)64 << 20) // as in tool/device_driver.c

int MPIX_Query_cuda_support(void);
int MPIX_Query_rocm_support(void);

static const char *kind = "none";
static char *device; // the driver's memory, the upper half of it managed
static void (*fill)(void *to, const void *from, size_t bytes);
static int (*contexts)(void);
static int host_area[2][INTS * MOST_RANKS];

int MPIX_Query_cuda_support(void)
{
    return strcmp(kind, "cuda") == 0;
}

int MPIX_Query_rocm_support(void)
{
    return strcmp(kind, "rocm") == 0;
}

// Its library lies beside the program.
static bool load_driver(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    snprintf(strrchr(path, '/'), 64, "/libdevice_driver_%s.so", kind);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return false;
    }
    void *(*open_device)(const void *host, size_t bytes) = NULL;
    *(void **)&open_device = dlsym(library, "device_driver_open");
    *(void **)&fill = dlsym(library, "device_driver_fill");
    *(void **)&contexts = dlsym(library, "device_driver_contexts");
    device = open_device(host_area[0], sizeof host_area[0]);
    return device != NULL;
}

enum where { HOST, DEVICE, MANAGED }; // of the host the first area is registered, the second not

// This turn's choice, other ranks have others.
static void *area(int which, enum where where)
{
    size_t begin = where == MANAGED ? DEVICE_BYTES / 2 : 0;
    return where == HOST ? (void *)host_area[which] : (void *)(device + begin + (size_t)which * sizeof host_area[0]);
}

static int copy[INTS * MOST_RANKS];

static void put(void *to, int ints, int stride, uint64_t seed)
{
    for (int i = 0; i < ints * stride; i++) {
        copy[i] = i % stride == 0 ? co_test_pattern_int(seed, (size_t)(i / stride)) : -7;
    }
    fill(to, copy, (size_t)(ints * stride) * sizeof(int));
}

// Every other int is a gap where the stride is 2, which keeps what it had.
static void check(const void *from, int ints, int stride, uint64_t seed, const char *what)
{
    int wrong = 0;
    fill(copy, from, (size_t)(ints * stride) * sizeof(int));
    for (int i = 0; i < ints * stride; i++) {
        wrong += copy[i] != (i % stride == 0 ? co_test_pattern_int(seed, (size_t)(i / stride)) : -7);
    }
    co_test_expect(wrong == 0, "%s: %d ints of %d, stride %d, are wrong", what, wrong, ints, stride);
}

// An int and, with stride 2, a gap behind it.
static MPI_Datatype make_type(int stride)
{
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)((size_t)stride * sizeof(int)), &type);
    MPI_Type_commit(&type);
    return type;
}

static void broadcast(int turn, int ints, int stride, enum where where)
{
    int root = turn % co_test_size();
    MPI_Datatype type = make_type(stride);
    void *buffer = area(0, where);
    uint64_t seed = co_test_seed(root, turn, (size_t)ints);
    put(buffer, ints, stride, co_test_rank() == root ? seed : seed + 1);
    MPI_Bcast(buffer, ints, stride == 1 ? MPI_INT : type, root, MPI_COMM_WORLD);
    check(buffer, ints, stride, seed, "broadcast");
    MPI_Type_free(&type);
}

static void gather(int turn, int ints, int stride, enum where where, bool is_blocking)
{
    MPI_Datatype type = make_type(stride), given = stride == 1 ? MPI_INT : type;
    bool in_place = (turn + co_test_rank()) % 3 == 0;
    int *all = area(0, where);
    void *mine = area(1, (enum where)((turn + co_test_rank() / 2) % 3));
    uint64_t seed = co_test_seed(co_test_rank(), turn, (size_t)ints);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int rank = 0; rank < co_test_size(); rank++) {
        bool is_own = in_place && rank == co_test_rank();
        put(all + rank * ints * stride, ints, stride, is_own ? seed : seed + 1);
    }
    put(mine, ints, stride, seed);
    const void *send = in_place ? MPI_IN_PLACE : mine;
    if (is_blocking) {
        MPI_Allgather(send, ints, given, all, ints, given, MPI_COMM_WORLD);
    } else {
        MPI_Iallgather(send, ints, given, all, ints, given, MPI_COMM_WORLD, &request);
        MPI_Type_free(&type);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int rank = 0; rank < co_test_size(); rank++) {
        check(all + rank * ints * stride, ints, stride, co_test_seed(rank, turn, (size_t)ints), "gathered block");
    }
    if (type != MPI_DATATYPE_NULL) {
        MPI_Type_free(&type);
    }
}

// The even ints by one, the odd ones by the other.
static void gather_into_gaps(int ints)
{
    MPI_Datatype type = make_type(2);
    int *all = area(0, DEVICE), *mine = area(1, DEVICE), ranks = co_test_size(), wrong = 0;
    MPI_Request requests[2];
    for (int way = 0; way < 2; way++) {
        put(mine + way * ints, ints, 1, co_test_seed(co_test_rank(), way, 5));
        MPI_Iallgather(mine + way * ints, ints, MPI_INT, all + way, ints, type, MPI_COMM_WORLD, &requests[way]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    fill(copy, all, (size_t)(2 * ints * ranks) * sizeof(int));
    for (int i = 0; i < 2 * ints * ranks; i++) {
        int rank = i / 2 / ints;
        wrong += copy[i] != co_test_pattern_int(co_test_seed(rank, i % 2, 5), (size_t)(i / 2 % ints));
    }
    co_test_expect(wrong == 0, "gaps of each other: %d of %d ints are wrong", wrong, 2 * ints * ranks);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    kind = argc > 1 ? argv[1] : "none";
    MPI_Init(&argc, &argv);
    co_test_begin();
    if (!load_driver()) {
        return co_test_skip("no library that stands for a driver");
    }
    for (int turn = 0; turn < 48; turn++) {
        int ints = turn % 4 == 0 ? INTS / 2 : 1 + turn * 37, stride = 1 + turn % 2;
        enum where where = (enum where)((turn / 2 + co_test_rank()) % 3);
        broadcast(turn, ints, stride, where);
        gather(turn, ints, stride, where, true);
        gather(turn + 1, ints, stride, where, false);
    }
    gather_into_gaps(1000);
    int given = co_test_rank(), got = -1, next = (given + 1) % co_test_size();
    int before = (given + co_test_size() - 1) % co_test_size();
    MPI_Sendrecv(&given, 1, MPI_INT, next, 3, &got, 1, MPI_INT, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    co_test_expect(got == before, "a message from %d came as from %d", before, got);
    co_test_expect(contexts() == 0, "%d contexts are left", contexts());
    return co_test_finish();
}
