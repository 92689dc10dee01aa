// SPDX-License-Identifier: BSD-3-Clause
// Applications (PETSc, mpi4py) communicate in delete callbacks of attributes on MPI_COMM_SELF, which MPI
// runs in Finalize. There the three calls must still work, also on a communicator that is freed in
// the callback, and an Iallgather started before Finalize may be completed in it.
// ranks: 2 3
// expect: the callback's broadcast and allgathers deliver, in every mode
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>

static MPI_Request early;
static int early_send[1000];
static int early_receive[3000];
static MPI_Comm copy;
static int failures;
static int calls;

static void judge(bool holds, const char *what)
{
    if (!co_test_expect(holds, "%s", what)) {
        failures++; // what happens in Finalize comes after the verdict was printed
    }
}

static void check_broadcast(MPI_Comm comm, int operation)
{
    static unsigned char buffer[40000];
    int root = co_test_size() - 1;
    uint64_t seed = co_test_seed(root, operation, sizeof buffer);
    if (co_test_rank() == root) {
        co_test_pattern_fill(buffer, sizeof buffer, seed);
    }
    MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, root, comm);
    judge(co_test_pattern_mismatch(buffer, sizeof buffer, seed) == sizeof buffer, "broadcast");
}

static int on_delete(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self;
    (void)key;
    (void)extra;
    calls++;
    check_broadcast(MPI_COMM_WORLD, *(int *)value);
    if (*(int *)value == 1) {
        MPI_Wait(&early, MPI_STATUS_IGNORE);
        for (int r = 0; r < co_test_size(); r++) {
            uint64_t seed = co_test_seed(r, 5, sizeof early_send);
            judge(co_test_pattern_mismatch(early_receive + 1000 * r, sizeof early_send, seed) == sizeof early_send,
                  "allgather started before");
        }
        check_broadcast(copy, 50);
        MPI_Comm_free(&copy);
        return MPI_SUCCESS;
    }
    MPI_Request request;
    int mine = co_test_rank() + 1;
    int all[16] = {0};
    MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int r = 0; r < co_test_size(); r++) {
        judge(all[r] == r + 1, "allgather");
    }
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    static int values[2] = {1, 2};
    int key;
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 2; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, &values[i]);
        MPI_Comm_free_keyval(&key);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    check_broadcast(copy, 9);
    co_test_pattern_fill(early_send, sizeof early_send, co_test_seed(co_test_rank(), 5, sizeof early_send));
    MPI_Iallgather(early_send, 1000, MPI_INT, early_receive, 1000, MPI_INT, MPI_COMM_WORLD, &early);
    int status = co_test_finish();
    judge(calls == 2, "number of callbacks");
    printf("%d callbacks, %d failures\n", calls, failures);
    return status != 0 || failures > 0 ? 1 : 0;
}
