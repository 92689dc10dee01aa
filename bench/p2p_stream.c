// SPDX-License-Identifier: BSD-3-Clause
//
// Latency (there and back, half of it is told) and bandwidth (a window of messages, each with a buffer of its own, then
// a word back). The timed part holds the calls and two clock reads; buffers are filled before and checked after it.
#include "coll.h"
#include "p2p.h"

#include <string.h>

int p2p_stream_window(size_t bytes)
{
    size_t window = ((size_t)16 << 20) / bytes;
    return window > 64 ? 64 : window < 4 ? 4 : (int)window;
}

static size_t messages_of(const struct p2p_call *call, size_t bytes)
{
    return call->kind == P2P_BANDWIDTH ? (size_t)p2p_stream_window(bytes) : 1;
}

size_t p2p_stream_room(const struct p2p_call *call, size_t bytes)
{
    return messages_of(call, bytes) * bytes;
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

double p2p_stream_sample(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, size_t bytes, int batch,
                         size_t *wrong)
{
    size_t room = p2p_stream_room(call, bytes);
    bool is_receiver = call->kind == P2P_LATENCY || !run->is_first;
    uint64_t turn = ++run->seed;
    coll_data_fill(run->send, room, coll_data_seed(turn, run->rank));
    memset(run->receive, 0xa5, room);
    MPI_Barrier(run->control);
    double took = call->kind == P2P_LATENCY ? time_latency(run, comm, (int)bytes, batch)
                                            : time_bandwidth(run, comm, (int)bytes, batch);
    if (is_receiver) {
        *wrong += coll_data_wrong(run->receive, room, coll_data_seed(turn, run->peer));
    }
    return run->is_first ? took / batch : 0;
}
