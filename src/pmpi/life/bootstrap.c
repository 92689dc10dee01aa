// SPDX-License-Identifier: BSD-3-Clause
//
// Private communicators and the exchanges on them. Nodes are what native calls a node, or parts of it where the setting
// wants that, numbered by their first rank.
#include "pmpi/life/bootstrap.h"

#include "base/settings.h"
#include "pmpi/datatype/device_memory.h"
#include "pmpi/life/agreement.h"
#include "pmpi/life/process.h"
#include "pmpi/p2p/native_transfers.h"
#include "pmpi/life/progress_hook.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

static int to_errno(int code)
{
    return code == MPI_SUCCESS ? 0 : -EIO;
}

// A communicator like the predefined `comm`, of which `group` is. Not by Comm_dup: that chooses a context id by
// nonblocking collectives on `comm`, each of which takes a tag, counting down, and in Open MPI 4.1 the 24th and 25th
// tag are those by which MPI_Dist_graph_create receives from anybody (topo_base_dist_graph_create.c): a graph that is
// made just then hangs. What castoff makes must not bring programs nearer to that than they are; Comm_create_group
// takes none of these tags.
static int duplicate(MPI_Comm comm, MPI_Group group, MPI_Comm *copy)
{
    enum { ANY_TAG_OF_A_USER = 0x0ca5 };
    if (co_next.Comm_create_group(comm, group, ANY_TAG_OF_A_USER, copy) != MPI_SUCCESS) {
        *copy = CO_NO_HANDLE;
        return -EIO;
    }
    return to_errno(co_next.Comm_set_errhandler(*copy, co_next.errors_return));
}

int co_bootstrap_open(void)
{
    MPI_Group self = CO_NO_HANDLE;
    int error = to_errno(co_next.Comm_group(co_next.comm_world, &co_process.world_group));
    if (error == 0) {
        error = duplicate(co_next.comm_world, co_process.world_group, &co_process.world);
    }
    if (error == 0) {
        co_next.quiet = co_process.world;
        error = to_errno(co_next.Comm_group(co_next.comm_self, &self));
    }
    if (error == 0) {
        error = duplicate(co_next.comm_self, self, &co_process.self);
        co_next.Group_free(&self);
    }
    return error;
}

static void release(MPI_Comm *comm)
{
    if (*comm != CO_NO_HANDLE) {
        co_next.Comm_free(comm);
        *comm = CO_NO_HANDLE;
    }
}

void co_bootstrap_close(void)
{
    co_native_transfers_close();
    release(&co_process.node);
    release(&co_process.self);
    co_next.quiet = CO_NO_HANDLE;
    release(&co_process.world);
    if (co_process.world_group != CO_NO_HANDLE) {
        co_next.Group_free(&co_process.world_group);
        co_process.world_group = CO_NO_HANDLE;
    }
}

static int exchange_allgather(void *arg, const void *mine, void *all, size_t bytes_each)
{
    (void)arg;
    if (bytes_each > INT_MAX) {
        return -EINVAL;
    }
    int bytes = (int)bytes_each;
    return to_errno(co_next.Allgather(mine, bytes, co_next.byte, all, bytes, co_next.byte, co_process.world));
}

static int exchange_broadcast(void *arg, int root, void *data, size_t bytes)
{
    (void)arg;
    return bytes > INT_MAX ? -EINVAL : to_errno(co_next.Bcast(data, (int)bytes, co_next.byte, root, co_process.world));
}

static int exchange_minimum(void *arg, int *values, int count)
{
    (void)arg;
    return to_errno(co_next.Allreduce(MPI_IN_PLACE, values, count, co_next.integer, co_next.minimum, co_process.world));
}

static int exchange_barrier(void *arg)
{
    (void)arg;
    return to_errno(co_next.Barrier(co_process.world));
}

static int exchange_node_barrier(void *arg)
{
    (void)arg;
    return to_errno(co_next.Barrier(co_process.node));
}

static int exchange_node_minimum(void *arg, int mine)
{
    int least = 0;
    (void)arg;
    int code = co_next.Allreduce(&mine, &least, 1, co_next.integer, co_next.minimum, co_process.node);
    return code == MPI_SUCCESS ? least : -EIO;
}

static int exchange_node_broadcast(void *arg, void *data, size_t bytes)
{
    (void)arg;
    return bytes > INT_MAX ? -EINVAL : to_errno(co_next.Bcast(data, (int)bytes, co_next.byte, 0, co_process.node));
}

// Turns the first world rank of each rank's node into the number of its node, in place; returns the nodes.
static int number_nodes(int *first_of_rank, int size)
{
    int count = 0;
    for (int rank = 0; rank < size; rank++) {
        // The first rank of a node comes before the others, so it has its number when they ask for it.
        int first = first_of_rank[rank];
        first_of_rank[rank] = first == rank ? count++ : first_of_rank[first];
    }
    return count;
}

// Cuts what native calls a node into nodes of so many ranks, for those who want a network between ranks of one host.
static int cut_node(MPI_Comm *node, int most_ranks)
{
    MPI_Comm whole = *node;
    int rank = 0;
    co_next.Comm_rank(whole, &rank);
    if (co_next.Comm_split(whole, rank / most_ranks, rank, node) != MPI_SUCCESS) {
        *node = CO_NO_HANDLE;
    }
    co_next.Comm_free(&whole);
    return *node == CO_NO_HANDLE ? -EIO : 0;
}

static int find_nodes(int *node_of_rank)
{
    int first = co_process.rank, most_ranks = (int)co_setting_number(CO_SET_NODE_RANKS);
    if (co_next.Comm_split_type(co_process.world, MPI_COMM_TYPE_SHARED, co_process.rank, co_next.info_null,
                                &co_process.node) != MPI_SUCCESS) {
        co_process.node = CO_NO_HANDLE;
        return -EIO;
    }
    co_next.Comm_set_errhandler(co_process.node, co_next.errors_return);
    if (most_ranks > 0 && cut_node(&co_process.node, most_ranks) < 0) {
        return -EIO;
    }
    if (co_next.Allreduce(&co_process.rank, &first, 1, co_next.integer, co_next.minimum, co_process.node) !=
            MPI_SUCCESS ||
        co_next.Allgather(&first, 1, co_next.integer, node_of_rank, 1, co_next.integer, co_process.world) !=
            MPI_SUCCESS) {
        return -EIO;
    }
    co_process.node_count = number_nodes(node_of_rank, co_process.size);
    co_process.node_index = node_of_rank[co_process.rank];
    return 0;
}

int co_bootstrap_fill(struct co_bootstrap *bootstrap, int **node_of_rank)
{
    int *nodes = malloc((size_t)co_process.size * sizeof(int));
    if (!co_agreement_all(nodes != NULL)) {
        free(nodes);
        return -ENOMEM;
    }
    if (!co_agreement_all(find_nodes(nodes) == 0)) {
        free(nodes);
        return -EIO;
    }
    *bootstrap = (struct co_bootstrap){.world_rank = co_process.rank,
                                       .world_size = co_process.size,
                                       .allgather = exchange_allgather,
                                       .broadcast = exchange_broadcast,
                                       .minimum = exchange_minimum,
                                       .barrier = exchange_barrier,
                                       .node_barrier = exchange_node_barrier,
                                       .node_minimum = exchange_node_minimum,
                                       .node_broadcast = exchange_node_broadcast,
                                       .node_index = co_process.node_index,
                                       .node_count = co_process.node_count,
                                       .node_of_rank = nodes,
                                       .native_progress = co_progress_native,
                                       .needs_workers = co_next.family->progress_library == NULL,
                                       .native_takes_device_memory = co_device_memory_is_taken,
                                       .native = co_native_transfers_open(co_process.node_count)};
    co_next.Comm_rank(co_process.node, &bootstrap->node_rank);
    co_next.Comm_size(co_process.node, &bootstrap->node_size);
    *node_of_rank = nodes;
    return 0;
}
