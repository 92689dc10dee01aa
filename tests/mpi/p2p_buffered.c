// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends: the program's memory is free when the call returns, also with a datatype with gaps; which messages
// need an attached buffer and how large it must be, to the byte; room that comes back; MPI_Buffer_detach, which waits;
// the errors of all of them. Each refused message has a communicator of its own: native never delivers anything
// after one. What needs a buffer follows from what leaves at once: between hosts as much as inside one here, so that
// native's figures for shared memory hold.
// ranks: 2 3
// environment: CASTOFF_P2P=yes CASTOFF_P2P_CARRIER_EAGER=4K
// expect: right bytes, the same words in every mode
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define MOST 100000

static unsigned char out[MOST], in[MOST], attached[4 * MOST] __attribute__((aligned(64)));

static int class_of(int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    return class;
}

static void detach(void)
{
    void *address;
    int size;
    MPI_Buffer_detach(&address, &size);
}

static MPI_Comm fresh(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

// Rank 0 sends `count` messages of `bytes` bytes to rank `to`, before anybody receives; the class of the first error.
static int try_sends(int to, int bytes, int count)
{
    MPI_Comm comm = fresh();
    int answer[2] = {MPI_SUCCESS, 0};
    if (co_test_rank() == 0) {
        while (answer[0] == MPI_SUCCESS && answer[1] < count) {
            answer[0] = class_of(MPI_Bsend(out, bytes, MPI_BYTE, to, 1, comm));
            answer[1] += answer[0] == MPI_SUCCESS;
        }
    }
    MPI_Bcast(answer, 2, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; co_test_rank() == to && i < answer[1]; i++) {
        MPI_Recv(in, MOST, MPI_BYTE, 0, 1, comm, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    return answer[0];
}

// What Open MPI 4.1 lets go by itself at most; 5.0 has longer headers, so that it is less by some bytes.
#define MOST_AT_ONCE (OMPI_MAJOR_VERSION < 5 ? 4040 : 4000)
#define MOST_AT_ONCE_TO_SELF (OMPI_MAJOR_VERSION < 5 ? 968 : 930)

static void send_without(void)
{
    static const int sizes[] = {0, 1, MOST_AT_ONCE, 4041, 5000, MOST};
    static const int to_self[] = {0, 1, MOST_AT_ONCE_TO_SELF, 969, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        co_test_say("without a buffer %d: %d\n", sizes[i], try_sends(1, sizes[i], 1));
    }
    for (size_t i = 0; i < sizeof to_self / sizeof to_self[0]; i++) {
        co_test_say("without a buffer, to ourselves %d: %d\n", to_self[i], try_sends(0, to_self[i], 1));
    }
}

static void find_least(int bytes, int count, int offset)
{
    for (int more = -1;; more++) {
        if (co_test_rank() == 0) {
            MPI_Buffer_attach(attached + offset, count * bytes + more);
        }
        int class = try_sends(1, bytes, count);
        if (co_test_rank() == 0) {
            detach();
        }
        co_test_expect(class == MPI_SUCCESS || class == MPI_ERR_BUFFER, "class %d", class);
        if (class == MPI_SUCCESS || more > 100) {
            co_test_say("%d of %d bytes at %d: %d more\n", count, bytes, offset, more);
            return;
        }
    }
}

// The bytes are those of the time of the call.
static void overwrite(void)
{
    enum { ROWS = 3000 };
    static int matrix[2 * ROWS], got[ROWS];
    int right = (co_test_rank() + 1) % co_test_size(), left = (co_test_rank() + co_test_size() - 1) % co_test_size();
    MPI_Request request;
    MPI_Datatype column;
    MPI_Buffer_attach(attached, sizeof attached);
    for (size_t bytes = 0; bytes <= MOST; bytes = bytes == 0 ? 10 : 10 * bytes) {
        for (int round = 0; round < 2; round++) {
            co_test_pattern_fill(out, bytes, co_test_seed(co_test_rank(), round, bytes));
            if (round == 0) {
                MPI_Bsend(out, (int)bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD);
            } else {
                MPI_Ibsend(out, (int)bytes, MPI_BYTE, right, 2, MPI_COMM_WORLD, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            memset(out, 0xee, bytes);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Recv(in, MOST, MPI_BYTE, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            co_test_received(in, bytes, co_test_seed(left, round, bytes), "buffered, %zu bytes", bytes);
        }
    }
    MPI_Type_vector(ROWS, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Bsend_init(matrix, 1, column, right, 3, MPI_COMM_WORLD, &request);
    MPI_Type_free(&column);
    for (int i = 0; i < 2 * ROWS; i++) {
        matrix[i] = i + 10000 * co_test_rank();
    }
    MPI_Start(&request); // once: native sends the same bytes ever again
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    memset(matrix, 0, sizeof matrix);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Recv(got, ROWS, MPI_INT, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        wrong += got[i] != 2 * i + 10000 * left;
    }
    co_test_expect(wrong == 0, "Bsend_init of a column: %d wrong", wrong);
    MPI_Request_free(&request);
    detach();
}

// Room for one message only, many times over.
static void refill(void)
{
    int code = MPI_SUCCESS, token;
    MPI_Buffer_attach(attached, MOST + 24);
    for (int i = 0; i < 20; i++) {
        if (co_test_rank() == 0) {
            co_test_pattern_fill(out, MOST, co_test_seed(0, i, MOST));
            code = MPI_Bsend(out, MOST, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
            co_test_expect(code == MPI_SUCCESS, "no room in round %d", i);
            MPI_Recv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            detach();
            MPI_Buffer_attach(attached, MOST + 24);
        } else if (co_test_rank() == 1) {
            MPI_Recv(in, MOST, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            co_test_received(in, MOST, co_test_seed(0, i, MOST), "round %d", i);
            MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
    }
    detach();
}

// While the buffer is being detached the receiver still has to say that it is there; then all have left.
static void detach_waits(void)
{
    enum { MESSAGES = 3 };
    void *address;
    int size, rank = co_test_rank();
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Buffer_attach(attached, sizeof attached);
        for (int i = 0; i < MESSAGES; i++) {
            co_test_pattern_fill(out, MOST, co_test_seed(0, i, MOST));
            MPI_Bsend(out, MOST, MPI_BYTE, 1, 6, MPI_COMM_WORLD);
        }
        MPI_Buffer_detach(&address, &size);
        co_test_expect(address == attached && size == (int)sizeof attached, "detached something else");
        memset(attached, 0x5a, sizeof attached);
    } else if (rank == 1) {
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Recv(in, MOST, MPI_BYTE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            co_test_received(in, MOST, co_test_seed(0, i, MOST), "detached under way, %d", i);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void make_errors(void)
{
    void *address;
    int size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    co_test_expect(MPI_Buffer_detach(&address, &size) != MPI_SUCCESS, "detached without a buffer");
    co_test_say("attach nothing: %d\n", class_of(MPI_Buffer_attach(NULL, 100)));
    co_test_say("attach: %d\n", MPI_Buffer_attach(attached, 1000));
    co_test_expect(MPI_Buffer_attach(attached, 1000) != MPI_SUCCESS, "attached twice");
    co_test_say("too large: %d\n", try_sends(1, MOST, 1));
    MPI_Buffer_detach(&address, &size);
    co_test_say("detached %d\n", size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    send_without();
    find_least(10000, 1, 0);
    find_least(10000, 3, 0);
    find_least(10004, 2, 5);
    find_least(10001, 2, 15);
    overwrite();
    refill();
    detach_waits();
    make_errors();
    return co_test_finish();
}
