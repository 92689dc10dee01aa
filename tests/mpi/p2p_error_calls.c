// SPDX-License-Identifier: BSD-3-Clause
// In whose name an error is raised: stock tells its handlers the call that the program made, which is also what the
// default handler prints before it aborts. Truncation found by every call that can find it, and requests that are
// wrong.
// ranks: 2
// environment: CASTOFF_P2P=yes
// expect: the same calls and classes in every mode
// report: calls["MPI_Recv"]["taken"] > 0 or nodes > 1
#include "oracle/verdict.h"

#include <stdarg.h>
#include <string.h>

static MPI_Comm comm;
static int other, sent[4], received[4];

static void on_error(MPI_Comm *where, int *code, ...)
{
    va_list rest;
    int class;
    va_start(rest, code);
    const char *call = va_arg(rest, const char *);
    va_end(rest);
    MPI_Error_class(*code, &class);
    co_test_say("  raised by %s, class %d, on %s\n", call, class, *where == comm ? "it" : "another");
}

static void end(const char *what, int code)
{
    int class;
    MPI_Error_class(code, &class);
    co_test_say("%s: class %d, got %d %d\n", what, class, received[0], received[1]);
    co_test_expect(received[0] == 0 || (received[0] == 1 && received[1] == 2), "%s: wrong bytes", what);
    memset(received, 0, sizeof received);
}

// Four ints come, and there is room for two.
static void send_four(void)
{
    co_test_say("\n");
    MPI_Send(sent, 4, MPI_INT, other, 0, comm);
}

static void post(MPI_Request *request)
{
    send_four();
    MPI_Irecv(received, 2, MPI_INT, other, 0, comm, request);
}

// Looks again as long as neither a flag nor an error says that it is over.
#define UNTIL(flag, call)                                                                                              \
    do {                                                                                                               \
        code = call;                                                                                                   \
    } while (code == MPI_SUCCESS && !(flag))

static void complete(void)
{
    MPI_Request request;
    MPI_Status status;
    int index, flag = 0, code;
    post(&request);
    end("Wait", MPI_Wait(&request, &status));
    post(&request);
    UNTIL(flag, MPI_Test(&request, &flag, &status));
    end("Test", code);
    post(&request);
    end("Waitany", MPI_Waitany(1, &request, &index, &status));
    flag = 0;
    post(&request);
    UNTIL(flag, MPI_Testany(1, &request, &index, &flag, &status));
    end("Testany", code);
    post(&request);
    end("Waitall", MPI_Waitall(1, &request, &status));
    flag = 0;
    post(&request);
    UNTIL(flag, MPI_Testall(1, &request, &flag, &status));
    end("Testall", code);
    post(&request);
    end("Waitsome", MPI_Waitsome(1, &request, &flag, &index, &status));
    flag = 0;
    post(&request);
    UNTIL(flag, MPI_Testsome(1, &request, &flag, &index, &status));
    end("Testsome", code);
}

static void start(void)
{
    MPI_Request request;
    MPI_Recv_init(received, 2, MPI_INT, other, 0, comm, &request);
    send_four();
    MPI_Start(&request);
    end("Wait, persistent", MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    MPI_Recv_init(received, 4, MPI_INT, other, 0, comm, &request);
    MPI_Start(&request);
    end("Startall, under way", MPI_Startall(1, &request));
    MPI_Barrier(MPI_COMM_WORLD); // nothing has come so far
    send_four();
    end("Wait, whole", MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Request_free(&request);
}

static void block(void)
{
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    send_four();
    end("Recv", MPI_Recv(received, 2, MPI_INT, other, 0, comm, &status));
    co_test_say("\n");
    end("Sendrecv", MPI_Sendrecv(sent, 4, MPI_INT, other, 0, received, 2, MPI_INT, other, 0, comm, &status));
    send_four();
    MPI_Mprobe(other, 0, comm, &message, &status);
    MPI_Message again = message;
    end("Mrecv", MPI_Mrecv(received, 2, MPI_INT, &message, &status));
    if (message != MPI_MESSAGE_NULL) {
        end("Mrecv, again", MPI_Mrecv(received, 2, MPI_INT, &again, &status));
    }
    send_four();
    MPI_Mprobe(other, 0, comm, &message, &status);
    MPI_Imrecv(received, 2, MPI_INT, &message, &request);
    end("Imrecv", MPI_Wait(&request, &status));
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    co_test_begin();
    other = 1 - co_test_rank();
    for (int i = 0; i < 4; i++) {
        sent[i] = i + 1;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    block();
    complete();
    start();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    return co_test_finish();
}
