// SPDX-License-Identifier: BSD-3-Clause
// MPI_Sendrecv and MPI_Sendrecv_replace: rings and pairs of all sizes, to oneself, with MPI_PROC_NULL on either side,
// with types that differ, with wildcards, truncated, with wrong arguments, and together with sends and
// receives that stand alone.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: native off on faults
// taken: MPI_Sendrecv MPI_Sendrecv_replace
// expect: same words in every mode
#include "oracle/layout.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define SENTINEL 123456
#define LARGE (3 << 20)

static const int sizes[] = {0, 1, 63, 64, 65, 511, 512, 513, 4096, 4097, 70000, LARGE};
#define SIZES ((int)(sizeof sizes / sizeof sizes[0]))

static unsigned char outgoing[LARGE], incoming[LARGE];
static int previous, next;

static void mark(MPI_Status *status)
{
    memset(status, 0, sizeof *status);
    status->MPI_ERROR = SENTINEL;
}

static void check_status(const MPI_Status *status, int source, int tag, int bytes, const char *call)
{
    int count = -1, cancelled = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_expect(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == bytes && cancelled == 0,
                   "%s: source %d, tag %d, %d bytes, cancelled %d; not %d, %d, %d", call, status->MPI_SOURCE,
                   status->MPI_TAG, count, cancelled, source, tag, bytes);
    co_test_expect(status->MPI_ERROR == SENTINEL, "%s: MPI_ERROR is written", call);
}

// From `source` to `destination`, both ways of the call, at each size.
static void exchange(int destination, int source, const char *what)
{
    MPI_Status status;
    for (int i = 0; i < SIZES; i++) {
        size_t bytes = (size_t)sizes[i];
        uint64_t mine = co_test_seed(co_test_rank(), i, bytes), theirs = co_test_seed(source, i, bytes);
        co_test_pattern_fill(outgoing, bytes, mine);
        mark(&status);
        MPI_Sendrecv(outgoing, (int)bytes, MPI_BYTE, destination, i, incoming, LARGE, MPI_BYTE,
                     i & 1 ? source : MPI_ANY_SOURCE, i & 2 ? i : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check_status(&status, source, i, (int)bytes, what);
        co_test_received(incoming, bytes, theirs, "%s, %zu bytes", what, bytes);
        MPI_Barrier(MPI_COMM_WORLD); // the wildcards of one size must not meet the next
        mark(&status);
        MPI_Sendrecv_replace(outgoing, (int)bytes, MPI_BYTE, destination, i, source, i, MPI_COMM_WORLD, &status);
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
    for (int i = 0; i < SIZES; i++) {
        int bytes = sizes[i];
        uint64_t theirs = co_test_seed(previous, 100 + i, (size_t)bytes);
        for (int replaces = 0; replaces < 2; replaces++) {
            unsigned char *arrives = replaces ? outgoing : incoming;
            co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 100 + i, (size_t)bytes));
            mark(&status);
            if (replaces) {
                MPI_Sendrecv_replace(outgoing, bytes, MPI_BYTE, right, 1, left, 1, MPI_COMM_WORLD, &status);
            } else {
                MPI_Sendrecv(outgoing, bytes, MPI_BYTE, right, 1, incoming, bytes, MPI_BYTE, left, 1, MPI_COMM_WORLD,
                             &status);
            }
            if (left == MPI_PROC_NULL) {
                check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "from nobody");
            } else {
                check_status(&status, left, 1, bytes, "in a line");
                co_test_received(arrives, (size_t)bytes, theirs, "in a line, %d bytes", bytes);
            }
        }
    }
    mark(&status);
    MPI_Sendrecv(outgoing, 5, MPI_BYTE, MPI_PROC_NULL, 1, incoming, 5, MPI_BYTE, MPI_PROC_NULL, 1, MPI_COMM_WORLD,
                 &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "nobody on both sides");
}

static void layouts(void)
{
    for (enum co_layout_kind kind = 0; kind <= CO_LAYOUT_ABSOLUTE; kind++) {
        struct co_layout out, in;
        bool is_absolute = kind == CO_LAYOUT_ABSOLUTE;
        int count = is_absolute ? 1 : 300;
        co_layout_create(&out, kind, count);
        co_layout_create(&in, is_absolute ? kind : (CO_LAYOUT_ABSOLUTE - 1) - kind, count);
        co_layout_write(&out, 0, count, co_test_seed(co_test_rank(), (int)kind, 300));
        MPI_Sendrecv(out.address, out.count, out.type, next, 7, in.address, in.count, in.type, previous, 7,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_layout_check(&in, 0, count, co_test_seed(previous, (int)kind, 300), co_layout_name(kind));
        co_layout_check_gaps(&in, co_layout_name(kind));
        MPI_Sendrecv_replace(out.address, out.count, out.type, next, 8, previous, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_layout_check(&out, 0, count, co_test_seed(previous, (int)kind, 300), co_layout_name(kind));
        co_layout_check_gaps(&out, co_layout_name(kind));
        co_layout_destroy(&in);
        co_layout_destroy(&out);
    }
}

// Sendrecv meets plain calls of the other side, both ways round.
static void beside_plain_calls(void)
{
    int me = co_test_rank();
    MPI_Request request;
    for (int i = 0; i < SIZES && me < 2; i++) {
        int bytes = sizes[i];
        co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(me, 200 + i, (size_t)bytes));
        if ((me + i) % 2 == 0) {
            MPI_Sendrecv(outgoing, bytes, MPI_BYTE, 1 - me, 9, incoming, bytes, MPI_BYTE, 1 - me, 9, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(incoming, bytes, MPI_BYTE, 1 - me, 9, MPI_COMM_WORLD, &request);
            MPI_Ssend(outgoing, bytes, MPI_BYTE, 1 - me, 9, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        co_test_received(incoming, (size_t)bytes, co_test_seed(1 - me, 200 + i, (size_t)bytes), "mixed, %d", bytes);
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
    MPI_Status status;
    MPI_Request requests[2];
    co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 300, (size_t)bytes));
    mark(&status);
    int class = class_of(MPI_Sendrecv(outgoing, bytes, MPI_BYTE, next, 3, incoming, bytes / 2, MPI_BYTE, previous, 3,
                                      MPI_COMM_WORLD, &status));
    co_test_expect(class == MPI_ERR_TRUNCATE, "truncated: class %d", class);
    check_status(&status, previous, 3, bytes, "truncated");
    co_test_received(incoming, (size_t)bytes / 2, co_test_seed(previous, 300, (size_t)bytes), "half of %d", bytes);
    unsigned char *aside = incoming + LARGE / 2;
    memcpy(incoming, outgoing, (size_t)bytes);
    MPI_Isend(incoming, bytes, MPI_BYTE, next, 4, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(aside, bytes / 2, MPI_BYTE, previous, 5, MPI_COMM_WORLD, &requests[1]);
    class =
        class_of(MPI_Sendrecv_replace(outgoing, bytes / 2, MPI_BYTE, next, 5, previous, 4, MPI_COMM_WORLD, &status));
    co_test_expect(class == MPI_ERR_TRUNCATE, "truncated, replaced: class %d", class);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    mark(&status);
    MPI_Wait(&requests[1], &status);
    check_status(&status, previous, 5, bytes / 2, "what went out beside it");
}

static int try(int count, MPI_Datatype type, int destination, int send_tag, int source, int receive_tag)
{
    return class_of(MPI_Sendrecv(outgoing, count, type, destination, send_tag, incoming, 4, MPI_BYTE, source,
                                 receive_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static int try_replace(int count, MPI_Datatype type, int destination, int send_tag, int source, int receive_tag)
{
    return class_of(MPI_Sendrecv_replace(outgoing, count, type, destination, send_tag, source, receive_tag,
                                         MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

// Nothing of a call with a wrong argument happens: neither half of it.
static void misuse(void)
{
    int me = co_test_rank(), flag = -1;
    MPI_Datatype type;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &type);
    for (int i = 0; i < 2; i++) {
        int (*call)(int, MPI_Datatype, int, int, int, int) = i == 0 ?
        try : try_replace
            ;
        co_test_say("count %d, type %d, not committed %d\n", call(-1, MPI_BYTE, me, 1, me, 1),
                    call(1, MPI_DATATYPE_NULL, me, 1, me, 1), call(1, type, me, 1, me, 1));
        co_test_say("ranks %d %d, tags %d %d\n", call(1, MPI_BYTE, 99, 1, me, 1), call(1, MPI_BYTE, me, 1, -9, 1),
                    call(1, MPI_BYTE, me, -1, me, 1), call(1, MPI_BYTE, me, 1, me, -9));
        co_test_say("to nobody: tags %d %d\n", call(1, MPI_BYTE, MPI_PROC_NULL, -5, me, 1),
                    call(1, MPI_BYTE, me, 1, MPI_PROC_NULL, -5));
    }
    MPI_Type_free(&type);
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
