// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments to sends and receives, and messages that are too long, under MPI_ERRORS_RETURN and under a handler of
// the program's on the communicator and on MPI_COMM_WORLD: the error class, which handler fired, on which communicator,
// what the statuses say and what stands in the buffers must be stock's. After each the communicator still works.
// ranks: 2
// environment: CASTOFF_P2P=yes
// expect: same classes, handlers, statuses and bytes in every mode
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm; // has a handler of its own
static char fired[64];
static int data[8];

static void note(const char *handler)
{
    size_t used = strlen(fired);
    snprintf(fired + used, sizeof fired - used, "%s", handler);
}

static void on_comm(MPI_Comm *where, int *error, ...)
{
    (void)error;
    note(*where == comm ? " comm-handler(comm)" : " comm-handler(other)");
}

static void on_world(MPI_Comm *where, int *error, ...)
{
    (void)error;
    note(*where == MPI_COMM_WORLD ? " world-handler(world)" : " world-handler(other)");
}

static void tell(const char *what, int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    char name[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(class, name, &length);
    char *end = strchr(name, ':');
    if (end != NULL) {
        *end = '\0';
    }
    co_test_say("%s: %s;%s\n", what, name, fired[0] == '\0' ? " no handler" : fired);
    fired[0] = '\0';
}

static void tell_status(const MPI_Status *status)
{
    int bytes = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    MPI_Test_cancelled(status, &cancelled);
    co_test_say("  source %d, tag %d, error %d, bytes %d, cancelled %d\n", status->MPI_SOURCE, status->MPI_TAG,
                status->MPI_ERROR, bytes, cancelled);
}

static MPI_Status fresh_status(void)
{
    MPI_Status status;
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = 77;
    status.MPI_TAG = 78;
    status.MPI_ERROR = 79;
    return status;
}

static void make_send_errors(MPI_Comm where, MPI_Datatype uncommitted)
{
    int size = co_test_size();
    MPI_Request request = MPI_REQUEST_NULL;
    tell("send, rank too large", MPI_Send(data, 1, MPI_INT, size, 1, where));
    tell("send, rank -1", MPI_Send(data, 1, MPI_INT, -1, 1, where));
    tell("send, rank -5", MPI_Send(data, 1, MPI_INT, -5, 1, where));
    tell("send, tag -1", MPI_Send(data, 1, MPI_INT, 0, -1, where));
    tell("send, tag -9", MPI_Send(data, 1, MPI_INT, 0, -9, where));
    tell("send, count -1", MPI_Send(data, -1, MPI_INT, 0, 1, where));
    tell("send, null type", MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 1, where));
    tell("send, uncommitted type", MPI_Send(data, 1, uncommitted, 0, 1, where));
    tell("send, null buffer", MPI_Send(NULL, 1, MPI_INT, 0, 1, where));
    tell("send, in place", MPI_Send(MPI_IN_PLACE, -1, MPI_INT, 0, 1, where));
    tell("send, null communicator", MPI_Send(data, 1, MPI_INT, 0, 1, MPI_COMM_NULL));
    tell("send, rank and tag", MPI_Send(data, 1, MPI_INT, size, -1, where));
    tell("send, count and rank", MPI_Send(data, -1, MPI_INT, size, 1, where));
    tell("send, to nobody, tag -1", MPI_Send(data, 1, MPI_INT, MPI_PROC_NULL, -1, where));
    tell("ssend, rank too large", MPI_Ssend(data, 1, MPI_INT, size, 1, where));
    tell("rsend, tag -1", MPI_Rsend(data, 1, MPI_INT, 0, -1, where));
    tell("isend, rank too large", MPI_Isend(data, 1, MPI_INT, size, 1, where, &request));
    tell("isend, null buffer", MPI_Isend(NULL, 1, MPI_INT, 0, 1, where, &request));
    tell("isend, null request", MPI_Isend(data, 1, MPI_INT, 0, 1, where, NULL));
    tell("issend, null type", MPI_Issend(data, 1, MPI_DATATYPE_NULL, 0, 1, where, &request));
    tell("irsend, count -1", MPI_Irsend(data, -1, MPI_INT, 0, 1, where, &request));
    co_test_expect(request == MPI_REQUEST_NULL, "a request came from a call with wrong arguments");
}

static void make_receive_errors(MPI_Comm where, MPI_Datatype uncommitted)
{
    int size = co_test_size();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status = fresh_status();
    tell("recv, rank too large", MPI_Recv(data, 1, MPI_INT, size, 1, where, &status));
    tell_status(&status);
    tell("recv, rank -5", MPI_Recv(data, 1, MPI_INT, -5, 1, where, MPI_STATUS_IGNORE));
    tell("recv, tag -9", MPI_Recv(data, 1, MPI_INT, 0, -9, where, MPI_STATUS_IGNORE));
    tell("recv, count -1", MPI_Recv(data, -1, MPI_INT, 0, 1, where, MPI_STATUS_IGNORE));
    tell("recv, null type", MPI_Recv(data, 1, MPI_DATATYPE_NULL, 0, 1, where, MPI_STATUS_IGNORE));
    tell("recv, uncommitted type", MPI_Recv(data, 1, uncommitted, 0, 1, where, MPI_STATUS_IGNORE));
    tell("recv, null buffer", MPI_Recv(NULL, 1, MPI_INT, 0, 1, where, MPI_STATUS_IGNORE));
    tell("recv, null communicator", MPI_Recv(data, 1, MPI_INT, 0, 1, MPI_COMM_NULL, MPI_STATUS_IGNORE));
    tell("recv, from nobody, tag -9", MPI_Recv(data, 1, MPI_INT, MPI_PROC_NULL, -9, where, MPI_STATUS_IGNORE));
    status = fresh_status();
    tell("recv, from nobody", MPI_Recv(data, 1, MPI_INT, MPI_PROC_NULL, 3, where, &status));
    tell_status(&status);
    tell("irecv, rank too large", MPI_Irecv(data, 1, MPI_INT, size, 1, where, &request));
    tell("irecv, null buffer", MPI_Irecv(NULL, 1, MPI_INT, 0, 1, where, &request));
    tell("irecv, uncommitted type", MPI_Irecv(data, 1, uncommitted, 0, 1, where, &request));
    tell("irecv, null request", MPI_Irecv(data, 1, MPI_INT, 0, 1, where, NULL));
    co_test_expect(request == MPI_REQUEST_NULL, "a request came from a call with wrong arguments");
}

enum { LONG = 1 << 20 };
static unsigned char sent[LONG], received[LONG];

// From the other rank, which sends `bytes`, into `room`.
static void make_truncation(MPI_Comm where, int bytes, int room, bool receive_first, bool blocks)
{
    int other = 1 - co_test_rank(), error = 0;
    MPI_Request send, receive;
    MPI_Status status = fresh_status();
    memset(received, 0x77, LONG);
    co_test_pattern_fill(sent, (size_t)bytes, co_test_seed(co_test_rank(), bytes, 1));
    if (receive_first) {
        MPI_Irecv(received, room, MPI_BYTE, other, 4, where, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Isend(sent, bytes, MPI_BYTE, other, 4, where, &send);
        error = MPI_Wait(&receive, &status);
    } else {
        MPI_Isend(sent, bytes, MPI_BYTE, other, 4, where, &send);
        MPI_Barrier(MPI_COMM_WORLD);
        if (blocks) {
            error = MPI_Recv(received, room, MPI_BYTE, other, 4, where, &status);
        } else {
            MPI_Irecv(received, room, MPI_BYTE, other, 4, where, &receive);
            error = MPI_Waitall(1, &receive, &status);
        }
    }
    char what[100];
    snprintf(what, sizeof what, "%d bytes into %d, %s, %s", bytes, room, receive_first ? "receive first" : "later",
             blocks ? "blocking" : "by request");
    tell(what, error);
    tell_status(&status);
    tell("  its send", MPI_Wait(&send, MPI_STATUS_IGNORE));
    co_test_received(received, (size_t)room, co_test_seed(other, bytes, 1), "%s", what);
    // What stands behind the end is not looked at: stock fills the whole message in where it copies once.
}

static void make_truncations(MPI_Comm where)
{
    static const int lengths[][2] = {{1, 0}, {100, 99}, {4096, 1000}, {4097, 4096}, {300000, 5}, {1000000, 999999}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        make_truncation(where, lengths[i][0], lengths[i][1], true, false);
        make_truncation(where, lengths[i][0], lengths[i][1], false, true);
        make_truncation(where, lengths[i][0], lengths[i][1], false, false);
    }
}

// A good one and a bad one in one Waitall, and what a blocking receive leaves in MPI_ERROR.
static void mix_good_and_bad(MPI_Comm where)
{
    int other = 1 - co_test_rank();
    MPI_Request requests[3];
    MPI_Status statuses[3] = {fresh_status(), fresh_status(), fresh_status()};
    MPI_Irecv(received, 10, MPI_BYTE, other, 1, where, &requests[0]);
    MPI_Irecv(received + 20, 10, MPI_BYTE, other, 2, where, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(sent, 10, MPI_BYTE, other, 1, where, &requests[2]);
    MPI_Send(sent, 11, MPI_BYTE, other, 2, where);
    tell("waitall of a good, a bad and a send", MPI_Waitall(3, requests, statuses));
    for (int i = 0; i < 2; i++) {
        tell_status(&statuses[i]);
    }
    MPI_Send(sent, 5, MPI_BYTE, other, 3, where);
    MPI_Status status = fresh_status();
    tell("a good receive", MPI_Recv(received, 10, MPI_BYTE, other, 3, where, &status));
    tell_status(&status);
    MPI_Send(sent, 5, MPI_BYTE, other, 3, where);
    MPI_Irecv(received, 10, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, where, &requests[0]);
    status = fresh_status();
    tell("a good wait", MPI_Wait(&requests[0], &status));
    tell_status(&status);
}

static void make_errors(const char *title, MPI_Comm where)
{
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    co_test_say("-- %s\n", title);
    make_send_errors(where, uncommitted);
    make_receive_errors(where, uncommitted);
    make_truncations(where);
    mix_good_and_bad(where);
    MPI_Type_free(&uncommitted);
}

int main(int argc, char **argv)
{
    MPI_Errhandler comm_handler, world_handler;
    MPI_Init(&argc, &argv);
    co_test_begin();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    make_errors("errors are returned", MPI_COMM_WORLD);
    MPI_Comm_create_errhandler(on_comm, &comm_handler);
    MPI_Comm_create_errhandler(on_world, &world_handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world_handler);
    MPI_Comm_set_errhandler(comm, comm_handler);
    make_errors("own handlers", comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&comm_handler);
    MPI_Errhandler_free(&world_handler);
    MPI_Comm_free(&comm);
    return co_test_finish();
}
