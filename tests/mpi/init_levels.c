// SPDX-License-Identifier: BSD-3-Clause
// The thread level that the program gets for each level it asks for must be stock's, whatever the library
// needs for itself. Initialised with and without arguments; Query_thread, Is_thread_main, Initialized
// and Finalized answer as stock does; collectives work at every level.
// ranks: 2
// arguments: init
// arguments: single
// arguments: funneled
// arguments: serialized
// arguments: multiple
// arguments: multiple-without-arguments
// expect: same printed levels in every mode
#include "oracle/verdict.h"

#include <stdio.h>
#include <string.h>

static int required_level(const char *name)
{
    return strcmp(name, "single") == 0       ? MPI_THREAD_SINGLE
           : strcmp(name, "funneled") == 0   ? MPI_THREAD_FUNNELED
           : strcmp(name, "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                             : MPI_THREAD_MULTIPLE;
}

static const char *level_name(int level)
{
    switch (level) {
    case MPI_THREAD_SINGLE:
        return "single";
    case MPI_THREAD_FUNNELED:
        return "funneled";
    case MPI_THREAD_SERIALIZED:
        return "serialized";
    case MPI_THREAD_MULTIPLE:
        return "multiple";
    default:
        return "unknown";
    }
}

static void check_collectives(void)
{
    int value = co_test_rank() == 1 ? 4711 : 0;
    MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
    co_test_expect(value == 4711, "broadcast gave %d", value);
    int all[2] = {0, 0};
    value = 10 + co_test_rank();
    MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    co_test_expect(all[0] == 10 && all[1] == 11, "allgather gave %d, %d", all[0], all[1]);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "init";
    int provided = -1;
    int queried = -1;
    int flags[4] = {-1, -1, -1, -1};
    MPI_Initialized(&flags[0]);
    if (strcmp(how, "init") == 0) {
        MPI_Init(NULL, NULL);
    } else if (strchr(how, '-') != NULL) {
        MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    } else {
        MPI_Init_thread(&argc, &argv, required_level(how), &provided);
    }
    co_test_begin();
    MPI_Query_thread(&queried);
    MPI_Initialized(&flags[1]);
    MPI_Is_thread_main(&flags[2]);
    MPI_Finalized(&flags[3]);
    co_test_say("%s: provided %s, queried %s; flags %d %d %d %d; %d arguments\n", how, level_name(provided),
                level_name(queried), flags[0], flags[1], flags[2], flags[3], argc);
    check_collectives();
    int status = co_test_finish();
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized == 1 ? status : 1;
}
