// SPDX-License-Identifier: BSD-3-Clause
// MPI_Cancel: receives that nothing has come for are cancelled and take no later message, those with a message are not;
// sends never are. Persistent receives are started again afterwards; cancelled ones in arrays and freed ones.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: the same words in every mode
// report: calls["MPI_Irecv"]["taken"] > 0
#include "oracle/verdict.h"

#include <string.h>

#define LARGE 100000

static unsigned char out[LARGE], in[LARGE];
static int left, right;

static void say_status(const char *what, int code, const MPI_Status *status)
{
    int count, cancelled;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_say("%s: code %d source %d tag %d count %d cancelled %d\n", what, code, status->MPI_SOURCE, status->MPI_TAG,
                count, cancelled);
}

// A message that only the receive posted last may take.
static void exchange(int tag, int value)
{
    int got = -1;
    MPI_Request receive;
    MPI_Irecv(&got, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &receive);
    value += co_test_rank();
    MPI_Send(&value, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    co_test_expect(got == value - co_test_rank() + left, "tag %d: %d", tag, got);
}

static void cancel_posted(void)
{
    static const int wildcards[4][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
    for (int i = 0; i < 4; i++) {
        int untouched = 77;
        MPI_Request receive;
        MPI_Status status;
        MPI_Irecv(&untouched, 1, MPI_INT, wildcards[i][0] ? MPI_ANY_SOURCE : left, wildcards[i][1] ? MPI_ANY_TAG : 3,
                  MPI_COMM_WORLD, &receive);
        int code = MPI_Cancel(&receive);
        co_test_expect(code == MPI_SUCCESS && receive != MPI_REQUEST_NULL, "Cancel: %d", code);
        MPI_Barrier(MPI_COMM_WORLD); // nobody sends before all have cancelled
        exchange(3, 10 * i);
        say_status("cancelled", MPI_Wait(&receive, &status), &status);
        co_test_expect(untouched == 77 && receive == MPI_REQUEST_NULL, "a cancelled receive took %d", untouched);
    }
}

static void cancel_matched(void)
{
    MPI_Request receive;
    MPI_Status status;
    int got = -1, value = co_test_rank() + 5, last;
    MPI_Irecv(&got, 1, MPI_INT, left, 4, MPI_COMM_WORLD, &receive);
    MPI_Send(&value, 1, MPI_INT, right, 4, MPI_COMM_WORLD);
    MPI_Send(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Recv(&last, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); // behind the other: that is here
    MPI_Cancel(&receive);
    say_status("matched", MPI_Wait(&receive, &status), &status);
    co_test_expect(got == left + 5, "a matched receive has %d", got);
}

static void cancel_sends(void)
{
    for (int i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? 8 : LARGE;
        MPI_Request send;
        MPI_Status status;
        int cancelled;
        co_test_pattern_fill(out, bytes, co_test_seed(co_test_rank(), i, bytes));
        MPI_Issend(out, (int)bytes, MPI_BYTE, right, 6, MPI_COMM_WORLD, &send);
        MPI_Cancel(&send);
        MPI_Recv(in, LARGE, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_test_received(in, bytes, co_test_seed(left, i, bytes), "a cancelled send of %zu", bytes);
        MPI_Wait(&send, &status);
        MPI_Test_cancelled(&status, &cancelled);
        co_test_expect(cancelled == 0, "a send was cancelled");
    }
}

static void cancel_persistent(void)
{
    MPI_Request receive, same, send;
    MPI_Status status;
    int got = -1, value = co_test_rank() + 9;
    MPI_Recv_init(&got, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &receive);
    same = receive;
    for (int round = 0; round < 3; round++) {
        got = -1;
        MPI_Start(&receive);
        MPI_Cancel(&receive);
        say_status("persistent, cancelled", MPI_Wait(&receive, &status), &status);
        co_test_expect(receive == same && got == -1, "cancelled: %d", got);
        say_status("persistent, inactive", MPI_Wait(&receive, &status), &status);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&receive);
        MPI_Send(&value, 1, MPI_INT, right, 7, MPI_COMM_WORLD);
        say_status("persistent, again", MPI_Wait(&receive, &status), &status);
        co_test_expect(receive == same && got == left + 9, "again: %d", got);
    }
    MPI_Request_free(&receive);
    MPI_Send_init(&value, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &send);
    co_test_say("Cancel of an inactive send: %d\n", MPI_Cancel(&send));
    say_status("inactive send", MPI_Wait(&send, &status), &status);
    MPI_Request_free(&send);
}

static void cancel_in_arrays(void)
{
    MPI_Request receives[3];
    MPI_Status statuses[3];
    int got[3] = {-1, -1, -1}, index, count, indices[3];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3; i++) {
            MPI_Irecv(&got[i], 1, MPI_INT, left, 20 + i, MPI_COMM_WORLD, &receives[i]);
        }
        MPI_Cancel(&receives[1]);
        if (round == 0) {
            MPI_Waitany(3, receives, &index, &statuses[0]);
            co_test_expect(index == 1, "Waitany: %d", index);
            say_status("Waitany", 0, &statuses[0]);
        } else if (round == 1) {
            MPI_Waitsome(3, receives, &count, indices, statuses);
            co_test_expect(count == 1 && indices[0] == 1, "Waitsome: %d", count);
            say_status("Waitsome", 0, &statuses[0]);
        }
        MPI_Cancel(&receives[0]);
        MPI_Cancel(&receives[2]);
        MPI_Waitall(3, receives, statuses);
        for (int i = 0; i < 3; i++) {
            say_status("Waitall", 0, &statuses[i]);
        }
    }
    MPI_Irecv(&got[0], 1, MPI_INT, left, 20, MPI_COMM_WORLD, &receives[0]);
    MPI_Cancel(&receives[0]);
    MPI_Request_free(&receives[0]);
    co_test_expect(receives[0] == MPI_REQUEST_NULL, "freed, but not null");
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(20, 500);
    co_test_expect(got[0] == -1, "a cancelled and freed receive took %d", got[0]);
}

int main(int argc, char **argv)
{
    MPI_Request null = MPI_REQUEST_NULL;
    int class;
    MPI_Init(&argc, &argv);
    co_test_begin();
    right = (co_test_rank() + 1) % co_test_size();
    left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    cancel_posted();
    cancel_matched();
    cancel_sends();
    cancel_persistent();
    cancel_in_arrays();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Cancel(&null), &class);
    co_test_say("Cancel of null: %d\n", class);
    return co_test_finish();
}
