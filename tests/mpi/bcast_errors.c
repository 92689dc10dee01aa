// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments to the four calls, under MPI_ERRORS_RETURN and under a handler of the program's on the
// communicator and on MPI_COMM_WORLD: the error class and which handler fired, on which communicator,
// must be stock's. After each error the communicator still works. The allgathers on MPI_COMM_NULL are
// left out, because stock 4.1.4 crashes there.
// ranks: 2
// expect: same classes and handlers in every mode
#include "oracle/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Comm comm; // has a handler of its own
static char fired[64];
static int data[8];
static int all[64];

// A handler that fires twice for one error shows in the output too.
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

// Wrong arguments that every MPI notices before any communication.
static void make_bcast_errors(MPI_Comm where, MPI_Datatype uncommitted)
{
    int size = co_test_size();
    tell("bcast, root too large", MPI_Bcast(data, 1, MPI_INT, size, where));
    tell("bcast, root -1", MPI_Bcast(data, 1, MPI_INT, -1, where));
    tell("bcast, root of an intercommunicator", MPI_Bcast(data, 1, MPI_INT, MPI_ROOT, where));
    tell("bcast, count -1", MPI_Bcast(data, -1, MPI_INT, 0, where));
    tell("bcast, null type", MPI_Bcast(data, 1, MPI_DATATYPE_NULL, 0, where));
    tell("bcast, uncommitted type", MPI_Bcast(data, 1, uncommitted, 0, where));
    tell("bcast, in place", MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, where));
    tell("bcast, null communicator", MPI_Bcast(data, 1, MPI_INT, 0, MPI_COMM_NULL));
    tell("bcast, count 0 and bad root", MPI_Bcast(NULL, 0, MPI_INT, size, where));
}

static void make_ibcast_errors(MPI_Comm where, MPI_Datatype uncommitted)
{
    int size = co_test_size();
    MPI_Request request = MPI_REQUEST_NULL;
    tell("ibcast, root too large", MPI_Ibcast(data, 1, MPI_INT, size, where, &request));
    tell("ibcast, root -1", MPI_Ibcast(data, 1, MPI_INT, -1, where, &request));
    tell("ibcast, count -1", MPI_Ibcast(data, -1, MPI_INT, 0, where, &request));
    tell("ibcast, null type", MPI_Ibcast(data, 1, MPI_DATATYPE_NULL, 0, where, &request));
    tell("ibcast, uncommitted type", MPI_Ibcast(data, 1, uncommitted, 0, where, &request));
    tell("ibcast, in place", MPI_Ibcast(MPI_IN_PLACE, 1, MPI_INT, 0, where, &request));
    tell("ibcast, null communicator", MPI_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_NULL, &request));
    co_test_expect(request == MPI_REQUEST_NULL, "a request came from a call with wrong arguments");
}

static void make_allgather_errors(MPI_Comm where)
{
    tell("allgather, count -1", MPI_Allgather(data, 1, MPI_INT, all, -1, MPI_INT, where));
    tell("allgather, send count -1", MPI_Allgather(data, -1, MPI_INT, all, 1, MPI_INT, where));
    tell("allgather, null type", MPI_Allgather(data, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, where));
    tell("allgather, null send type", MPI_Allgather(data, 1, MPI_DATATYPE_NULL, all, 1, MPI_INT, where));
    tell("allgather, receive in place", MPI_Allgather(data, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, where));
    MPI_Request request = MPI_REQUEST_NULL;
    tell("iallgather, count -1", MPI_Iallgather(data, 1, MPI_INT, all, -1, MPI_INT, where, &request));
    tell("iallgather, null type", MPI_Iallgather(data, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, where, &request));
    tell("iallgather, receive in place", MPI_Iallgather(data, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, where, &request));
    co_test_expect(request == MPI_REQUEST_NULL, "a request came from a call with wrong arguments");
}

static void check_works(MPI_Comm where)
{
    int value = co_test_rank() == 0 ? 99 : 0;
    int error = MPI_Bcast(&value, 1, MPI_INT, 0, where);
    co_test_expect(error == MPI_SUCCESS && value == 99, "broadcast after errors: %d, %d", error, value);
    MPI_Request request;
    value = co_test_rank() == 1 ? 98 : 0;
    error = MPI_Ibcast(&value, 1, MPI_INT, 1, where, &request);
    co_test_expect(error == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && value == 98,
                   "nonblocking broadcast after errors: %d, %d", error, value);
    value = 99;
    error = MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, where);
    co_test_expect(error == MPI_SUCCESS && all[0] == 99 && all[1] == 99, "allgather after errors");
}

static void make_errors(const char *title, MPI_Comm where)
{
    MPI_Datatype uncommitted;
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    co_test_say("-- %s\n", title);
    make_bcast_errors(where, uncommitted);
    check_works(where);
    make_ibcast_errors(where, uncommitted);
    check_works(where);
    make_allgather_errors(where);
    check_works(where);
    MPI_Type_free(&uncommitted);
}

int main(int argc, char **argv)
{
    MPI_Errhandler comm_handler;
    MPI_Errhandler world_handler;
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
