// SPDX-License-Identifier: BSD-3-Clause
// Native counts down the tags of nonblocking collectives on a communicator, and in Open MPI 4.1 the 24th and 25th are
// those of the messages of MPI_Dist_graph_create, which hangs when it comes just then. What castoff does at start must
// not move that point: after 20 or 21 collectives there is none, while a castoff that makes its own communicators by
// MPI_Comm_dup of MPI_COMM_WORLD, which takes three of these tags, hangs here every other time. One rank has all edges
// to tell, another gets them, and the others go ahead.
// ranks: 4
// arguments: 20
// arguments: 21
// expect: the graph as it was told
#include "oracle/verdict.h"

#include <stdlib.h>

#define EDGES 100000

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < atoi(argv[1]); i++) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    int *targets = calloc(EDGES, sizeof *targets), *weights = calloc(EDGES, sizeof *weights);
    int sources[] = {3, 2, 1, 0}, degrees[] = {EDGES / 4, EDGES / 4, EDGES / 4, EDGES / 4};
    MPI_Comm graph;
    MPI_Dist_graph_create(MPI_COMM_WORLD, co_test_rank() == 2 ? 4 : 0, sources, degrees, targets, weights,
                          MPI_INFO_NULL, 0, &graph);
    int in, out, is_weighted;
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &is_weighted);
    co_test_expect(in == (co_test_rank() == 0 ? EDGES : 0), "%d edges in", in);
    co_test_expect(out == EDGES / 4 && is_weighted, "%d edges out", out);
    MPI_Comm_free(&graph);
    free(weights);
    free(targets);
    return co_test_finish();
}
