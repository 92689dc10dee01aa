// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives with the neighbours in a topology, blocking and not, recorded: what is sent and received as the call
// counts it, for those with a count for each neighbour the sums. Any thread.
#include "record/recorder.h"

#include <pthread.h>

static struct {
    __typeof__(PMPI_Topo_test) *Topo_test;
    __typeof__(PMPI_Cartdim_get) *Cartdim_get;
    __typeof__(PMPI_Graph_neighbors_count) *Graph_neighbors_count;
    __typeof__(PMPI_Dist_graph_neighbors_count) *Dist_graph_neighbors_count;
} ask;

static void find(void)
{
    *(void **)&ask.Topo_test = co_next_mpi_find("PMPI_Topo_test");
    *(void **)&ask.Cartdim_get = co_next_mpi_find("PMPI_Cartdim_get");
    *(void **)&ask.Graph_neighbors_count = co_next_mpi_find("PMPI_Graph_neighbors_count");
    *(void **)&ask.Dist_graph_neighbors_count = co_next_mpi_find("PMPI_Dist_graph_neighbors_count");
}

struct neighbours {
    int before, behind; // who send to us, whom we send to
};

// Of a communicator that native has just accepted in such a call.
static struct neighbours count(const struct co_recorded *call, MPI_Comm comm)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const struct co_record_known *known = &call->thread->communicators[co_record_slot(comm, CO_RECORD_COMMUNICATORS)];
    struct neighbours found = {0, 0};
    int kind = MPI_UNDEFINED, weighted;
    pthread_once(&once, find);
    if (call->has_failed || ask.Topo_test(comm, &kind) != MPI_SUCCESS) {
        return found;
    }
    if (kind == MPI_CART) {
        ask.Cartdim_get(comm, &found.before);
        found.before *= 2;
        found.behind = found.before;
    } else if (kind == MPI_GRAPH) {
        ask.Graph_neighbors_count(comm, known->rank, &found.before);
        found.behind = found.before;
    } else if (kind == MPI_DIST_GRAPH) {
        ask.Dist_graph_neighbors_count(comm, &found.before, &found.behind, &weighted);
    }
    return found;
}

static int64_t sum(const int counts[], int neighbours)
{
    int64_t all = 0;
    for (int i = 0; i < neighbours; i++) {
        all += counts[i];
    }
    return all;
}

static void note(struct co_recorded *call, int64_t count_out, MPI_Datatype type, int64_t count_in,
                 MPI_Datatype receive_type, MPI_Comm comm)
{
    co_record_value(call, count_out);
    co_record_type(call, type);
    co_record_value(call, count_in);
    co_record_type(call, receive_type);
    co_record_comm(call, comm);
}

static void note_gathered(struct co_recorded *call, int count_out, MPI_Datatype type, const int counts[],
                          MPI_Datatype receive_type, MPI_Comm comm)
{
    co_record_look_up(call, comm);
    note(call, count_out, type, sum(counts, count(call, comm).before), receive_type, comm);
}

static void note_exchanged(struct co_recorded *call, const int send_counts[], MPI_Datatype type, const int counts[],
                           MPI_Datatype receive_type, MPI_Comm comm)
{
    co_record_look_up(call, comm);
    struct neighbours neighbours = count(call, comm);
    note(call, sum(send_counts, neighbours.behind), type, sum(counts, neighbours.before), receive_type, comm);
}

// Both forms of a call: parameters and arguments as lists, without parentheses around them in the end.
#define LIST(...) __VA_ARGS__
#define BOTH(name, parameters, arguments, notes)                                                                       \
    CO_RECORD(Neighbor_##name, (LIST parameters), (LIST arguments), notes);                                            \
    CO_RECORD(Ineighbor_##name, (LIST parameters, MPI_Request * handle), (LIST arguments, handle), notes;              \
              co_record_request(&call, handle))

#define ONE_COUNT                                                                                                      \
    (const void *send, int count, MPI_Datatype type, void *receive, int receive_count, MPI_Datatype receive_type,      \
     MPI_Comm comm)
#define ONE_COUNT_ARGUMENTS (send, count, type, receive, receive_count, receive_type, comm)

BOTH(allgather, ONE_COUNT, ONE_COUNT_ARGUMENTS, note(&call, count, type, receive_count, receive_type, comm));
BOTH(alltoall, ONE_COUNT, ONE_COUNT_ARGUMENTS, note(&call, count, type, receive_count, receive_type, comm));
BOTH(allgatherv,
     (const void *send, int count, MPI_Datatype type, void *receive, const int counts[], const int places[],
      MPI_Datatype receive_type, MPI_Comm comm),
     (send, count, type, receive, counts, places, receive_type, comm),
     note_gathered(&call, count, type, counts, receive_type, comm));
BOTH(alltoallv,
     (const void *send, const int send_counts[], const int send_places[], MPI_Datatype type, void *receive,
      const int counts[], const int places[], MPI_Datatype receive_type, MPI_Comm comm),
     (send, send_counts, send_places, type, receive, counts, places, receive_type, comm),
     note_exchanged(&call, send_counts, type, counts, receive_type, comm));
BOTH(alltoallw,
     (const void *send, const int send_counts[], const MPI_Aint send_places[], const MPI_Datatype types[],
      void *receive, const int counts[], const MPI_Aint places[], const MPI_Datatype receive_types[], MPI_Comm comm),
     (send, send_counts, send_places, types, receive, counts, places, receive_types, comm),
     co_record_comm(&call, comm));
