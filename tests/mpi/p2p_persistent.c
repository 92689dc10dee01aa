// SPDX-License-Identifier: BSD-3-Clause
// Persistent sends and receives of all kinds: rounds in a ring at several sizes, completed by every completion call;
// the handle and its Fortran index never change; what an inactive request answers; datatypes and communicators that
// were freed after the request was made; native and own handles in one Startall; a freed request.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: right bytes, the same words in every mode
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define MOST 200000

enum way { WAIT, TEST, WAITALL, WAITANY, WAITSOME, TESTALL, TESTANY, TESTSOME, WAYS };

static unsigned char out[MOST], in[MOST];
static int left, right;

static void finish(MPI_Request requests[2], enum way way)
{
    int flag = 0, index, count = 0, indices[2];
    switch (way) {
    case WAIT:
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        break;
    case TEST:
        for (int i = 0; i < 2; i++) {
            for (flag = 0; flag == 0;) {
                MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            }
        }
        break;
    case WAITALL:
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        break;
    case TESTALL:
        while (!flag) {
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        }
        break;
    case WAITANY:
        for (int i = 0; i < 2; i++) {
            MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
            co_test_expect(index == 0 || index == 1, "Waitany: index %d", index);
        }
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        co_test_expect(index == MPI_UNDEFINED, "Waitany of inactive ones: index %d", index);
        break;
    case TESTANY:
        for (int done = 0; done < 2; done += flag) {
            MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        }
        break;
    case WAITSOME:
        for (int done = 0; done < 2; done += count) {
            MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        }
        MPI_Waitsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        co_test_expect(count == MPI_UNDEFINED, "Waitsome of inactive ones: count %d", count);
        break;
    default:
        for (int done = 0; done < 2; done += count) {
            MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE);
        }
    }
}

typedef int make_send(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

static void run_ring(make_send *make, const char *name, bool is_ready, size_t bytes)
{
    MPI_Request requests[2], same[2];
    MPI_Fint indices[2];
    MPI_Recv_init(in, (int)bytes, MPI_BYTE, left, 5, MPI_COMM_WORLD, &requests[0]);
    make(out, (int)bytes, MPI_BYTE, right, 5, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 2; i++) {
        same[i] = requests[i];
        indices[i] = MPI_Request_c2f(requests[i]);
    }
    for (int round = 0; round < 3 * WAYS; round++) {
        co_test_pattern_fill(out, bytes, co_test_seed(co_test_rank(), round, bytes));
        memset(in, 0, bytes);
        if (is_ready) {
            MPI_Start(&requests[0]);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Start(&requests[1]);
        } else {
            MPI_Startall(2, requests);
        }
        finish(requests, (enum way)(round % WAYS));
        co_test_received(in, bytes, co_test_seed(left, round, bytes), "%s of %zu bytes, round %d", name, bytes, round);
        for (int i = 0; i < 2; i++) {
            co_test_expect(requests[i] == same[i], "%s: the handle has changed", name);
            co_test_expect(MPI_Request_c2f(requests[i]) == indices[i], "%s: the index has changed", name);
            co_test_expect(MPI_Request_f2c(indices[i]) == same[i], "%s: the index leads elsewhere", name);
        }
    }
    for (int i = 0; i < 2; i++) {
        MPI_Request_free(&requests[i]);
        co_test_expect(requests[i] == MPI_REQUEST_NULL, "%s: freed, but not null", name);
    }
}

static void say_status(const char *what, int code, const MPI_Status *status)
{
    int count, cancelled;
    MPI_Get_count(status, MPI_INT, &count);
    MPI_Test_cancelled(status, &cancelled);
    co_test_say("%s: code %d source %d tag %d count %d cancelled %d\n", what, code, status->MPI_SOURCE, status->MPI_TAG,
                count, cancelled);
}

static void ask_inactive(void)
{
    MPI_Request requests[2];
    MPI_Status status, statuses[2];
    int flag = -1, index = -1, count = -1, indices[2];
    MPI_Recv_init(in, 4, MPI_INT, left, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 4, MPI_INT, right, 6, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 2; round++) { // before the first start, and after the first end
        for (int i = 0; i < 2; i++) {
            say_status("Wait", MPI_Wait(&requests[i], &status), &status);
            say_status("Test", MPI_Test(&requests[i], &flag, &status), &status);
            say_status("Request_get_status", MPI_Request_get_status(requests[i], &flag, &status), &status);
            co_test_expect(flag == 1, "inactive, but not done");
        }
        say_status("Waitany", MPI_Waitany(2, requests, &index, &status), &status);
        say_status("Testany", MPI_Testany(2, requests, &index, &flag, &status), &status);
        say_status("Waitall", MPI_Waitall(2, requests, statuses), &statuses[1]);
        MPI_Testsome(2, requests, &count, indices, statuses);
        co_test_say("index %d flag %d count %d\n", index, flag, count);
        co_test_expect(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL, "an inactive one is gone");
        MPI_Startall(2, requests);
        say_status("sent", MPI_Wait(&requests[1], &status), &status);
        say_status("received", MPI_Wait(&requests[0], &status), &status);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

// The program's datatype and communicator are gone before the first start.
static void free_early(void)
{
    enum { ROWS = 1000 };
    static int from[3 * ROWS], to[3 * ROWS];
    MPI_Request requests[2];
    MPI_Datatype column;
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Type_vector(ROWS, 1, 3, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Recv_init(&to[1], 1, column, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[0]);
    MPI_Send_init(&from[2], 1, column, right, 7, other, &requests[1]);
    MPI_Type_free(&column);
    MPI_Type_contiguous(17, MPI_CHAR, &column); // perhaps in the same place
    MPI_Comm_free(&other);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 3 * ROWS; i++) {
            from[i] = i + 10000 * co_test_rank() + 1000000 * round;
            to[i] = -1;
        }
        MPI_Startall(2, requests);
        finish(requests, WAITALL);
        int wrong = 0;
        for (int i = 0; i < 3 * ROWS; i++) {
            wrong += to[i] != (i % 3 == 1 ? i + 1 + 10000 * left + 1000000 * round : -1);
        }
        co_test_expect(wrong == 0, "freed type and communicator, round %d: %d wrong", round, wrong);
        co_test_absorb(to, sizeof to);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&column);
}

// An intercommunicator's messages are native, and so are those to nobody.
static void start_mixed(void)
{
    MPI_Comm half, across;
    MPI_Request requests[6];
    int rank = co_test_rank(), incoming[2], outgoing[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank == 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0, 3, &across);
    int partner = rank < 2 ? 0 : MPI_PROC_NULL;
    MPI_Recv_init(&incoming[0], 1, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&incoming[1], 1, MPI_INT, partner, 2, across, &requests[1]);
    MPI_Send_init(&outgoing[0], 1, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Send_init(&outgoing[1], 1, MPI_INT, partner, 2, across, &requests[3]);
    MPI_Recv_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[4]);
    MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[5]);
    for (int round = 0; round < 20; round++) {
        incoming[0] = incoming[1] = -1;
        outgoing[0] = rank + 100 * round;
        outgoing[1] = rank + 100 * round + 7;
        MPI_Startall(6, requests);
        for (int done = 0; done < 6; done++) {
            int index;
            MPI_Waitany(6, requests, &index, MPI_STATUS_IGNORE);
            co_test_expect(index >= 0 && index < 6, "Waitany: index %d after %d", index, done);
        }
        co_test_expect(incoming[0] == left + 100 * round, "own: %d", incoming[0]);
        co_test_expect(incoming[1] == (rank < 2 ? 1 - rank + 100 * round + 7 : -1), "native: %d", incoming[1]);
    }
    for (int i = 0; i < 6; i++) {
        MPI_Request_free(&requests[i]);
    }
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static void make_errors(void)
{
    MPI_Request request = MPI_REQUEST_NULL, pair[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    co_test_say("Start of null: %d\n", class_of(MPI_Start(&request)));
    MPI_Recv_init(in, 1, MPI_INT, left, 8, MPI_COMM_WORLD, &pair[0]);
    pair[1] = MPI_REQUEST_NULL;
    co_test_say("Startall with null: %d\n", class_of(MPI_Startall(2, pair)));
    co_test_say("Startall of -1: %d, of 0: %d\n", class_of(MPI_Startall(-1, pair)), class_of(MPI_Startall(0, pair)));
    int flag = 0;
    MPI_Request_get_status(pair[0], &flag, MPI_STATUS_IGNORE);
    co_test_expect(flag == 1, "a refused Startall has started one");
    MPI_Request_free(&pair[0]);
    co_test_say("count %d, ", class_of(MPI_Recv_init(in, -1, MPI_INT, left, 8, MPI_COMM_WORLD, &request)));
    co_test_say("rank %d, ", class_of(MPI_Send_init(in, 1, MPI_INT, 1000, 8, MPI_COMM_WORLD, &request)));
    co_test_say("tag %d, ", class_of(MPI_Bsend_init(in, 1, MPI_INT, right, -8, MPI_COMM_WORLD, &request)));
    co_test_say("type %d\n", class_of(MPI_Ssend_init(in, 1, MPI_DATATYPE_NULL, right, 8, MPI_COMM_WORLD, &request)));
    co_test_say("Request_free of null: %d\n", class_of(MPI_Request_free(&request)));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

// Freed while it is under way, it goes when it is done.
static void free_active(void)
{
    MPI_Request sends[2];
    int answer = 0;
    for (int i = 0; i < 2; i++) {
        size_t bytes = i == 0 ? 100 : MOST;
        co_test_pattern_fill(out, bytes, co_test_seed(co_test_rank(), 50 + i, bytes));
        MPI_Send_init(out, (int)bytes, MPI_BYTE, right, 9, MPI_COMM_WORLD, &sends[i]);
        MPI_Start(&sends[i]);
        MPI_Request_free(&sends[i]);
        co_test_expect(sends[i] == MPI_REQUEST_NULL, "freed, but not null");
        MPI_Recv(in, MOST, MPI_BYTE, left, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_test_received(in, bytes, co_test_seed(left, 50 + i, bytes), "freed send %d", i);
        // The neighbour has it: its answer says that the buffer is free.
        MPI_Send(&i, 1, MPI_INT, left, 10, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_INT, right, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 4, 1000, 5000, MOST};
    MPI_Init(&argc, &argv);
    co_test_begin();
    right = (co_test_rank() + 1) % co_test_size();
    left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    void *attached = malloc(2 * MOST);
    MPI_Buffer_attach(attached, 2 * MOST);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        run_ring(MPI_Send_init, "Send_init", false, sizes[i]);
        run_ring(MPI_Ssend_init, "Ssend_init", false, sizes[i]);
        run_ring(MPI_Rsend_init, "Rsend_init", true, sizes[i]);
        if (sizes[i] <= 1000) { // a larger one native starts again with the bytes of the first time
            run_ring(MPI_Bsend_init, "Bsend_init", true, sizes[i]);
        }
    }
    int size;
    MPI_Buffer_detach(&attached, &size);
    free(attached);
    ask_inactive();
    free_early();
    start_mixed();
    make_errors();
    free_active();
    return co_test_finish();
}
