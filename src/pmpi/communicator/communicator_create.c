// SPDX-License-Identifier: BSD-3-Clause
//
// The calls that make communicators: native makes it, then castoff follows it. Two are handed on and not followed:
// members of an MPI_Comm_idup may not exchange anything when it returns, and intercommunicators stay native. Not hot.
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/communicator/communicator_hint.h"
#include "pmpi/communicator/communicators.h"
#include "pmpi/life/process.h"

static int follow_if(int code, const MPI_Comm *created, bool wants_off)
{
    if (code == MPI_SUCCESS && co_process_is_serving()) {
        co_communicator_follow(*created, wants_off);
    }
    return code;
}

// A duplicate carries the hints of its parent (MPI 3.1, section 6.4.2).
static bool is_switched_off(MPI_Comm comm)
{
    if (!co_process_is_serving()) {
        return false;
    }
    struct co_communicator *entry = co_communicators_find(comm);
    return entry != NULL && co_load_acquire(&entry->is_switched_off); // acquire C3
}

static bool says_off(MPI_Info info)
{
    return co_process_is_serving() && co_communicator_hint_read(info) == CO_HINT_SAYS_OFF;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    return follow_if(co_next_mpi_get()->Comm_dup(comm, newcomm), newcomm, is_switched_off(comm));
}

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    return follow_if(co_next_mpi_get()->Comm_dup_with_info(comm, info, newcomm), newcomm, says_off(info));
}

// Native makes a communicator of any group. Members that do not belong to the parent never made the call, and an
// exchange would wait for them; the program may still free what it got. The members of the parent answer alike.
static bool may_follow(MPI_Comm parent, const MPI_Comm *created)
{
    return *created == co_next.comm_null || co_communicator_has_members_of(parent, *created);
}

static int follow_group_if(int code, MPI_Comm parent, const MPI_Comm *created)
{
    if (code == MPI_SUCCESS && co_process_is_serving() && !may_follow(parent, created)) {
        return code;
    }
    return follow_if(code, created, false);
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    return follow_group_if(co_next_mpi_get()->Comm_create(comm, group, newcomm), comm, newcomm);
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    return follow_group_if(co_next_mpi_get()->Comm_create_group(comm, group, tag, newcomm), comm, newcomm);
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    return follow_if(co_next_mpi_get()->Comm_split(comm, color, key, newcomm), newcomm, false);
}

int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    return follow_if(co_next_mpi_get()->Comm_split_type(comm, split_type, key, info, newcomm), newcomm, says_off(info));
}

int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    return follow_if(co_next_mpi_get()->Intercomm_merge(intercomm, high, newintracomm), newintracomm, false);
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    return co_next_mpi_get()->Comm_idup(comm, newcomm, request);
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm bridge_comm, int remote_leader, int tag,
                          MPI_Comm *newintercomm)
{
    return co_next_mpi_get()->Intercomm_create(local_comm, local_leader, bridge_comm, remote_leader, tag, newintercomm);
}

int PMPI_Cart_create(MPI_Comm old_comm, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm *comm_cart)
{
    return follow_if(co_next_mpi_get()->Cart_create(old_comm, ndims, dims, periods, reorder, comm_cart), comm_cart,
                     false);
}

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *new_comm)
{
    return follow_if(co_next_mpi_get()->Cart_sub(comm, remain_dims, new_comm), new_comm, false);
}

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                      MPI_Comm *comm_graph)
{
    return follow_if(co_next_mpi_get()->Graph_create(comm_old, nnodes, index, edges, reorder, comm_graph), comm_graph,
                     false);
}

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int nodes[], const int degrees[], const int targets[],
                           const int weights[], MPI_Info info, int reorder, MPI_Comm *newcomm)
{
    return follow_if(
        co_next_mpi_get()->Dist_graph_create(comm_old, n, nodes, degrees, targets, weights, info, reorder, newcomm),
        newcomm, says_off(info));
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int sourceweights[],
                                    int outdegree, const int destinations[], const int destweights[], MPI_Info info,
                                    int reorder, MPI_Comm *comm_dist_graph)
{
    return follow_if(co_next_mpi_get()->Dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights,
                                                                   outdegree, destinations, destweights, info, reorder,
                                                                   comm_dist_graph),
                     comm_dist_graph, says_off(info));
}
