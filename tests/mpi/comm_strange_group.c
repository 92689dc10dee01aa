// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_create with a group that holds ranks outside of the parent: an error of the program that native MPI does
// not notice. Only some members of what it makes ever made the call, so nothing may be exchanged over it; programs
// that free it unused, as MPICH's tests of errors do, run to their end.
// ranks: 4 5
// expect: native's outcome, all communicators usable afterwards
#include "oracle/verdict.h"

#include <string.h>

#define BYTES 3001

static unsigned char buffer[BYTES];

static void use(MPI_Comm comm, int operation)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    uint64_t seed = co_test_seed(0, operation, BYTES);
    memset(buffer, 0, sizeof buffer);
    if (rank == 0) {
        co_test_pattern_fill(buffer, BYTES, seed);
    }
    MPI_Bcast(buffer, BYTES, MPI_BYTE, 0, comm);
    co_test_received(buffer, BYTES, seed, "broadcast %d", operation);
}

// Half of the ranks of each parent, and of the other half that is not in it.
static MPI_Group make_group(void)
{
    MPI_Group world, group;
    int range[1][3] = {{co_test_size() / 4, co_test_size() - 1, 1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Group_free(&world);
    return group;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm lower, created = MPI_COMM_NULL;
    MPI_Group group = make_group();
    MPI_Comm_split(MPI_COMM_WORLD, co_test_rank() < co_test_size() / 2, -co_test_rank(), &lower);
    MPI_Comm_set_errhandler(lower, MPI_ERRORS_RETURN);
    if (co_test_rank() < co_test_size() / 2) {
        int code = MPI_Comm_create(lower, group, &created);
        co_test_say("%s %s", code == MPI_SUCCESS ? "made" : "refused", created == MPI_COMM_NULL ? "none" : "one");
        if (code == MPI_SUCCESS && created != MPI_COMM_NULL) {
            MPI_Comm_free(&created);
        }
    }
    MPI_Group_free(&group);
    use(lower, 1);
    use(MPI_COMM_WORLD, 2);
    MPI_Comm_free(&lower);
    return co_test_finish();
}
