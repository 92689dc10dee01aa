// SPDX-License-Identifier: BSD-3-Clause
//
// Latency (there and back, half of it is told), bandwidth (a window of messages, each with a buffer of its own, then a
// word back) and the kinds of p2p_usage.c. The timed part holds the calls and two clock reads; buffers are filled
// before and checked after it.
#include "coll.h"
#include "p2p.h"

#include <string.h>

int p2p_stream_window(size_t bytes)
{
    size_t window = ((size_t)16 << 20) / bytes;
    return window > 64 ? 64 : window < 4 ? 4 : (int)window;
}

static size_t payload_of(const struct p2p_call *call, size_t bytes)
{
    size_t messages = call->kind == P2P_BANDWIDTH  ? (size_t)p2p_stream_window(bytes)
                      : call->kind == P2P_EXCHANGE ? 2
                                                   : 1;
    return messages * bytes;
}

static bool both_receive(const struct p2p_call *call)
{
    return call->kind != P2P_BANDWIDTH && call->kind != P2P_ONE_WAY;
}

size_t p2p_stream_room(const struct p2p_call *call, size_t bytes)
{
    return call->kind == P2P_VECTOR ? 2 * bytes : payload_of(call, bytes);
}

static double time_latency(const struct p2p_run *run, MPI_Comm comm, int bytes, int batch)
{
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        if (run->is_first) {
            MPI_Send(run->send, bytes, MPI_BYTE, run->peer, 1, comm);
            MPI_Recv(run->receive, bytes, MPI_BYTE, run->peer, 1, comm, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(run->receive, bytes, MPI_BYTE, run->peer, 1, comm, MPI_STATUS_IGNORE);
            MPI_Send(run->send, bytes, MPI_BYTE, run->peer, 1, comm);
        }
    }
    return (p2p_now() - start) / 2;
}

static void send_window(const struct p2p_run *run, MPI_Comm comm, int bytes, int window)
{
    for (int i = 0; i < window; i++) {
        MPI_Isend(run->send + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, run->peer, 1, comm, &run->requests[i]);
    }
    MPI_Waitall(window, run->requests, MPI_STATUSES_IGNORE);
    MPI_Recv(NULL, 0, MPI_BYTE, run->peer, 2, comm, MPI_STATUS_IGNORE);
}

static void receive_window(const struct p2p_run *run, MPI_Comm comm, int bytes, int window)
{
    for (int i = 0; i < window; i++) {
        MPI_Irecv(run->receive + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, run->peer, 1, comm, &run->requests[i]);
    }
    MPI_Waitall(window, run->requests, MPI_STATUSES_IGNORE);
    MPI_Send(NULL, 0, MPI_BYTE, run->peer, 2, comm);
}

static double time_bandwidth(const struct p2p_run *run, MPI_Comm comm, int bytes, int batch)
{
    int window = p2p_stream_window((size_t)bytes);
    double start = p2p_now();
    for (int i = 0; i < batch; i++) {
        if (run->is_first) {
            send_window(run, comm, bytes, window);
        } else {
            receive_window(run, comm, bytes, window);
        }
    }
    return (p2p_now() - start) / window;
}

static double time_call(const struct p2p_run *run, MPI_Comm comm, enum p2p_kind kind, int bytes, int batch)
{
    switch (kind) {
    case P2P_LATENCY:
        return time_latency(run, comm, bytes, batch);
    case P2P_BANDWIDTH:
        return time_bandwidth(run, comm, bytes, batch);
    default:
        return p2p_usage_time(run, comm, kind, bytes, batch);
    }
}

static void fill(const struct p2p_run *run, const struct p2p_call *call, size_t bytes, uint64_t seed)
{
    size_t payload = payload_of(call, bytes);
    if (call->kind == P2P_VECTOR) {
        coll_data_fill(run->receive, payload, seed);
        p2p_usage_spread(run->send, run->receive, payload);
    } else {
        coll_data_fill(run->send, payload, seed);
    }
    memset(run->receive, 0xa5, p2p_stream_room(call, bytes));
}

static size_t count_wrong(const struct p2p_run *run, const struct p2p_call *call, size_t bytes, uint64_t seed)
{
    const uint8_t *came = run->receive;
    if (call->kind == P2P_VECTOR) {
        p2p_usage_gather(run->send, run->receive, bytes);
        came = run->send;
    }
    return coll_data_wrong(came, payload_of(call, bytes), seed);
}

double p2p_stream_sample(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, size_t bytes, int batch,
                         size_t *wrong)
{
    uint64_t turn = ++run->seed;
    fill(run, call, bytes, coll_data_seed(turn, run->rank));
    MPI_Barrier(run->control);
    double took = time_call(run, comm, call->kind, (int)bytes, batch);
    if (both_receive(call) || !run->is_first) {
        *wrong += count_wrong(run, call, bytes, coll_data_seed(turn, run->peer));
    }
    return run->is_first ? took / batch : 0;
}
