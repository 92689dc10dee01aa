// SPDX-License-Identifier: BSD-3-Clause
//
// Messages as programs send them beside MPI_Send and MPI_Recv. From `persistent` on they go there and back, half of it
// is told.
//   one-way     MPI_Send here, MPI_Recv there, many in a row and then a word back, time of a message
//   exchange    MPI_Isend of two messages, MPI_Recv of two, MPI_Waitall, on both at once, time of all
//   sendrecv    MPI_Sendrecv in both directions at once, time of a call
//   persistent  MPI_Start and MPI_Wait of persistent requests
//   probe       MPI_Probe, MPI_Get_count and MPI_Recv
//   test        MPI_Irecv, and MPI_Test until it is done
//   ssend       MPI_Ssend
//   vector      every other 8 bytes of buffers twice as large, one derived datatype
#include "p2p.h"

#include <string.h>

enum { BLOCK = 8 };

static double time_one_way(const struct p2p_run *run, MPI_Comm comm, int bytes, int batch)
{
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        if (run->is_first) {
            MPI_Send(run->send, bytes, MPI_BYTE, run->peer, 1, comm);
        } else {
            MPI_Recv(run->receive, bytes, MPI_BYTE, run->peer, 1, comm, MPI_STATUS_IGNORE);
        }
    }
    if (run->is_first) {
        MPI_Recv(NULL, 0, MPI_BYTE, run->peer, 2, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, run->peer, 2, comm);
    }
    return p2p_now() - start;
}

static double time_exchange(const struct p2p_run *run, MPI_Comm comm, int bytes, int batch)
{
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        for (int k = 0; k < 2; k++) {
            MPI_Isend(run->send + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, run->peer, k, comm, &run->requests[k]);
        }
        for (int k = 0; k < 2; k++) {
            MPI_Recv(run->receive + (size_t)k * (size_t)bytes, bytes, MPI_BYTE, run->peer, k, comm, MPI_STATUS_IGNORE);
        }
        MPI_Waitall(2, run->requests, MPI_STATUSES_IGNORE);
    }
    return p2p_now() - start;
}

static double time_sendrecv(const struct p2p_run *run, MPI_Comm comm, int bytes, int batch)
{
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        MPI_Sendrecv(run->send, bytes, MPI_BYTE, run->peer, 1, run->receive, bytes, MPI_BYTE, run->peer, 1, comm,
                     MPI_STATUS_IGNORE);
    }
    return p2p_now() - start;
}

// What one end of a ping-pong does with a message.
struct end {
    const struct p2p_run *run;
    MPI_Comm comm;
    int bytes;
    MPI_Datatype datatype; // vector
    MPI_Request requests[2];
};

typedef void end_fn(struct end *end);

static double time_rounds(struct end *end, int batch, end_fn *send, end_fn *receive)
{
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        (end->run->is_first ? send : receive)(end);
        (end->run->is_first ? receive : send)(end);
    }
    return (p2p_now() - start) / 2;
}

static void send_plain(struct end *end)
{
    MPI_Send(end->run->send, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm);
}

static void receive_plain(struct end *end)
{
    MPI_Recv(end->run->receive, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm, MPI_STATUS_IGNORE);
}

static void send_synchronous(struct end *end)
{
    MPI_Ssend(end->run->send, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm);
}

static void start_first(struct end *end)
{
    MPI_Start(&end->requests[0]);
    MPI_Wait(&end->requests[0], MPI_STATUS_IGNORE);
}

static void start_second(struct end *end)
{
    MPI_Start(&end->requests[1]);
    MPI_Wait(&end->requests[1], MPI_STATUS_IGNORE);
}

static void receive_probed(struct end *end)
{
    MPI_Status status;
    int count;
    MPI_Probe(end->run->peer, 1, end->comm, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Recv(end->run->receive, count, MPI_BYTE, end->run->peer, 1, end->comm, MPI_STATUS_IGNORE);
}

static void receive_tested(struct end *end)
{
    MPI_Request request;
    int is_done = 0;
    MPI_Irecv(end->run->receive, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm, &request);
    while (!is_done) {
        MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    }
}

static void send_vector(struct end *end)
{
    MPI_Send(end->run->send, 1, end->datatype, end->run->peer, 1, end->comm);
}

static void receive_vector(struct end *end)
{
    MPI_Recv(end->run->receive, 1, end->datatype, end->run->peer, 1, end->comm, MPI_STATUS_IGNORE);
}

static double time_persistent(struct end *end, int batch)
{
    MPI_Send_init(end->run->send, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm, &end->requests[0]);
    MPI_Recv_init(end->run->receive, end->bytes, MPI_BYTE, end->run->peer, 1, end->comm, &end->requests[1]);
    double took = time_rounds(end, batch, start_first, start_second);
    MPI_Request_free(&end->requests[0]);
    MPI_Request_free(&end->requests[1]);
    return took;
}

static size_t block_of(size_t bytes)
{
    return bytes % BLOCK == 0 ? BLOCK : 1;
}

static double time_vector(struct end *end, int batch)
{
    int block = (int)block_of((size_t)end->bytes);
    MPI_Type_vector(end->bytes / block, block, 2 * block, MPI_BYTE, &end->datatype);
    MPI_Type_commit(&end->datatype);
    double took = time_rounds(end, batch, send_vector, receive_vector);
    MPI_Type_free(&end->datatype);
    return took;
}

double p2p_usage_time(const struct p2p_run *run, MPI_Comm comm, enum p2p_kind kind, int bytes, int batch)
{
    struct end end = {.run = run, .comm = comm, .bytes = bytes};
    switch (kind) {
    case P2P_ONE_WAY:
        return time_one_way(run, comm, bytes, batch);
    case P2P_EXCHANGE:
        return time_exchange(run, comm, bytes, batch);
    case P2P_SENDRECV:
        return time_sendrecv(run, comm, bytes, batch);
    case P2P_PERSISTENT:
        return time_persistent(&end, batch);
    case P2P_PROBE:
        return time_rounds(&end, batch, send_plain, receive_probed);
    case P2P_TEST:
        return time_rounds(&end, batch, send_plain, receive_tested);
    case P2P_SSEND:
        return time_rounds(&end, batch, send_synchronous, receive_plain);
    default:
        return time_vector(&end, batch);
    }
}

void p2p_usage_spread(uint8_t *buffer, const uint8_t *data, size_t bytes)
{
    size_t block = block_of(bytes);
    for (size_t at = 0; at < bytes; at += block) {
        memcpy(buffer + 2 * at, data + at, block);
    }
}

void p2p_usage_gather(uint8_t *data, const uint8_t *buffer, size_t bytes)
{
    size_t block = block_of(bytes);
    for (size_t at = 0; at < bytes; at += block) {
        memcpy(data + at, buffer + 2 * at, block);
    }
}
