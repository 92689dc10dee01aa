// SPDX-License-Identifier: BSD-3-Clause
// A persistent collective that fails at one rank alone, by a mistake of the program: of allgathers one that gives more
// than the others expect, of a broadcast one that has less room. It keeps its request: it asks by
// MPI_Request_get_status whether it is over, and completes it when the others have done all that they do; or it
// completes it, and the request is gone. The others notice nothing, and start theirs again, and once more: nobody waits
// for the one that cannot start any more, and one after the other hears so by an error. Native is left out: it does not
// bring all to their ends.
// ranks: 2 3
// environment: CASTOFF_PROXY=yes CASTOFF_BCAST_INIT=proxy CASTOFF_ALLGATHER_INIT=proxy CASTOFF_ALLGATHERV_INIT=proxy
// modes: on faults damage
// complaint: error: MPIX?_[A-Z][a-z]*_init
// expect: every start ends, and the last one with an error
// taken: MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif

#define BYTES 3000
#define RANKS 8

enum kind { BCAST, ALLGATHER, ALLGATHERV, KINDS };

static unsigned char mine[2 * BYTES], all[RANKS * BYTES];
static int rank, size;

static MPI_Request make(enum kind kind, MPI_Comm comm, bool is_victim)
{
    int counts[RANKS], places[RANKS];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < size; i++) {
        counts[i] = BYTES - i;
        places[i] = i * BYTES;
    }
    if (kind == BCAST) {
        MPIX_Bcast_init(all, is_victim ? BYTES / 2 : BYTES, MPI_BYTE, 0, comm, MPI_INFO_NULL, &request);
    } else if (kind == ALLGATHER) {
        MPIX_Allgather_init(mine, is_victim ? BYTES + 1 : BYTES, MPI_BYTE, all, BYTES, MPI_BYTE, comm, MPI_INFO_NULL,
                            &request);
    } else {
        MPIX_Allgatherv_init(mine, is_victim ? BYTES + 1 : counts[rank], MPI_BYTE, all, counts, places, MPI_BYTE, comm,
                             MPI_INFO_NULL, &request);
    }
    return request;
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void fail(MPI_Request *request, bool completes)
{
    int flag = 0;
    co_test_expect(MPI_Start(request) == MPI_SUCCESS, "the start that fails");
    while (!flag && !completes) {
        MPI_Request_get_status(*request, &flag, MPI_STATUS_IGNORE);
    }
    if (completes) {
        int code = MPI_Wait(request, MPI_STATUS_IGNORE);
        co_test_expect(class_of(code) == MPI_ERR_TRUNCATE, "class %d where it failed", class_of(code));
    }
}

// The first start goes well; what comes then is an error in as many starts as there are ranks.
static void go_on(MPI_Request *request, enum kind kind)
{
    int starts = 0, code = MPI_SUCCESS;
    for (; code == MPI_SUCCESS && starts <= size; starts++) {
        code = MPI_Start(request);
        code = code == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : code;
        co_test_expect(starts > 0 || code == MPI_SUCCESS, "kind %d: class %d where nothing is wrong", kind,
                       class_of(code));
    }
    co_test_expect(code != MPI_SUCCESS, "kind %d: %d starts went well", kind, starts);
}

static void run(enum kind kind, MPI_Comm comm, bool completes)
{
    bool is_victim = rank == size - 1;
    MPI_Request request = make(kind, comm, is_victim);
    if (is_victim) {
        fail(&request, completes);
    } else {
        go_on(&request, kind);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_victim && !completes) {
        int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(class_of(code) == MPI_ERR_TRUNCATE, "class %d in the end", class_of(code));
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    int value = rank == 0 ? 4711 + (int)kind : 0;
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    co_test_expect(value == 4711 + (int)kind, "the communicator");
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    co_test_begin();
    rank = co_test_rank();
    size = co_test_size();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int completes = 0; completes < 2; completes++) {
        for (int kind = 0; kind < KINDS; kind++) {
            run((enum kind)kind, comm, completes);
        }
    }
    MPI_Comm_free(&comm);
    return co_test_finish();
}
