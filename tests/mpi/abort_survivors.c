// SPDX-License-Identifier: BSD-3-Clause
// One rank is killed in a job whose launcher lets the others live (--enable-recovery) and whose communicator
// returns errors: each of the others must get an error of MPI out of a collective, and says so. Arguments: the size,
// and which one, without an allgather: messages (exchanged with that rank), ibcast (of another root each time),
// allgatherv, iallgatherv, persistent-bcast, persistent-allgather, persistent-allgatherv.
// Only for the laboratories, where a death is told across hosts: tests/lab/castoff_test_inside.sh.
// ranks: 4
// modes: none
// arguments: 8
// expect: a line of each survivor
#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RANKS 8

static char *mine, *all;
static int bytes, rank, ranks;
static int counts[RANKS], places[RANKS];
static MPI_Request planned = MPI_REQUEST_NULL;

// The last rank with each of the others in turn.
static int exchange(void)
{
    int first = rank == ranks - 1 ? 0 : ranks - 1, last = rank == ranks - 1 ? ranks - 2 : ranks - 1;
    int error = MPI_SUCCESS;
    for (int peer = first; peer <= last && error == MPI_SUCCESS; peer++) {
        error = MPI_Sendrecv(mine, bytes, MPI_CHAR, peer, 0, all, bytes, MPI_CHAR, peer, 0, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    return error;
}

static int wait_for(int error, MPI_Request *request)
{
    return error == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static int start(void)
{
    return wait_for(MPI_Start(&planned), &planned);
}

// Of another length on each rank.
static void lay_out(void)
{
    for (int i = 0, at = 0; i < ranks; i++) {
        counts[i] = i == 0 ? bytes : bytes / (i + 1);
        places[i] = at;
        at += counts[i];
    }
}

static int plan(const char *what)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    lay_out();
    if (strcmp(what, "persistent-bcast") == 0) {
        return MPIX_Bcast_init(mine, bytes, MPI_CHAR, 0, comm, MPI_INFO_NULL, &planned);
    }
    if (strcmp(what, "persistent-allgather") == 0) {
        return MPIX_Allgather_init(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, comm, MPI_INFO_NULL, &planned);
    }
    return strcmp(what, "persistent-allgatherv") == 0
               ? MPIX_Allgatherv_init(mine, counts[rank], MPI_CHAR, all, counts, places, MPI_CHAR, comm, MPI_INFO_NULL,
                                      &planned)
               : MPI_SUCCESS;
}

static int call(const char *what, int turn)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    if (strcmp(what, "messages") == 0) {
        return exchange();
    }
    if (strncmp(what, "persistent", 10) == 0) {
        return start();
    }
    if (strcmp(what, "ibcast") == 0) {
        return wait_for(MPI_Ibcast(mine, bytes, MPI_CHAR, turn % ranks, comm, &request), &request);
    }
    if (strcmp(what, "allgatherv") == 0) {
        return MPI_Allgatherv(mine, counts[rank], MPI_CHAR, all, counts, places, MPI_CHAR, comm);
    }
    if (strcmp(what, "iallgatherv") == 0) {
        return wait_for(MPI_Iallgatherv(mine, counts[rank], MPI_CHAR, all, counts, places, MPI_CHAR, comm, &request),
                        &request);
    }
    return MPI_Allgather(mine, bytes, MPI_CHAR, all, bytes, MPI_CHAR, comm);
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    bytes = argc > 1 ? atoi(argv[1]) : 8;
    mine = calloc(1, (size_t)bytes);
    all = calloc((size_t)ranks, (size_t)bytes);
    int error = plan(what);
    for (int i = 0; i < 100000 && error == MPI_SUCCESS; i++) {
        if (i == 50 && rank == ranks - 1) {
            kill(getpid(), SIGKILL);
        }
        error = call(what, i);
    }
    int class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    printf("rank %d: %s\n", rank, class == MPI_SUCCESS ? "no error" : "an error");
    fflush(stdout);
    _exit(0); // MPI_Finalize would wait for the dead
}
