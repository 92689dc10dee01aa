// SPDX-License-Identifier: BSD-3-Clause
// A rank blocks in one of the three calls while a peer needs its native message first: the large send
// that it started before can only finish if the native library progresses inside our wait. Then
// the other way round: a rank waits for a native message whose sender is held up in a collective.
// ranks: 2 3
// expect: ends, with the right bytes
// taken: MPI_Bcast MPI_Allgather MPI_Iallgather
#include "oracle/verdict.h"

#include <stdlib.h>

#define MESSAGE 2000003
#define BYTES 100003

static unsigned char message[MESSAGE];
static unsigned char buffer[BYTES];
static unsigned char gathered[BYTES * 3];

enum call { BROADCAST, ALLGATHER, IALLGATHER, CALLS };

// The last rank is the root, so that rank 0 depends on the ranks that depend on its message.
static void call_collective(enum call call, int operation)
{
    MPI_Request request;
    int root = co_test_size() - 1;
    uint64_t seed = co_test_seed(root, operation, BYTES);
    if (call == BROADCAST) {
        if (co_test_rank() == root) {
            co_test_pattern_fill(buffer, BYTES, seed);
        }
        MPI_Bcast(buffer, BYTES, MPI_BYTE, root, MPI_COMM_WORLD);
        co_test_received(buffer, BYTES, seed, "operation %d: broadcast", operation);
        return;
    }
    co_test_pattern_fill(buffer, BYTES, co_test_seed(co_test_rank(), operation, BYTES));
    if (call == ALLGATHER) {
        MPI_Allgather(buffer, BYTES, MPI_BYTE, gathered, BYTES, MPI_BYTE, MPI_COMM_WORLD);
    } else {
        MPI_Iallgather(buffer, BYTES, MPI_BYTE, gathered, BYTES, MPI_BYTE, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int r = 0; r < co_test_size(); r++) {
        co_test_received(gathered + (size_t)r * BYTES, BYTES, co_test_seed(r, operation, BYTES),
                         "operation %d: block %d", operation, r);
    }
}

// Rank 0 starts to send and goes into the collective; the others receive before they join it.
static void send_then_collective(enum call call, int operation)
{
    MPI_Request sends[8];
    uint64_t seed = co_test_seed(0, -operation, MESSAGE);
    if (co_test_rank() == 0) {
        co_test_pattern_fill(message, MESSAGE, seed);
        for (int r = 1; r < co_test_size(); r++) {
            MPI_Isend(message, MESSAGE, MPI_BYTE, r, 1, MPI_COMM_WORLD, &sends[r - 1]);
        }
        call_collective(call, operation);
        MPI_Waitall(co_test_size() - 1, sends, MPI_STATUSES_IGNORE);
    } else {
        MPI_Recv(message, MESSAGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        co_test_received(message, MESSAGE, seed, "operation %d: message", operation);
        call_collective(call, operation);
    }
}

// Rank 0 has started its receives and joins the collective late; the others are in it and send after it.
static void collective_then_receive(enum call call, int operation)
{
    MPI_Request receive = MPI_REQUEST_NULL;
    int from = co_test_rank() == 0 ? co_test_size() - 1 : 0;
    uint64_t seed = co_test_seed(from, -operation, MESSAGE);
    bool takes_part = co_test_rank() == 0 || co_test_rank() == co_test_size() - 1;
    if (takes_part) {
        MPI_Irecv(message, MESSAGE, MPI_BYTE, from, 2, MPI_COMM_WORLD, &receive);
    }
    call_collective(call, operation);
    if (takes_part) {
        unsigned char *outgoing = malloc(MESSAGE);
        co_test_pattern_fill(outgoing, MESSAGE, co_test_seed(co_test_rank(), -operation, MESSAGE));
        MPI_Send(outgoing, MESSAGE, MPI_BYTE, from, 2, MPI_COMM_WORLD);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        co_test_received(message, MESSAGE, seed, "operation %d: exchanged message", operation);
        free(outgoing);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    for (int operation = 0; operation < 9; operation++) {
        send_then_collective((enum call)(operation % CALLS), operation);
        collective_then_receive((enum call)(operation % CALLS), operation + 100);
    }
    return co_test_finish();
}
