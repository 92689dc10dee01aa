// SPDX-License-Identifier: BSD-3-Clause
// The stall watchdog of what is completed later: it names the call that the program has made, of persistent ones the
// one that made them, and of unequal gathers that one although their blocks are equal here. Nothing here is timed: rank
// 0 comes when it reads the line of rank 1, which waits.
// ranks: 2
// environment: CASTOFF_STALL_S=1
// modes: on
// expect: a line for each call, which names it
// taken: MPI_Iallgatherv MPIX_Bcast_init MPIX_Allgather_init MPIX_Allgatherv_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define INTS 3000

enum call { IALLGATHERV, BCAST_INIT, ALLGATHER_INIT, ALLGATHERV_INIT, CALLS };
static const char *const names[CALLS] = {"MPI_Iallgatherv", "MPIX_Bcast_init", "MPIX_Allgather_init",
                                         "MPIX_Allgatherv_init"};

static char pattern[200]; // of the log files; %r is the rank
static const int counts[2] = {INTS, INTS}, places[2] = {0, INTS};
static int all[2 * INTS];

static bool is_told(const char *name)
{
    char path[220], line[1000], what[80];
    bool is_there = false;
    snprintf(path, sizeof path, "%.*s1", (int)strlen(pattern) - 2, pattern);
    snprintf(what, sizeof what, " s: %s of ", name);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        is_there = is_there || (strstr(line, "no progress in MPI_Wait for ") != NULL && strstr(line, what) != NULL);
    }
    if (file != NULL) {
        fclose(file);
    }
    return is_there;
}

// As long as rank 1 has not said that it waits.
static void be_late(enum call call)
{
    while (co_test_rank() == 0 && !is_told(names[call])) {
        nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
    }
}

static void start(enum call call, MPI_Request *request)
{
    switch (call) {
    case IALLGATHERV:
        be_late(call);
        MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, MPI_COMM_WORLD, request);
        return;
    case BCAST_INIT:
        MPIX_Bcast_init(all, INTS, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request);
        break;
    case ALLGATHER_INIT:
        MPIX_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, INTS, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                            request);
        break;
    default:
        MPIX_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, MPI_COMM_WORLD,
                             MPI_INFO_NULL, request);
    }
    be_late(call);
    MPI_Start(request);
}

int main(int argc, char **argv)
{
    const char *folder = getenv("TMPDIR");
    // All ranks are children of one launcher.
    snprintf(pattern, sizeof pattern, "%s/castoff-stall.%d.%%r", folder != NULL ? folder : "/tmp", (int)getppid());
    setenv("CASTOFF_LOG_FILE", pattern, 1);
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (enum call call = IALLGATHERV; call < CALLS; call++) {
        MPI_Request request;
        all[co_test_rank() * INTS] = 7 + (int)call;
        start(call, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(all[0] == 7 + (int)call, "%s: %d came", names[call], all[0]);
        if (request != MPI_REQUEST_NULL) {
            MPI_Request_free(&request);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    char path[220];
    snprintf(path, sizeof path, "%.*s%d", (int)strlen(pattern) - 2, pattern, co_test_rank());
    remove(path);
    return co_test_finish();
}
