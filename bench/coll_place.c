// SPDX-License-Identifier: BSD-3-Clause
//
// Where the ranks are, as native MPI tells it: one line, on which `castoff bench --tune` says for what its rows hold.
// And on which core, where that is part of what is measured.
#define _GNU_SOURCE
#include "coll.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *wanted(int argc, char **argv)
{
    const char *value = "";
    for (int i = 1; i + 1 < argc; i++) {
        value = strcmp(argv[i], "--pin") == 0 ? argv[i + 1] : value;
    }
    return value;
}

// MPI has not begun, so the launcher's word counts.
bool coll_place_pin(int argc, char **argv)
{
    const char *pin = wanted(argc, argv), *text = getenv("OMPI_COMM_WORLD_RANK");
    text = text != NULL ? text : getenv("PMI_RANK"); // MPICH's
    long cores = sysconf(_SC_NPROCESSORS_ONLN), rank = text != NULL ? atol(text) : 0;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (text == NULL || cores < 2) {
        return false;
    }
    if (strcmp(pin, "shared") == 0) {
        CPU_SET((size_t)(rank % cores), &set);
    } else if (strcmp(pin, "measured") == 0) {
        for (long core = rank == 0 ? 0 : 1; core < (rank == 0 ? 1 : cores); core++) {
            CPU_SET((size_t)core, &set);
        }
    } else {
        return false;
    }
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

void coll_place_print(struct coll_run *run)
{
    MPI_Comm node;
    int rank, size, most, mine, nodes;
    MPI_Comm_split_type(run->control, MPI_COMM_TYPE_SHARED, run->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_size(node, &size);
    MPI_Comm_free(&node);
    mine = rank == 0;
    MPI_Allreduce(&mine, &nodes, 1, MPI_INT, MPI_SUM, run->control);
    MPI_Allreduce(&size, &most, 1, MPI_INT, MPI_MAX, run->control);
    if (run->rank == 0) {
        printf("place %d %d\n", nodes, most);
    }
}
