// SPDX-License-Identifier: BSD-3-Clause
// MPI_Isendrecv and MPI_Isendrecv_replace, where the MPI below has them (Open MPI 5): rings of all sizes, to oneself,
// with MPI_PROC_NULL on either side, with types that differ, truncated, completed in all ways and beside native
// requests, against plain sends and receives of the other side, with wrong arguments.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: native off on faults
// taken: MPI_Isendrecv MPI_Isendrecv_replace
// expect: same words in every mode
#include "oracle/layout.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#if OMPI_MAJOR_VERSION >= 5

#define LARGE (3 << 20)

static const int sizes[] = {0, 1, 64, 513, 4097, 70000, LARGE};
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))

static unsigned char outgoing[LARGE], incoming[LARGE];
static int previous, next;

static void check_status(const MPI_Status *status, int source, int tag, int bytes, const char *call)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_expect(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes && cancelled == 0,
                   "%s: source %d, tag %d, %d bytes, cancelled %d; not %d, %d, %d", call, status->MPI_SOURCE,
                   status->MPI_TAG, count, cancelled, source, tag, bytes);
}

// By the way of completion that the turn chooses, together with a native request.
static void complete(MPI_Request *request, MPI_Status *status, int turn)
{
    MPI_Request both[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    int flag = 0;
    switch (turn % 4) {
    case 0:
        MPI_Wait(request, status);
        return;
    case 1:
        while (!flag) {
            MPI_Request_get_status(*request, &flag, status);
        }
        MPI_Test(request, &flag, status);
        co_test_expect(flag, "done, and not complete");
        return;
    case 2:
        MPI_Ibarrier(MPI_COMM_WORLD, &both[0]);
        MPI_Waitall(2, both, statuses);
        break;
    default:
        MPI_Ibarrier(MPI_COMM_WORLD, &both[0]);
        while (!flag) {
            MPI_Testall(2, both, &flag, statuses);
        }
        break;
    }
    *status = statuses[1];
    *request = both[1];
    co_test_expect(both[0] == MPI_REQUEST_NULL, "the barrier's request stays");
}

// From `source` to `destination`, both calls at each size.
static void exchange(int destination, int source, const char *what)
{
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        size_t bytes = (size_t)sizes[i];
        uint64_t mine = co_test_seed(co_test_rank(), i, bytes), theirs = co_test_seed(source, i, bytes);
        co_test_pattern_fill(outgoing, bytes, mine);
        MPI_Isendrecv(outgoing, (int)bytes, MPI_BYTE, destination, i, incoming, LARGE, MPI_BYTE,
                      i & 1 ? source : MPI_ANY_SOURCE, i & 2 ? i : MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        complete(&request, &status, i);
        co_test_expect(request == MPI_REQUEST_NULL, "%s: the request stays", what);
        check_status(&status, source, i, (int)bytes, what);
        co_test_received(incoming, bytes, theirs, "%s, %zu bytes", what, bytes);
        MPI_Barrier(MPI_COMM_WORLD); // the wildcards of one size must not meet the next
        MPI_Isendrecv_replace(outgoing, (int)bytes, MPI_BYTE, destination, i, source, i, MPI_COMM_WORLD, &request);
        complete(&request, &status, i + 1);
        check_status(&status, source, i, (int)bytes, what);
        co_test_received(outgoing, bytes, theirs, "%s, replaced, %zu bytes", what, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

// A line instead of a ring: the ends talk to nobody on one side.
static void line(void)
{
    int left = co_test_rank() == 0 ? MPI_PROC_NULL : previous;
    int right = co_test_rank() == co_test_size() - 1 ? MPI_PROC_NULL : next;
    MPI_Status status;
    MPI_Request request;
    for (int i = 0; i < SIZES; i++) {
        int bytes = sizes[i], count = -1;
        co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 100 + i, (size_t)bytes));
        MPI_Isendrecv(outgoing, bytes, MPI_BYTE, right, 1, incoming, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                      &request);
        MPI_Wait(&request, &status);
        if (left == MPI_PROC_NULL) {
            MPI_Get_count(&status, MPI_BYTE, &count);
            co_test_say("from nobody: source %d, tag %d, %d bytes\n", status.MPI_SOURCE, status.MPI_TAG, count);
        } else {
            check_status(&status, left, 1, bytes, "in a line");
            co_test_received(incoming, (size_t)bytes, co_test_seed(previous, 100 + i, (size_t)bytes), "in a line, %d",
                             bytes);
        }
    }
    MPI_Isendrecv(outgoing, 5, MPI_BYTE, MPI_PROC_NULL, 1, incoming, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                  &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void layouts(void)
{
    MPI_Request request;
    for (enum co_layout_kind kind = 0; kind <= CO_LAYOUT_ABSOLUTE; kind++) {
        struct co_layout out, in;
        bool is_absolute = kind == CO_LAYOUT_ABSOLUTE;
        int count = is_absolute ? 1 : 300;
        co_layout_create(&out, kind, count);
        co_layout_create(&in, is_absolute ? kind : (CO_LAYOUT_ABSOLUTE - 1) - kind, count);
        co_layout_write(&out, 0, count, co_test_seed(co_test_rank(), (int)kind, 300));
        MPI_Isendrecv(out.address, out.count, out.type, next, 7, in.address, in.count, in.type, previous, 7,
                      MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_layout_check(&in, 0, count, co_test_seed(previous, (int)kind, 300), co_layout_name(kind));
        co_layout_check_gaps(&in, co_layout_name(kind));
        MPI_Isendrecv_replace(out.address, out.count, out.type, next, 8, previous, 8, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_layout_check(&out, 0, count, co_test_seed(previous, (int)kind, 300), co_layout_name(kind));
        co_layout_check_gaps(&out, co_layout_name(kind));
        co_layout_destroy(&in);
        co_layout_destroy(&out);
    }
}

// It meets plain calls of the other side, both ways round; several are under way at a time.
static void beside_plain_calls(void)
{
    enum { AT_A_TIME = 40, BYTES = 3000 };
    int me = co_test_rank();
    MPI_Request requests[2 * AT_A_TIME];
    if (me > 1) {
        return;
    }
    for (int i = 0; i < AT_A_TIME; i++) {
        unsigned char *out = outgoing + i * BYTES, *in = incoming + i * BYTES;
        co_test_pattern_fill(out, BYTES, co_test_seed(me, 200 + i, BYTES));
        requests[2 * i + 1] = MPI_REQUEST_NULL;
        if ((me + i) % 2 == 0) {
            MPI_Isendrecv(out, BYTES, MPI_BYTE, 1 - me, i, in, BYTES, MPI_BYTE, 1 - me, i, MPI_COMM_WORLD,
                          &requests[2 * i]);
        } else {
            MPI_Irecv(in, BYTES, MPI_BYTE, 1 - me, i, MPI_COMM_WORLD, &requests[2 * i]);
            MPI_Issend(out, BYTES, MPI_BYTE, 1 - me, i, MPI_COMM_WORLD, &requests[2 * i + 1]);
        }
    }
    MPI_Waitall(2 * AT_A_TIME, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AT_A_TIME; i++) {
        co_test_received(incoming + i * BYTES, BYTES, co_test_seed(1 - me, 200 + i, BYTES), "mixed, %d", i);
    }
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void truncated(int bytes)
{
    MPI_Request request;
    co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 300, (size_t)bytes));
    MPI_Isendrecv(outgoing, bytes, MPI_BYTE, next, 3, incoming, bytes / 2, MPI_BYTE, previous, 3, MPI_COMM_WORLD,
                  &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); // whether it is an error natively too, is not asked
    co_test_received(incoming, (size_t)bytes / 2, co_test_seed(previous, 300, (size_t)bytes), "half of %d", bytes);
}

static int try(int count, MPI_Datatype type, int destination, int send_tag, int source, int receive_tag)
{
    MPI_Request request;
    return class_of(MPI_Isendrecv(outgoing, count, type, destination, send_tag, incoming, 4, MPI_BYTE, source,
                                  receive_tag, MPI_COMM_WORLD, &request));
}

// Nothing of a call with a wrong argument happens: neither half of it.
static void misuse(void)
{
    int me = co_test_rank(), flag = -1;
    co_test_say("count %d, type %d\n", try(-1, MPI_BYTE, me, 1, me, 1), try(1, MPI_DATATYPE_NULL, me, 1, me, 1));
    co_test_say("ranks %d %d, tags %d %d\n", try(1, MPI_BYTE, 99, 1, me, 1), try(1, MPI_BYTE, me, 1, -9, 1),
                try(1, MPI_BYTE, me, -1, me, 1), try(1, MPI_BYTE, me, 1, me, -9));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    co_test_expect(flag == 0, "a wrong call sends something");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    int me = co_test_rank(), size = co_test_size();
    next = (me + 1) % size;
    previous = (me + size - 1) % size;
    exchange(next, previous, "ring");
    exchange(previous, next, "ring, other way");
    exchange(me, me, "oneself");
    line();
    layouts();
    beside_plain_calls();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    truncated(40);
    truncated(200000);
    misuse();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    return co_test_finish();
}

#else

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    return co_test_skip("Open MPI has MPI_Isendrecv from version 5 on");
}

#endif
