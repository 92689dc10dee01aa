// SPDX-License-Identifier: BSD-3-Clause
// The root of a nonblocking broadcast goes on into a call that sleeps until another rank has come, which does so once
// it has the broadcast: MPI_Comm_accept and MPI_Comm_connect, in which Open MPI moves nothing. The others take the
// bytes from where the start has left them. A native root gets there where its library reads straight from other
// processes.
// ranks: 2
// modes: on
// environment: CASTOFF_PROGRESS=caller
// mpirun: --mca coll basic,self,libnbc
// expect: the broadcast comes while its root sleeps
// taken: MPI_Ibcast MPIX_Bcast_init
#include "oracle/verdict.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <string.h>

enum { PORT_TAG = 1, MOST = 200000 };

static unsigned char buffer[MOST];

// `opener` accepts, the other one connects.
static void meet(const char *port, int opener)
{
    MPI_Comm across;
    if (co_test_rank() == opener) {
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &across);
    } else {
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &across);
    }
    MPI_Comm_disconnect(&across);
}

static void start(int bytes, int root, bool is_persistent, MPI_Request *request)
{
    if (is_persistent) {
        MPIX_Bcast_init(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD, MPI_INFO_NULL, request);
        MPI_Start(request);
    } else {
        MPI_Ibcast(buffer, bytes, MPI_BYTE, root, MPI_COMM_WORLD, request);
    }
}

static void broadcast(int bytes, int root, int opener, bool is_persistent)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Request request;
    if (co_test_rank() == opener) {
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Send(port, sizeof port, MPI_CHAR, 1 - opener, PORT_TAG, MPI_COMM_WORLD);
    } else {
        MPI_Recv(port, sizeof port, MPI_CHAR, opener, PORT_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    memset(buffer, co_test_rank() == root ? bytes % 251 : 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    start(bytes, root, is_persistent, &request);
    if (co_test_rank() == root) {
        meet(port, opener);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_test_expect(buffer[0] == bytes % 251 && memcmp(buffer, buffer + 1, (size_t)bytes - 1) == 0, "%d bytes",
                       bytes);
        meet(port, opener);
    }
    if (is_persistent) {
        MPI_Request_free(&request);
    }
    if (co_test_rank() == opener) {
        MPI_Close_port(port);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {100, 17000, 60000, MOST};
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int i = 0; i < 4 * (int)(sizeof sizes / sizeof *sizes); i++) {
        broadcast(sizes[i / 4], i % 2, i / 2 % 2, i % 4 == 1);
    }
    return co_test_finish();
}
