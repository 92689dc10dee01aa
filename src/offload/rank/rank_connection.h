// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's connection with its proxy: the segment that both map, the client above it, and the socket by which each
// wakes the other one and learns of its end. Where the kernel wants a process to say who may look into it (Yama), the
// proxy is allowed to, when it has found that it may not, so that what a program has said before stays. Waiting sleeps;
// nothing else does. One thread at a time; hot.
#ifndef CASTOFF_OFFLOAD_RANK_RANK_CONNECTION_H
#define CASTOFF_OFFLOAD_RANK_RANK_CONNECTION_H

#include "offload/offload_hello.h"
#include "offload/offload_job.h"
#include "offload/rank/rank_client.h"
#include "offload/rank/rank_copies.h"

struct co_rank_connection;

// Whether the rank copies its messages itself, so that nobody has to look into its process.
enum co_rank_copying { CO_RANK_COPIES_NEVER, CO_RANK_COPIES_IF_NEEDED, CO_RANK_COPIES_ALWAYS };

struct co_rank_connection_config {
    uint32_t rank, ranks;
    const uint8_t *key;                       // CO_OFFLOAD_KEY_BYTES, read at open
    const struct co_offload_started *started; // the proxy
    uint64_t until_ns;                        // for this
    uint64_t deadline_ns; // a proxy that does not move for so long, while it is rung and waited for, is killed
    enum co_rank_copying copying;
    uint64_t copies_kept; // memory for them that is not given back while nothing is under way
    // Called again and again while the rank waits, and at once when it begins to: for what has to go on meanwhile.
    // NULL.
    void (*progress)(void *context);
    void *context;
};

// -EPERM: the kernel does not let it into this process. -ECONNREFUSED: it is gone. -EACCES: somebody else listens
// there. -ETIMEDOUT, -EPROTO, -ENOMEM, ...
int co_rank_connection_open(struct co_rank_connection **out, const struct co_rank_connection_config *config);
// Says BYE, if all calls have been collected; else the proxy takes the rank for dead.
void co_rank_connection_close(struct co_rank_connection *connection);
// In a child: it is its parent's connection, and nothing of it stays here. Only close may follow.
void co_rank_connection_forked(struct co_rank_connection *connection);

struct co_rank_client *co_rank_connection_client(struct co_rank_connection *connection);
// What is called has to be copied in before, and out when it is over; NULL: the proxy reaches the memory itself, and
// nobody has to be told of what came.
struct co_rank_copies *co_rank_connection_copies(struct co_rank_connection *connection);
static inline bool co_rank_connection_is_copying(struct co_rank_connection *connection)
{
    const struct co_rank_copies *copies = co_rank_connection_copies(connection);
    return copies != NULL && !copies->is_without_file;
}
// Whether the proxy is there still. What it completed before it went can be collected.
bool co_rank_connection_look(struct co_rank_connection *connection);
// The same for who waits by himself, about every 100 ms: also whether the proxy moves. One that does not, for so long
// as the deadline is, is killed. Rings are left to who sleeps.
bool co_rank_connection_tend(struct co_rank_connection *connection, uint64_t now_ns);
// Ends it without a word: for the proxy, and so for all others, this rank is gone. It is lost, and its calls are, when
// the proxy has heard that, or was killed since it does not move: until then it may still reach the rank's memory, so
// whoever waits looks on (look, tend). Nothing begins any more.
void co_rank_connection_break(struct co_rank_connection *connection);
// Readable when the proxy has rung, or has gone; -1: it has.
int co_rank_connection_descriptor(const struct co_rank_connection *connection);
// Sleeps until that call is over: true. False: it never will be, for the proxy has gone, or was stopped and is killed.
bool co_rank_connection_wait(struct co_rank_connection *connection, uint32_t ticket);

#endif
