// SPDX-License-Identifier: BSD-3-Clause
//
// An ordinary MPI program for `make traces`: a grid of SIDE x SIDE x SIDE blocks, periodic, each averaged in every step
// with its 26 neighbours. Blocks are dealt out to the ranks in turn, as adaptive meshes and task runtimes do, so that a
// rank expects many messages from few others at a time. It knows nothing of castoff. Prints one line, the digest of the
// blocks, which is the same whatever carries the messages and however many ranks there are.
//   stencil [SIDE] [STEPS]
#include <mpi.h>

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE_MAX = 12, NEIGHBOURS = 27 }; // itself too

struct grid {
    int side, blocks, rank, ranks;
    uint64_t *values, *around; // by block; by block and neighbour
    MPI_Request *requests;
    int pending;
};

static int neighbour_of(const struct grid *grid, int block, int direction)
{
    int side = grid->side, x = block % side, y = block / side % side, z = block / side / side;
    x = (x + direction % 3 - 1 + side) % side;
    y = (y + direction / 3 % 3 - 1 + side) % side;
    z = (z + direction / 9 - 1 + side) % side;
    return (z * side + y) * side + x;
}

static int owner_of(const struct grid *grid, int block)
{
    return block % grid->ranks;
}

// The neighbour on that side sends under the number of its own block and the way back.
static void expect(struct grid *grid, int block)
{
    for (int direction = 0; direction < NEIGHBOURS; direction++) {
        int from = neighbour_of(grid, block, direction), owner = owner_of(grid, from);
        uint64_t *place = &grid->around[block * NEIGHBOURS + direction];
        if (owner == grid->rank) {
            *place = grid->values[from];
        } else {
            MPI_Irecv(place, 1, MPI_UINT64_T, owner, from * NEIGHBOURS + NEIGHBOURS - 1 - direction, MPI_COMM_WORLD,
                      &grid->requests[grid->pending++]);
        }
    }
}

static void offer(struct grid *grid, int block)
{
    for (int direction = 0; direction < NEIGHBOURS; direction++) {
        int owner = owner_of(grid, neighbour_of(grid, block, direction));
        if (owner != grid->rank) {
            MPI_Isend(&grid->values[block], 1, MPI_UINT64_T, owner, block * NEIGHBOURS + direction, MPI_COMM_WORLD,
                      &grid->requests[grid->pending++]);
        }
    }
}

static void step(struct grid *grid)
{
    grid->pending = 0;
    for (int block = grid->rank; block < grid->blocks; block += grid->ranks) {
        expect(grid, block);
    }
    for (int block = grid->rank; block < grid->blocks; block += grid->ranks) {
        offer(grid, block);
    }
    MPI_Waitall(grid->pending, grid->requests, MPI_STATUSES_IGNORE);
    for (int block = grid->rank; block < grid->blocks; block += grid->ranks) {
        uint64_t sum = 0;
        for (int direction = 0; direction < NEIGHBOURS; direction++) {
            sum += grid->around[block * NEIGHBOURS + direction];
        }
        grid->values[block] = sum / NEIGHBOURS + (uint64_t)block;
    }
}

static int open_grid(struct grid *grid, int side)
{
    size_t blocks = (size_t)side * (size_t)side * (size_t)side;
    grid->side = side;
    grid->blocks = (int)blocks;
    grid->values = calloc(blocks, sizeof *grid->values);
    grid->around = calloc(blocks * NEIGHBOURS, sizeof *grid->around);
    grid->requests = calloc(2 * blocks * NEIGHBOURS, sizeof(MPI_Request));
    if (grid->values == NULL || grid->around == NULL || grid->requests == NULL) {
        return -1;
    }
    for (int block = 0; block < grid->blocks; block++) {
        grid->values[block] = (uint64_t)block * UINT64_C(2654435761) % 1000003;
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct grid grid = {.side = 0};
    int side = argc > 1 ? atoi(argv[1]) : 6, steps = argc > 2 ? atoi(argv[2]) : 20;
    uint64_t mine = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &grid.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &grid.ranks);
    if (side < 3 || side > SIDE_MAX || steps < 0 || open_grid(&grid, side) != 0) {
        if (grid.rank == 0) {
            fprintf(stderr, "usage: stencil [SIDE, 3 to %d] [STEPS]\n", SIDE_MAX);
        }
        MPI_Finalize();
        return 2;
    }
    for (int i = 0; i < steps; i++) {
        step(&grid);
    }
    for (int block = grid.rank; block < grid.blocks; block += grid.ranks) {
        mine += grid.values[block] * (uint64_t)(block + 1);
    }
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (grid.rank == 0) {
        printf("digest %016" PRIx64 "\n", all);
    }
    free(grid.values);
    free(grid.around);
    free(grid.requests);
    MPI_Finalize();
    return 0;
}
