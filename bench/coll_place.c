// SPDX-License-Identifier: BSD-3-Clause
//
// Where the ranks are, as native MPI tells it: one line, on which `castoff bench --tune` says for what its rows hold.
#include "coll.h"

#include <stdio.h>

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
