// SPDX-License-Identifier: BSD-3-Clause
// Messages of nothing to 8 MiB, around every size at which they may change their way, to every rank and to
// oneself, by each call, into receives that are there first and after the message has come.
// ranks: 2 3
// environment: CASTOFF_P2P=yes
// expect: every message arrives whole, and not a byte beside it
// report: calls["MPI_Recv"]["taken"] > 0
#include "oracle/verdict.h"

#include <stdlib.h>
#include <string.h>

#define LARGEST ((size_t)8 << 20)
#define GUARD 64

static const size_t sizes[] = {0,       1,       7,       8,       63,      64,          65,     95,    96,    97,
                               103,     104,     105,     111,     112,     113,         128,    1000,  2048,  4087,
                               4088,    4089,    4095,    4096,    4097,    4104,        4105,   8183,  8184,  8185,
                               8191,    8192,    8193,    12345,   16384,   32767,       32768,  65536, 65537, 262144,
                               1048575, 1048576, 1048577, 2097152, 3145729, LARGEST - 1, LARGEST};

enum how { STANDARD, READY, SYNCHRONOUS, ISTANDARD, IREADY, ISYNCHRONOUS, HOWS };
static const char *const names[HOWS] = {"Send", "Rsend", "Ssend", "Isend", "Irsend", "Issend"};

static unsigned char *sent, *received;

static MPI_Request start(enum how how, const void *data, int bytes, int to, int tag)
{
    MPI_Request request = MPI_REQUEST_NULL;
    switch (how) {
    case STANDARD:
        MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case READY:
        MPI_Rsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case SYNCHRONOUS:
        MPI_Ssend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
        break;
    case ISTANDARD:
        MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        break;
    case IREADY:
        MPI_Irsend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        break;
    default:
        MPI_Issend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    }
    return request;
}

static void check(size_t bytes, int from, int operation, const MPI_Status *status, const char *what)
{
    int count = -1;
    MPI_Get_count(status, MPI_BYTE, &count);
    co_test_expect(status->MPI_SOURCE == from && status->MPI_TAG == operation && (size_t)count == bytes,
                   "%s of %zu bytes: source %d, tag %d, count %d", what, bytes, status->MPI_SOURCE, status->MPI_TAG,
                   count);
    co_test_received(received, bytes, co_test_seed(from, operation, bytes), "%s of %zu bytes from %d", what, bytes,
                     from);
    for (int i = 0; i < GUARD; i++) {
        if (received[bytes + (size_t)i] != 0xee) {
            co_test_expect(false, "%s of %zu bytes wrote beyond its end", what, bytes);
            break;
        }
    }
    memset(received, 0xee, bytes + GUARD);
}

// Blocking sends are for receives that wait already.
static void exchange(enum how how, size_t bytes, int shift, bool receive_first, int operation)
{
    int to = (co_test_rank() + shift) % co_test_size();
    int from = (co_test_rank() + co_test_size() - shift) % co_test_size();
    MPI_Request receive, send;
    MPI_Status status;
    co_test_pattern_fill(sent, bytes, co_test_seed(co_test_rank(), operation, bytes));
    if (receive_first) {
        MPI_Irecv(received, (int)bytes, MPI_BYTE, from, operation, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        send = start(how, sent, (int)bytes, to, operation);
        MPI_Wait(&receive, &status);
    } else {
        send = start(how, sent, (int)bytes, to, operation);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(received, (int)bytes + 1, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    check(bytes, from, operation, &status, names[how]);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    co_test_begin();
    sent = malloc(LARGEST + GUARD);
    received = malloc(LARGEST + GUARD);
    memset(received, 0xee, LARGEST + GUARD);
    int operation = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (int shift = 0; shift < co_test_size(); shift++) {
            for (enum how how = STANDARD; how < HOWS; how++) {
                exchange(how, sizes[i], shift, true, operation++);
            }
            exchange(ISTANDARD, sizes[i], shift, false, operation++);
            exchange(ISYNCHRONOUS, sizes[i], shift, false, operation++);
        }
    }
    free(sent);
    free(received);
    return co_test_finish();
}
