// SPDX-License-Identifier: BSD-3-Clause
//
// Messages against deep queues. A turn of depth D has D + 128 receives with tags of their own, in one order, and as
// many messages. Timed are 128 of them while the other D wait: the first ones (in order: a list finds each at its head)
// or the last ones, last first (reverse: a list walks past all others). The rest follow in order, outside the timed
// part. Of every sample the first turn is not timed: what the other side and the checks have put out of the caches
// since this side's last sample comes back in it.
//   posted      receives wait; from the word to the sender until 128 messages have found theirs
//   posting     the last 128 calls of MPI_Irecv, while D receives wait
//   unexpected  messages wait; 128 receives take theirs
//   rate        D receives of one tag wait, D messages come in order, all of them timed
// Each message is 8 bytes that no other message has.
#include "coll.h"
#include "p2p.h"

#include <string.h>

struct shape {
    int standing, window, total; // messages of a turn: not timed, timed, both
    int source;                  // that receives name
    int tag_step;                // 0: all have one tag
    bool is_reverse;
};

size_t p2p_depth_messages(const struct p2p_call *call, size_t depth)
{
    return call->kind == P2P_RATE ? depth : depth + P2P_WINDOW;
}

static struct shape shape_of(const struct p2p_run *run, const struct p2p_call *call, size_t depth)
{
    bool is_rate = call->kind == P2P_RATE;
    return (struct shape){
        .standing = is_rate ? 0 : (int)depth,
        .window = is_rate ? (int)depth : P2P_WINDOW,
        .total = (int)p2p_depth_messages(call, depth),
        .source = call->is_from_any ? MPI_ANY_SOURCE : run->peer,
        .tag_step = is_rate ? 0 : 1,
        .is_reverse = call->is_reverse,
    };
}

// Message `i` of those that are timed, and of the others.
static int timed_message(const struct shape *shape, int i)
{
    return shape->is_reverse ? shape->total - 1 - i : i;
}

static int standing_message(const struct shape *shape, int i)
{
    return shape->is_reverse ? i : shape->window + i;
}

static void send_message(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape, int message)
{
    MPI_Send((const uint64_t *)run->send + message, 1, MPI_UINT64_T, run->peer, message * shape->tag_step, comm);
}

static void say(const struct p2p_run *run)
{
    MPI_Send(NULL, 0, MPI_BYTE, run->peer, 0, run->control);
}

static void hear(const struct p2p_run *run)
{
    MPI_Recv(NULL, 0, MPI_BYTE, run->peer, 0, run->control, MPI_STATUS_IGNORE);
}

static void send_posted(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape)
{
    hear(run);
    for (int i = 0; i < shape->window; i++) {
        send_message(run, comm, shape, timed_message(shape, i));
    }
    hear(run);
    for (int i = 0; i < shape->standing; i++) {
        send_message(run, comm, shape, standing_message(shape, i));
    }
}

// Posts all receives; the time of the last ones, as many as are timed.
static double post_all(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape)
{
    uint64_t *words = (uint64_t *)run->receive;
    double start = 0;
    for (int i = 0; i < shape->total; i++) {
        if (i == shape->standing) {
            start = p2p_now();
        }
        MPI_Irecv(words + i, 1, MPI_UINT64_T, shape->source, i * shape->tag_step, comm, &run->requests[i]);
    }
    return p2p_now() - start;
}

static double receive_posted(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape, bool is_posting)
{
    double posting = post_all(run, comm, shape), start = p2p_now();
    say(run);
    MPI_Waitall(shape->window, run->requests + (shape->is_reverse ? shape->standing : 0), MPI_STATUSES_IGNORE);
    double matching = p2p_now() - start;
    say(run);
    MPI_Waitall(shape->standing, run->requests + (shape->is_reverse ? 0 : shape->window), MPI_STATUSES_IGNORE);
    return is_posting ? posting : matching;
}

static void send_unexpected(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape)
{
    hear(run);
    for (int i = 0; i < shape->total; i++) {
        send_message(run, comm, shape, i);
    }
    MPI_Send(NULL, 0, MPI_BYTE, run->peer, shape->total, comm);
}

static void take_message(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape, int message)
{
    MPI_Recv((uint64_t *)run->receive + message, 1, MPI_UINT64_T, shape->source, message, comm, MPI_STATUS_IGNORE);
}

static double receive_unexpected(const struct p2p_run *run, MPI_Comm comm, const struct shape *shape)
{
    MPI_Request last;
    MPI_Irecv(NULL, 0, MPI_BYTE, run->peer, shape->total, comm, &last);
    say(run);
    MPI_Wait(&last, MPI_STATUS_IGNORE); // messages do not overtake: all are here
    double start = p2p_now();
    for (int i = 0; i < shape->window; i++) {
        take_message(run, comm, shape, timed_message(shape, i));
    }
    double took = p2p_now() - start;
    for (int i = 0; i < shape->standing; i++) {
        take_message(run, comm, shape, standing_message(shape, i));
    }
    return took;
}

static uint64_t word_of(uint64_t turn, int rank, int message)
{
    return coll_data_seed(turn, rank) + (uint64_t)message;
}

static size_t count_wrong(const struct p2p_run *run, int total)
{
    const uint64_t *words = (const uint64_t *)run->receive;
    size_t wrong = 0;
    for (int i = 0; i < total; i++) {
        wrong += words[i] != word_of(run->seed, run->peer, i);
    }
    return wrong;
}

static void first_turn(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, const struct shape *shape)
{
    uint64_t *words = (uint64_t *)run->send;
    for (int i = 0; i < shape->total; i++) {
        words[i] = word_of(run->seed, run->rank, i);
    }
    if (call->kind == P2P_UNEXPECTED) {
        send_unexpected(run, comm, shape);
    } else {
        send_posted(run, comm, shape);
    }
}

static double second_turn(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, const struct shape *shape,
                          size_t *wrong)
{
    memset(run->receive, 0xa5, (size_t)shape->total * sizeof(uint64_t));
    double took = call->kind == P2P_UNEXPECTED ? receive_unexpected(run, comm, shape)
                                               : receive_posted(run, comm, shape, call->kind == P2P_POSTING);
    *wrong += count_wrong(run, shape->total);
    return took;
}

double p2p_depth_sample(struct p2p_run *run, MPI_Comm comm, const struct p2p_call *call, size_t depth, int batch,
                        size_t *wrong)
{
    struct shape shape = shape_of(run, call, depth);
    double took = 0;
    for (int turn = -1; turn < batch; turn++) {
        run->seed++;
        if (run->is_first) {
            first_turn(run, comm, call, &shape);
        } else {
            double one = second_turn(run, comm, call, &shape, wrong);
            took += turn < 0 ? 0 : one;
        }
    }
    return took / batch / shape.window;
}
