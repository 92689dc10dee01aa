// SPDX-License-Identifier: BSD-3-Clause
// Attributes whose copy and delete callbacks communicate: on the parent inside MPI_Comm_dup, on the communicator that
// goes inside MPI_Comm_free, MPI_Comm_disconnect and MPI_Comm_delete_attr. A copy callback that fails makes the
// duplication fail, and the parent works on.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: all callbacks run, as often as natively, and deliver
// report: calls["MPI_Bcast"]["taken"] > 0
#include "oracle/verdict.h"

#define REFUSAL 77

static int copies, deletions;

static void communicate(MPI_Comm comm)
{
    static unsigned char buffer[6000];
    int rank, size, all[16], next = -1;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    uint64_t seed = co_test_seed(0, copies + 100 * deletions, sizeof buffer);
    if (rank == 0) {
        co_test_pattern_fill(buffer, sizeof buffer, seed);
    }
    MPI_Bcast(buffer, sizeof buffer, MPI_BYTE, 0, comm);
    co_test_received(buffer, sizeof buffer, seed, "broadcast in a callback");
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &request);
    MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 3, &next, 1, MPI_INT, (rank + size - 1) % size, 3, comm,
                 MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    co_test_expect(next == (rank + size - 1) % size, "message in a callback: %d", next);
    for (int i = 0; i < size; i++) {
        co_test_expect(all[i] == i, "allgather in a callback: %d at %d", all[i], i);
    }
}

static int on_copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)key;
    (void)extra;
    copies++;
    communicate(comm);
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int on_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key;
    (void)value;
    (void)extra;
    deletions++;
    communicate(comm);
    return MPI_SUCCESS;
}

static int on_copy_refuse(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)value;
    (void)copied;
    *flag = 0;
    return REFUSAL;
}

static void duplicates(void)
{
    int key;
    MPI_Comm first, second, third, fourth;
    MPI_Request request;
    MPI_Comm_create_keyval(on_copy, on_delete, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &copies);
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(first, &second);
    MPI_Comm_dup_with_info(second, MPI_INFO_NULL, &third);
    MPI_Comm_idup(third, &fourth, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&first);
    MPI_Comm_disconnect(&second);
    MPI_Comm_delete_attr(third, key);
    MPI_Comm_free(&third);
    MPI_Comm_free(&fourth);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    co_test_say("%d copies, %d deletions", copies, deletions);
}

static void refused(void)
{
    int key;
    MPI_Comm none = MPI_COMM_NULL;
    MPI_Comm_create_keyval(on_copy_refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Comm_dup(MPI_COMM_WORLD, &none);
    co_test_expect(code != MPI_SUCCESS, "a refused copy was made");
    co_test_say("refused: %d", none == MPI_COMM_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    communicate(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    duplicates();
    refused();
    return co_test_finish();
}
