// SPDX-License-Identifier: BSD-3-Clause
// MPI_Mprobe and MPI_Improbe, MPI_Mrecv and MPI_Imrecv: sizes and statuses, that nobody else finds what was matched,
// many handles at once received in another order, through the Fortran index and back, beside handles of a communicator
// that castoff leaves to native, after the communicator is gone, truncated, and with wrong arguments, which
// leave the message alone. A synchronous send is over when its message is received, not when it is matched.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// modes: native off on faults
// taken: MPI_Mprobe MPI_Improbe MPI_Mrecv MPI_Imrecv
// expect: same words in every mode
#include "oracle/layout.h"
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define SENTINEL 123456
#define LARGE (3 << 20)
#define MANY 200

static const int sizes[] = {0, 1, 63, 64, 65, 4096, 4097, 70000, LARGE};
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
    co_test_expect(status->MPI_ERROR == SENTINEL, "%s: MPI_ERROR is written", call);
}

static void mark(MPI_Status *status)
{
    memset(status, 0, sizeof *status);
    status->MPI_ERROR = SENTINEL;
}

static MPI_Message match(int blocking, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    mark(status);
    if (blocking) {
        MPI_Mprobe(source, tag, comm, &message, status);
    } else {
        for (int flag = 0; !flag;) {
            MPI_Improbe(source, tag, comm, &flag, &message, status);
            co_test_expect(flag || message == MPI_MESSAGE_NULL, "Improbe without a message gives a handle");
        }
    }
    co_test_expect(message != MPI_MESSAGE_NULL && message != MPI_MESSAGE_NO_PROC, "a match without a handle");
    return message;
}

static int receive(int blocking, void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    MPI_Request request;
    mark(status);
    if (blocking) {
        return MPI_Mrecv(buffer, count, type, message, status);
    }
    int code = MPI_Imrecv(buffer, count, type, message, &request);
    if (code != MPI_SUCCESS) {
        return code;
    }
    co_test_expect(request != MPI_REQUEST_NULL, "Imrecv gives no request");
    return MPI_Wait(&request, status);
}

static void match_sizes(void)
{
    MPI_Status status;
    MPI_Request request;
    for (int way = 0; way < 4 * SIZES; way++) {
        int bytes = sizes[way / 4];
        co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), way, (size_t)bytes));
        MPI_Isend(outgoing, bytes, MPI_BYTE, next, way, MPI_COMM_WORLD, &request);
        MPI_Message message =
            match(way & 1, way & 2 ? MPI_ANY_SOURCE : previous, way & 1 ? MPI_ANY_TAG : way, MPI_COMM_WORLD, &status);
        check_status(&status, previous, way, bytes, "match");
        memset(incoming, 0xee, (size_t)bytes + 1 < LARGE ? (size_t)bytes + 1 : LARGE);
        receive(way & 2, incoming, LARGE, MPI_BYTE, &message, &status);
        check_status(&status, previous, way, bytes, "receive");
        co_test_expect(message == MPI_MESSAGE_NULL, "the handle stays");
        co_test_received(incoming, (size_t)bytes, co_test_seed(previous, way, (size_t)bytes), "%d bytes", bytes);
        co_test_expect(bytes == LARGE || incoming[bytes] == 0xee, "a byte too many");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

// Fortran programs carry a handle as an integer, here all of them do.
static void many_at_once(MPI_Comm native)
{
    static MPI_Message messages[MANY];
    MPI_Status status;
    for (int i = 0; i < MANY; i++) {
        MPI_Send(&i, 1, MPI_INT, next, 60 + i % 3, i % 5 == 4 ? native : MPI_COMM_WORLD);
    }
    for (int i = 0; i < MANY; i++) {
        messages[i] = match(i & 1, previous, 60 + i % 3, i % 5 == 4 ? native : MPI_COMM_WORLD, &status);
        MPI_Fint index = MPI_Message_c2f(messages[i]);
        co_test_expect(MPI_Message_f2c(index) == messages[i], "a handle changes on its way through Fortran");
    }
    int flag = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    co_test_expect(flag == 0, "a message that was matched is found again");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = MANY - 1; i >= 0; i--) {
        int value = -1;
        receive(i & 2, &value, 1, MPI_INT, &messages[i], &status);
        co_test_expect(value == i, "message %d is %d", i, value);
    }
}

static void synchronous(int bytes)
{
    MPI_Status status;
    MPI_Request request;
    int flag = 0, word = 0;
    if (co_test_rank() == 0) {
        MPI_Issend(outgoing, bytes, MPI_BYTE, 1, 70, MPI_COMM_WORLD, &request);
        MPI_Recv(&word, 1, MPI_INT, 1, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // it is matched
        for (int i = 0; i < 1000; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            co_test_expect(!flag, "a synchronous send is over before it is received");
        }
        MPI_Send(&word, 1, MPI_INT, 1, 72, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (co_test_rank() == 1) {
        MPI_Message message = match(1, 0, 70, MPI_COMM_WORLD, &status);
        MPI_Send(&word, 1, MPI_INT, 0, 71, MPI_COMM_WORLD);
        MPI_Recv(&word, 1, MPI_INT, 0, 72, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        receive(1, incoming, bytes, MPI_BYTE, &message, &status);
        check_status(&status, 0, 70, bytes, "a synchronous one");
    }
}

static void communicator_gone(int bytes, int blocking)
{
    MPI_Comm comm;
    MPI_Status status;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 80, (size_t)bytes));
    MPI_Isend(outgoing, bytes, MPI_BYTE, next, 80, comm, &request);
    MPI_Message message = match(blocking, previous, 80, comm, &status);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm); // the same place in memory, probably
    receive(blocking, incoming, bytes, MPI_BYTE, &message, &status);
    check_status(&status, previous, 80, bytes, "its communicator is gone");
    co_test_received(incoming, (size_t)bytes, co_test_seed(previous, 80, (size_t)bytes), "%d bytes, freed", bytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
}

static int class_of(int code)
{
    int class = -1;
    MPI_Error_class(code, &class);
    return class;
}

static void truncated(int bytes, int blocking)
{
    MPI_Status status;
    MPI_Request request;
    co_test_pattern_fill(outgoing, (size_t)bytes, co_test_seed(co_test_rank(), 90, (size_t)bytes));
    MPI_Isend(outgoing, bytes, MPI_BYTE, next, 90, MPI_COMM_WORLD, &request);
    MPI_Message message = match(1, previous, 90, MPI_COMM_WORLD, &status);
    memset(incoming, 0xee, (size_t)bytes);
    int class = class_of(receive(blocking, incoming, bytes / 2, MPI_BYTE, &message, &status));
    co_test_expect(class == MPI_ERR_TRUNCATE && message == MPI_MESSAGE_NULL, "truncated: class %d", class);
    check_status(&status, previous, 90, bytes, "truncated");
    co_test_received(incoming, (size_t)bytes / 2, co_test_seed(previous, 90, (size_t)bytes), "the half of %d", bytes);
    // Native itself writes on behind the buffer of a large one (Open MPI 4.1.4, single copy).
    co_test_expect(bytes > 4096 || incoming[bytes / 2] == 0xee, "truncated: a byte too many");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void misuse(int blocking)
{
    const char *call = blocking ? "Mrecv" : "Imrecv";
    MPI_Status status;
    MPI_Datatype uncommitted;
    int value = 5;
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &uncommitted);
    MPI_Send(&value, 1, MPI_INT, next, 95, MPI_COMM_WORLD);
    MPI_Message message = match(1, previous, 95, MPI_COMM_WORLD, &status);
    co_test_say("%s, count -1: %d\n", call, class_of(receive(blocking, incoming, -1, MPI_BYTE, &message, &status)));
    co_test_say("%s, no type: %d\n", call,
                class_of(receive(blocking, incoming, 4, MPI_DATATYPE_NULL, &message, &status)));
    co_test_say("%s, type not committed: %d\n", call,
                class_of(receive(blocking, incoming, 1, uncommitted, &message, &status)));
    co_test_say("%s, no buffer: %d\n", call, class_of(receive(blocking, NULL, 4, MPI_BYTE, &message, &status)));
    co_test_expect(message != MPI_MESSAGE_NULL, "%s: an error takes the message away", call);
    value = -1;
    receive(blocking, &value, 1, MPI_INT, &message, &status);
    co_test_expect(value == 5, "%s after errors: %d", call, value);
    MPI_Type_free(&uncommitted);
    co_test_say("Mprobe of a wrong rank: %d\n", class_of(MPI_Mprobe(99, 1, MPI_COMM_WORLD, &message, &status)));
    co_test_say("Mprobe of a wrong tag: %d\n", class_of(MPI_Mprobe(0, -7, MPI_COMM_WORLD, &message, &status)));
}

static void nobody(void)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Request request;
    int flag = -1;
    for (int blocking = 0; blocking < 2; blocking++) {
        mark(&status);
        MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
        co_test_expect(message == MPI_MESSAGE_NO_PROC, "Mprobe of nobody");
        check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0, "Mprobe of nobody");
        receive(blocking, incoming, 5, MPI_BYTE, &message, &status);
        co_test_expect(message == MPI_MESSAGE_NULL, "a message from nobody stays");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
    MPI_Barrier(MPI_COMM_WORLD);
    co_test_expect(flag == 0 && message == MPI_MESSAGE_NULL, "Improbe finds something at the end");
    // A matched receive is under way already, cancelling comes too late.
    MPI_Send(&flag, 1, MPI_INT, next, 96, MPI_COMM_WORLD);
    message = match(1, previous, 96, MPI_COMM_WORLD, &status);
    MPI_Imrecv(&flag, 1, MPI_INT, &message, &request);
    MPI_Cancel(&request);
    mark(&status);
    MPI_Wait(&request, &status);
    check_status(&status, previous, 96, 4, "a cancelled matched receive");
}

static void layouts(void)
{
    for (enum co_layout_kind kind = 0; kind < CO_LAYOUT_ABSOLUTE; kind++) {
        struct co_layout out, in;
        MPI_Status status;
        MPI_Request request;
        co_layout_create(&out, (CO_LAYOUT_ABSOLUTE - 1) - kind, 5);
        co_layout_create(&in, kind, 5);
        co_layout_write(&out, 0, 5, co_test_seed(co_test_rank(), (int)kind, 5));
        MPI_Isend(out.address, out.count, out.type, next, 97, MPI_COMM_WORLD, &request);
        MPI_Message message = match(1, previous, 97, MPI_COMM_WORLD, &status);
        receive(kind & 1, in.address, in.count, in.type, &message, &status);
        co_layout_check(&in, 0, 5, co_test_seed(previous, (int)kind, 5), co_layout_name(kind));
        co_layout_check_gaps(&in, co_layout_name(kind));
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        co_layout_destroy(&in);
        co_layout_destroy(&out);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm native;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    co_test_begin();
    next = (co_test_rank() + 1) % co_test_size();
    previous = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Info_create(&info);
    MPI_Info_set(info, "castoff", "no");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &native);
    MPI_Info_free(&info);
    match_sizes();
    many_at_once(native);
    synchronous(10);
    synchronous(LARGE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        communicator_gone(100, i);
        communicator_gone(LARGE, i);
        truncated(40, i);
        truncated(200000, i);
        misuse(i);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    nobody();
    layouts();
    MPI_Comm_free(&native);
    return co_test_finish();
}
