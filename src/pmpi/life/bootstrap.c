// SPDX-License-Identifier: BSD-3-Clause
//
// Private communicators and the exchanges on them. Nodes are what native calls a node, or parts of it where the setting
// wants that. Native knows them from the launcher, and so do we, without an exchange; only where that does not tell
// does native have to split the world.
#include "pmpi/life/bootstrap.h"

#include "base/settings.h"
#include "pmpi/datatype/device_memory.h"
#include "pmpi/life/failure.h"
#include "pmpi/life/process.h"
#include "pmpi/p2p/native_transfers.h"
#include "pmpi/life/progress_hook.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

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
    return co_failure_errno(co_next.Comm_set_errhandler(*copy, co_next.errors_return));
}

int co_bootstrap_open(void)
{
    MPI_Group self = CO_NO_HANDLE;
    int error = co_failure_errno(co_next.Comm_group(co_next.comm_world, &co_process.world_group));
    if (error == 0) {
        error = duplicate(co_next.comm_world, co_process.world_group, &co_process.world);
    }
    if (error == 0) {
        co_next.quiet = co_process.world;
        error = co_failure_errno(co_next.Comm_group(co_next.comm_self, &self));
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

static void release_group(MPI_Group *group)
{
    if (*group != CO_NO_HANDLE) {
        co_next.Group_free(group);
        *group = CO_NO_HANDLE;
    }
}

void co_bootstrap_close(void)
{
    co_native_transfers_close();
    if (co_process.node != co_process.world) {
        release(&co_process.node);
    }
    co_process.node = CO_NO_HANDLE;
    release(&co_process.self);
    co_next.quiet = CO_NO_HANDLE;
    release(&co_process.world);
    release_group(&co_process.node_group);
    release_group(&co_process.world_group);
}

static int exchange_allgather(void *arg, const void *mine, void *all, size_t bytes_each)
{
    (void)arg;
    if (bytes_each > INT_MAX) {
        return -EINVAL;
    }
    int bytes = (int)bytes_each;
    return co_failure_errno(co_next.Allgather(mine, bytes, co_next.byte, all, bytes, co_next.byte, co_process.world));
}

static int exchange_broadcast(void *arg, int root, void *data, size_t bytes)
{
    (void)arg;
    return bytes > INT_MAX ? -EINVAL
                           : co_failure_errno(co_next.Bcast(data, (int)bytes, co_next.byte, root, co_process.world));
}

static int exchange_minimum(void *arg, int *values, int count)
{
    (void)arg;
    return co_failure_errno(
        co_next.exchange_allreduce(MPI_IN_PLACE, values, count, co_next.integer, co_next.minimum, co_process.world));
}

static int exchange_barrier(void *arg)
{
    (void)arg;
    return co_failure_errno(co_next.exchange_barrier(co_process.world));
}

// Who is alone on his node has no communicator there.
static int exchange_node_minimum(void *arg, int *values, int count)
{
    (void)arg;
    return co_process.node == CO_NO_HANDLE
               ? 0
               : co_failure_errno(co_next.exchange_allreduce(MPI_IN_PLACE, values, count, co_next.integer,
                                                             co_next.minimum, co_process.node));
}

static int exchange_node_broadcast(void *arg, void *data, size_t bytes)
{
    (void)arg;
    if (co_process.node == CO_NO_HANDLE) {
        return 0;
    }
    return bytes > INT_MAX ? -EINVAL
                           : co_failure_errno(co_next.Bcast(data, (int)bytes, co_next.byte, 0, co_process.node));
}

enum { PING_TAG = 1 };

static int ping(void *arg, int rank, bool is_last)
{
    (void)arg;
    int word = is_last;
    int code = co_next.Send(&word, 1, co_next.integer, rank, PING_TAG, co_process.world);
    if (code == MPI_SUCCESS && !is_last) {
        code = co_next.Recv(&word, 1, co_next.integer, rank, PING_TAG, co_process.world, MPI_STATUS_IGNORE);
    }
    return co_failure_errno(code);
}

static int echo(void *arg, int rank)
{
    (void)arg;
    int word = 0, is_there = 0;
    int code = co_next.Iprobe(rank, PING_TAG, co_process.world, &is_there, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && is_there) {
        code = co_next.Recv(&word, 1, co_next.integer, rank, PING_TAG, co_process.world, MPI_STATUS_IGNORE);
    }
    if (code == MPI_SUCCESS && is_there && word == 0) {
        code = co_next.Send(&word, 1, co_next.integer, rank, PING_TAG, co_process.world);
    }
    return code == MPI_SUCCESS ? word : -EIO;
}

// "0,1,5": how many, or -errno.
static int read_ranks(const char *text, int *ranks, int most)
{
    int count = 0;
    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        long rank = strtol(text, &end, 10);
        bool is_one = end != text && (*end == ',' || *end == '\0') && rank >= 0 && rank < most;
        if (!is_one || (count > 0 && ranks[count - 1] >= rank)) {
            return -EPROTO;
        }
        ranks[count++] = (int)rank;
    }
    return count;
}

// Ranks of a node that is a part of the world make a communicator of this group, which nobody can who has no group: all
// ranks hear of that before one of them begins. Where all share a node, or nobody does, there is nothing to make.
static bool make_node_group(const struct co_node_ranks *node)
{
    if (node->size == 1 || node->size == co_process.size) {
        return true;
    }
    int code = co_next.Group_incl(co_process.world_group, node->size, node->ranks, &co_process.node_group);
    if (code != MPI_SUCCESS) {
        co_process.node_group = CO_NO_HANDLE;
    }
    return code == MPI_SUCCESS;
}

bool co_bootstrap_find_peers(struct co_node_ranks *node, const char *peers)
{
    int most = (int)co_setting_number(CO_SET_NODE_RANKS), place = 0;
    int count = peers == NULL ? -ENODATA : read_ranks(peers, node->ranks, co_process.size);
    while (place < count && node->ranks[place] != co_process.rank) {
        place++;
    }
    if (place >= count) {
        return false;
    }
    // Cut into nodes of so many ranks, for those who want a network between ranks of one host.
    int first = most > 0 ? place / most * most : 0;
    node->size = most > 0 && count - first > most ? most : count - first;
    node->place = place - first;
    for (int i = 0; i < node->size; i++) {
        node->ranks[i] = node->ranks[first + i];
    }
    return make_node_group(node);
}

// Of the ranks that are known to share the node. Nobody else hears of it.
static int open_node(const struct co_node_ranks *node)
{
    co_process.node = node->size == co_process.size ? co_process.world : CO_NO_HANDLE;
    return co_process.node_group == CO_NO_HANDLE ? 0
                                                 : duplicate(co_process.world, co_process.node_group, &co_process.node);
}

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

// Where the launcher does not tell: collective over the world.
static int split_nodes(struct co_node_ranks *node)
{
    int most_ranks = (int)co_setting_number(CO_SET_NODE_RANKS), first = 0;
    MPI_Group group = CO_NO_HANDLE;
    if (co_next.Comm_split_type(co_process.world, MPI_COMM_TYPE_SHARED, co_process.rank, co_next.info_null,
                                &co_process.node) != MPI_SUCCESS) {
        co_process.node = CO_NO_HANDLE;
        return -EIO;
    }
    if (most_ranks > 0 && cut_node(&co_process.node, most_ranks) < 0) {
        return -EIO;
    }
    co_next.Comm_set_errhandler(co_process.node, co_next.errors_return);
    co_next.Comm_rank(co_process.node, &node->place);
    co_next.Comm_size(co_process.node, &node->size);
    if (co_next.Comm_group(co_process.node, &group) != MPI_SUCCESS) {
        return -EIO;
    }
    int error =
        co_failure_errno(co_next.Group_translate_ranks(group, 1, &first, co_process.world_group, &node->ranks[0]));
    co_next.Group_free(&group);
    return error;
}

void co_bootstrap_fill(struct co_bootstrap *bootstrap, struct co_node_ranks *node, bool is_known)
{
    *bootstrap = (struct co_bootstrap){.world_rank = co_process.rank,
                                       .world_size = co_process.size,
                                       .allgather = exchange_allgather,
                                       .broadcast = exchange_broadcast,
                                       .minimum = exchange_minimum,
                                       .barrier = exchange_barrier,
                                       .node_minimum = exchange_node_minimum,
                                       .node_broadcast = exchange_node_broadcast,
                                       .ping = ping,
                                       .echo = echo,
                                       .native_progress = co_progress_native,
                                       .needs_workers = co_next.family->progress_library == NULL,
                                       .native_takes_device_memory = co_device_memory_is_taken};
    bootstrap->status = is_known ? open_node(node) : split_nodes(node);
    if (!is_known) { // else some would not know whether there are other hosts
        int error = exchange_minimum(NULL, &bootstrap->status, 1);
        bootstrap->status = error != 0 ? error : bootstrap->status;
    }
    bootstrap->node_rank = node->place;
    bootstrap->node_size = node->size;
    bootstrap->node_first = node->ranks[0];
    if (bootstrap->status != 0 && !is_known) {
        return;
    }
    bootstrap->native_status = co_native_transfers_open(node->size < co_process.size, &bootstrap->native);
}
