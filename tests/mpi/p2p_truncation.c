// SPDX-License-Identifier: BSD-3-Clause
// Receives that are too small, through every completion call: the class, MPI_ERR_IN_STATUS and the statuses of the
// array calls, which error handler is called and how often, and what becomes of the handle, also of a persistent one.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: the same words in every mode
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <string.h>

#define ITEMS 4
#define SENTINEL 12345

static MPI_Comm comm;
static int calls_of_comm, calls_of_world, last_class;
static int incoming[3][ITEMS];
static bool first_is_small; // too
static MPI_Request requests[3];
static MPI_Status statuses[3];

static void count_of_comm(MPI_Comm *handle, int *code, ...)
{
    (void)handle;
    calls_of_comm++;
    MPI_Error_class(*code, &last_class);
}

static void count_of_world(MPI_Comm *handle, int *code, ...)
{
    (void)handle;
    calls_of_world++;
    MPI_Error_class(*code, &last_class);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static void say_status(int at, const MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    co_test_say("  %d: source %d tag %d count %d error %d\n", at, status->MPI_SOURCE, status->MPI_TAG, count,
                status->MPI_ERROR == SENTINEL ? -1 : class_of(status->MPI_ERROR));
}

static bool is_small(int at)
{
    return at == 1 || (at == 0 && first_is_small);
}

// Three messages are here, unexpected; the receive in the middle, which is persistent or not, is too small.
static void post(bool is_persistent)
{
    int neighbour = (co_test_rank() + 1) % co_test_size();
    int source = (co_test_rank() + co_test_size() - 1) % co_test_size();
    int outgoing[ITEMS] = {1, 2, 3, 4}, last;
    for (int tag = 0; tag < 4; tag++) {
        MPI_Send(outgoing, tag < 3 ? ITEMS : 1, MPI_INT, neighbour, tag, comm);
    }
    MPI_Recv(&last, 1, MPI_INT, source, 3, comm, MPI_STATUS_IGNORE);
    memset(incoming, 0, sizeof incoming);
    for (int i = 0; i < 3; i++) {
        memset(&statuses[i], 0, sizeof statuses[i]);
        statuses[i].MPI_ERROR = SENTINEL;
        if (i == 1 && is_persistent) {
            MPI_Recv_init(incoming[i], ITEMS / 2, MPI_INT, source, i, comm, &requests[i]);
            MPI_Start(&requests[i]);
        } else {
            MPI_Irecv(incoming[i], is_small(i) ? ITEMS / 2 : ITEMS, MPI_INT, source, i, comm, &requests[i]);
        }
    }
    calls_of_comm = calls_of_world = last_class = 0;
}

static void judge(const char *call, int code)
{
    co_test_say("%s: class %d, handler of the communicator %d, of the world %d, with %d, null %d %d %d\n", call,
                class_of(code), calls_of_comm, calls_of_world, last_class, requests[0] == MPI_REQUEST_NULL,
                requests[1] == MPI_REQUEST_NULL, requests[2] == MPI_REQUEST_NULL);
    for (int i = 0; i < 3; i++) {
        if (requests[i] != MPI_REQUEST_NULL) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        co_test_expect(incoming[i][0] == 1 && incoming[i][1] == 2, "%s: receive %d not filled", call, i);
        co_test_expect(incoming[i][2] == (is_small(i) ? 0 : 3), "%s: receive %d filled too far", call, i);
    }
}

static void complete_one(bool is_persistent)
{
    int flag = 0, code, index = -1;
    post(is_persistent);
    code = MPI_Wait(&requests[1], &statuses[1]);
    say_status(1, &statuses[1]);
    judge("Wait", code);
    post(is_persistent);
    do {
        code = MPI_Test(&requests[1], &flag, &statuses[1]);
    } while (code == MPI_SUCCESS && !flag);
    say_status(1, &statuses[1]);
    judge("Test", code);
    post(is_persistent);
    do {
        MPI_Request_get_status(requests[1], &flag, &statuses[1]);
    } while (!flag);
    say_status(1, &statuses[1]);
    judge("Request_get_status", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    post(is_persistent);
    MPI_Waitall(1, &requests[0], MPI_STATUSES_IGNORE);
    MPI_Waitall(1, &requests[2], MPI_STATUSES_IGNORE);
    code = MPI_Waitany(3, requests, &index, &statuses[1]);
    co_test_say("index %d\n", index);
    say_status(1, &statuses[1]);
    judge("Waitany", code);
}

static void complete_some(const char *call, bool waits)
{
    int code = MPI_SUCCESS, count, indices[3];
    for (int done = 0; done < 3; done += count) {
        MPI_Status some[3];
        memset(some, 0, sizeof some);
        int now =
            waits ? MPI_Waitsome(3, requests, &count, indices, some) : MPI_Testsome(3, requests, &count, indices, some);
        for (int i = 0; i < count; i++) {
            statuses[indices[i]] = some[i];
            if (now == MPI_SUCCESS) {
                statuses[indices[i]].MPI_ERROR = MPI_SUCCESS; // written in case of an error only
            }
        }
        code = now != MPI_SUCCESS ? now : code;
    }
    for (int i = 0; i < 3; i++) {
        say_status(i, &statuses[i]);
    }
    judge(call, code);
}

static void complete_array(void)
{
    int flag = 0, code;
    post(false);
    code = MPI_Waitall(3, requests, statuses);
    for (int i = 0; i < 3; i++) {
        say_status(i, &statuses[i]);
    }
    judge("Waitall", code);
    post(false);
    judge("Waitall without statuses", MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    post(false);
    do {
        code = MPI_Testall(3, requests, &flag, statuses);
    } while (code == MPI_SUCCESS && !flag);
    for (int i = 0; i < 3; i++) {
        say_status(i, &statuses[i]);
    }
    judge("Testall", code);
}

int main(int argc, char **argv)
{
    MPI_Errhandler of_comm, of_world;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(count_of_comm, &of_comm);
    MPI_Comm_create_errhandler(count_of_world, &of_world);
    MPI_Comm_set_errhandler(comm, of_comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
    for (int persistent = 0; persistent < 2; persistent++) {
        complete_one(persistent);
        post(persistent);
        complete_some("Waitsome", true);
        post(persistent);
        complete_some("Testsome", false);
    }
    complete_array();
    first_is_small = true; // one call of the handler for both
    complete_array();
    first_is_small = false;
    post(false);
    int code = MPI_Request_free(&requests[1]), flag;
    while (*(volatile int *)&incoming[1][1] == 0) { // nobody is told when it ends
        MPI_Iprobe(MPI_ANY_SOURCE, 4, comm, &flag, MPI_STATUS_IGNORE);
    }
    judge("Request_free", code);
    return co_test_finish();
}
