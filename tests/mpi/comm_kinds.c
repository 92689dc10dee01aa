// SPDX-License-Identifier: BSD-3-Clause
// The three calls on every kind of communicator that MPI can make: dup, dup with info, idup, split,
// split by type, create, create_group, cart, cart_sub, graph, distributed graph, intercommunicator and
// its merge, one-member communicators and COMM_SELF. Reordered ones are included.
// ranks: 1 2 5
// expect: right bytes on each of them
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define BYTES 20011

static unsigned char buffer[BYTES];
static unsigned char *gathered;

// All three calls on an intracommunicator; world ranks of the members identify the blocks.
static void use(MPI_Comm comm, const char *name)
{
    int rank;
    int size;
    int mine = co_test_rank();
    int members[64];
    // Ranks outside a communicator do not count along, so the name identifies the operation.
    int operation = (int)(co_test_digest(0, name, strlen(name)) % 100000);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allgather(&mine, 1, MPI_INT, members, 1, MPI_INT, comm);
    for (int root = 0; root < size; root++) {
        uint64_t seed = co_test_seed(members[root], operation + root * 1000, BYTES);
        if (rank == root) {
            co_test_pattern_fill(buffer, BYTES, seed);
        }
        MPI_Bcast(buffer, BYTES, MPI_BYTE, root, comm);
        co_test_received(buffer, BYTES, seed, "%s: broadcast from %d", name, root);
    }
    MPI_Request request;
    co_test_pattern_fill(buffer, BYTES, co_test_seed(mine, operation, BYTES));
    MPI_Iallgather(buffer, BYTES, MPI_BYTE, gathered, BYTES, MPI_BYTE, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < size; r++) {
        co_test_received(gathered + (size_t)r * BYTES, BYTES, co_test_seed(members[r], operation, BYTES),
                         "%s: block %d", name, r);
    }
}

static void use_and_free(MPI_Comm comm, const char *name)
{
    if (comm != MPI_COMM_NULL) {
        use(comm, name);
        MPI_Comm_free(&comm);
        co_test_expect(comm == MPI_COMM_NULL, "%s: handle kept after free", name);
    }
}

static void use_copies(void)
{
    MPI_Comm comm;
    MPI_Comm second;
    MPI_Info info;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(comm, &second);
    use(second, "dup of dup");
    use_and_free(comm, "dup");
    use_and_free(second, "dup whose parent is gone");
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    use_and_free(comm, "dup with info");
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use_and_free(comm, "idup");
}

static void use_parts(void)
{
    MPI_Comm comm;
    MPI_Group world;
    MPI_Group group;
    int rank = co_test_rank();
    int odd_only = rank % 2 == 1 ? 1 : MPI_UNDEFINED;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    use_and_free(comm, "halves in reverse order");
    MPI_Comm_split(MPI_COMM_WORLD, odd_only, 0, &comm);
    use_and_free(comm, "odd ranks");
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comm);
    use_and_free(comm, "single members");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    use_and_free(comm, "shared memory");
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int first[1] = {0};
    MPI_Group_excl(world, co_test_size() > 1 ? 1 : 0, first, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &comm);
    use_and_free(comm, "create without the first");
    int position;
    MPI_Group_rank(group, &position);
    if (position != MPI_UNDEFINED) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &comm);
        use_and_free(comm, "create_group");
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);
}

static void use_topologies(void)
{
    MPI_Comm comm;
    MPI_Comm row;
    int dimensions[2] = {0, 0};
    int periodic[2] = {1, 0};
    int keep[2] = {0, 1};
    int rank = co_test_rank();
    int size = co_test_size();
    MPI_Dims_create(size, 2, dimensions);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dimensions, periodic, 1, &comm);
    MPI_Cart_sub(comm, keep, &row);
    use_and_free(comm, "cartesian");
    use_and_free(row, "row of a grid");
    int *degrees = malloc((size_t)size * sizeof *degrees);
    int *edges = malloc((size_t)size * sizeof *edges);
    for (int r = 0; r < size; r++) {
        degrees[r] = r + 1;
        edges[r] = (r + 1) % size;
    }
    MPI_Graph_create(MPI_COMM_WORLD, size, degrees, edges, 0, &comm);
    use_and_free(comm, "graph");
    int source = (rank + size - 1) % size;
    int target = (rank + 1) % size;
    int one = 1;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &source, &one, 1, &target, &one, MPI_INFO_NULL, 0, &comm);
    use_and_free(comm, "adjacent graph");
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &target, &one, MPI_INFO_NULL, 0, &comm);
    use_and_free(comm, "distributed graph");
    free(edges);
    free(degrees);
}

// Intercommunicators stay native, but they must work.
static void use_intercommunicator(void)
{
    MPI_Comm half;
    MPI_Comm inter;
    MPI_Comm merged;
    int rank = co_test_rank();
    int side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 11, &inter);
    int remote;
    MPI_Comm_remote_size(inter, &remote);
    uint64_t seed = co_test_seed(0, 77, BYTES);
    co_test_pattern_fill(buffer, BYTES, rank == 0 ? seed : 0);
    MPI_Bcast(buffer, BYTES, MPI_BYTE, side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    if (side == 1) {
        co_test_received(buffer, BYTES, seed, "broadcast over an intercommunicator");
    }
    int incoming[64];
    MPI_Allgather(&rank, 1, MPI_INT, incoming, 1, MPI_INT, inter);
    for (int r = 0; r < remote; r++) {
        co_test_expect(incoming[r] == 2 * r + 1 - side, "remote member %d is %d", r, incoming[r]);
    }
    MPI_Request request;
    MPI_Iallgather(&rank, 1, MPI_INT, incoming, 1, MPI_INT, inter, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_absorb(incoming, (size_t)remote * sizeof(int));
    MPI_Intercomm_merge(inter, side, &merged);
    MPI_Comm_free(&inter);
    MPI_Comm_disconnect(&half);
    use_and_free(merged, "merged");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    gathered = malloc((size_t)BYTES * (size_t)co_test_size());
    use(MPI_COMM_WORLD, "world");
    use(MPI_COMM_SELF, "self");
    use_copies();
    use_parts();
    use_topologies();
    if (co_test_size() > 1) {
        use_intercommunicator();
    }
    use(MPI_COMM_WORLD, "world at the end");
    free(gathered);
    return co_test_finish();
}
