// SPDX-License-Identifier: BSD-3-Clause
// Iallgathers in one array with requests of all other kinds: one-sided, file, generalized, other nonblocking
// collectives, messages, persistent ones that are not started, and none. Completed by each of the calls for arrays.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: every active request is completed once, with the right bytes
// taken: MPI_Iallgather
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NOTHING, IDLE, GENERALIZED, GATHER, RECEIVE, SEND, BARRIER, REDUCE, GET, READ, GATHER_TOO, KINDS };

#define ACTIVE (KINDS - 2)
#define INTS 700

static MPI_Win window;
static MPI_File file;
static int *exposed;
static int mine[INTS], all[3 * INTS], all_too[3], came[INTS], sum, got, was_read[INTS], idle, own_rank, own_round;

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return MPI_SUCCESS;
}

static int let_go(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int on_cancel(void *extra, int is_complete)
{
    (void)extra;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void start(MPI_Request requests[KINDS], int round)
{
    int rank = co_test_rank(), size = co_test_size(), right = (rank + 1) % size, left = (rank + size - 1) % size;
    own_rank = rank;
    own_round = round;
    for (int i = 0; i < INTS; i++) {
        mine[i] = 1000 * rank + round + i;
        came[i] = was_read[i] = -1;
    }
    requests[NOTHING] = MPI_REQUEST_NULL;
    MPI_Send_init(&idle, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[IDLE]);
    MPI_Grequest_start(query, let_go, on_cancel, NULL, &requests[GENERALIZED]);
    MPI_Iallgather(mine, INTS, MPI_INT, all, INTS, MPI_INT, MPI_COMM_WORLD, &requests[GATHER]);
    MPI_Irecv(came, INTS, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[RECEIVE]);
    MPI_Isend(mine, INTS, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[SEND]);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[BARRIER]);
    MPI_Iallreduce(&own_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[REDUCE]);
    MPI_Rget(&got, 1, MPI_INT, right, 0, 1, MPI_INT, window, &requests[GET]);
    MPI_File_iread_at(file, 0, was_read, INTS, MPI_INT, &requests[READ]);
    MPI_Iallgather(&own_round, 1, MPI_INT, all_too, 1, MPI_INT, MPI_COMM_WORLD, &requests[GATHER_TOO]);
    MPI_Grequest_complete(requests[GENERALIZED]);
}

static void one_is_over(int seen[KINDS], int index, const MPI_Status *status)
{
    co_test_expect(index >= 0 && index < KINDS && index != NOTHING && index != IDLE, "index %d", index);
    co_test_expect(seen[index]++ == 0, "request %d was completed twice", index);
    if (index == GENERALIZED) {
        co_test_expect(status->MPI_SOURCE == 5 && status->MPI_TAG == 6, "status of a generalized request");
    } else if (index == RECEIVE) {
        co_test_expect(status->MPI_TAG == 1, "status of a receive: tag %d", status->MPI_TAG);
    }
}

static void complete(MPI_Request requests[KINDS], int way)
{
    int indices[KINDS], seen[KINDS] = {0}, flag = 0;
    MPI_Status statuses[KINDS];
    if (way == 0) {
        MPI_Waitall(KINDS, requests, statuses);
    } else if (way == 1) {
        while (!flag) {
            MPI_Testall(KINDS, requests, &flag, statuses);
        }
    }
    for (int over = 0; way > 1 && over < ACTIVE;) {
        int count = 1;
        if (way == 2) {
            MPI_Waitany(KINDS, requests, &indices[0], &statuses[0]);
        } else if (way == 3) {
            MPI_Testsome(KINDS, requests, &count, indices, statuses);
        } else {
            MPI_Waitsome(KINDS, requests, &count, indices, statuses);
        }
        co_test_expect(count != MPI_UNDEFINED, "nothing is active, after %d", over);
        for (int i = 0; i < count; i++, over++) {
            one_is_over(seen, indices[i], &statuses[i]);
        }
    }
    MPI_Waitany(KINDS, requests, &indices[0], &statuses[0]);
    co_test_expect(indices[0] == MPI_UNDEFINED, "%d is active", indices[0]);
    MPI_Request_free(&requests[IDLE]);
}

static void check(int round)
{
    int rank = co_test_rank(), size = co_test_size(), left = (rank + size - 1) % size, wrong = 0;
    for (int i = 0; i < INTS; i++) {
        wrong += came[i] != 1000 * left + round + i || was_read[i] != i;
        for (int r = 0; r < size; r++) {
            wrong += all[r * INTS + i] != 1000 * r + round + i || all_too[r] != round;
        }
    }
    wrong += sum != size * (size - 1) / 2 || got != 40 + (rank + 1) % size;
    co_test_expect(wrong == 0, "round %d: %d wrong", round, wrong);
    co_test_absorb(all, (size_t)size * INTS * sizeof(int));
}

static void open_file(void)
{
    char name[64] = "";
    if (co_test_rank() == 0) {
        snprintf(name, sizeof name, "/tmp/castoff-mpi-test.%d", (int)getpid());
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        mine[i] = i;
    }
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                  &file);
    MPI_File_write_at_all(file, 0, mine, co_test_rank() == 0 ? INTS : 0, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    open_file();
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    *exposed = 40 + co_test_rank();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 20; round++) {
        MPI_Request requests[KINDS];
        MPI_Win_lock_all(0, window);
        start(requests, round);
        complete(requests, round % 5);
        MPI_Win_unlock_all(window);
        check(round);
    }
    MPI_Win_free(&window);
    MPI_File_close(&file);
    return co_test_finish();
}
