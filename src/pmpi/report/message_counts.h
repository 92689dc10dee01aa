// SPDX-License-Identifier: BSD-3-Clause
//
// What became of the point-to-point calls: taken with their bytes, or declined by reason. Counted only when a report
// was asked for; without one each call costs a look at a byte that it has read anyway. Relaxed atomics. Hot; any
// thread.
#ifndef CASTOFF_PMPI_REPORT_MESSAGE_COUNTS_H
#define CASTOFF_PMPI_REPORT_MESSAGE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "engine/decide/decide.h"
#include "pmpi/life/process.h"

#define CO_MESSAGE_CALLS(X)                                                                                            \
    X(Send)                                                                                                            \
    X(Rsend)                                                                                                           \
    X(Ssend)                                                                                                           \
    X(Bsend)                                                                                                           \
    X(Isend)                                                                                                           \
    X(Irsend)                                                                                                          \
    X(Issend)                                                                                                          \
    X(Ibsend)                                                                                                          \
    X(Recv)                                                                                                            \
    X(Irecv)                                                                                                           \
    X(Send_init)                                                                                                       \
    X(Rsend_init)                                                                                                      \
    X(Ssend_init)                                                                                                      \
    X(Bsend_init)                                                                                                      \
    X(Recv_init)                                                                                                       \
    X(Start)                                                                                                           \
    X(Startall)                                                                                                        \
    X(Sendrecv)                                                                                                        \
    X(Sendrecv_replace)                                                                                                \
    X(Isendrecv)                                                                                                       \
    X(Isendrecv_replace)                                                                                               \
    X(Probe)                                                                                                           \
    X(Iprobe)                                                                                                          \
    X(Mprobe)                                                                                                          \
    X(Improbe)                                                                                                         \
    X(Mrecv)                                                                                                           \
    X(Imrecv)

#define CO_MESSAGE_CALL_ID(name) CO_MESSAGE_##name,
enum co_message_call { CO_MESSAGE_CALLS(CO_MESSAGE_CALL_ID) CO_MESSAGE_CALL_COUNT };
#undef CO_MESSAGE_CALL_ID

struct co_message_counts {
    uint64_t by_reason[CO_REASON_COUNT]; // CO_TAKE: taken
    uint64_t bytes_taken;                // that are sent, or for which there is room
};

const char *co_message_call_text(enum co_message_call call); // "MPI_Send"

void co_message_count_taken(enum co_message_call call, size_t bytes);
void co_message_count_declined(enum co_message_call call, MPI_Comm comm, int peer, int code);
void co_message_count_reason(enum co_message_call call, enum co_reason reason);
enum co_reason co_message_reason_of_handle(void); // why it is native's, below

static inline void co_message_taken(enum co_message_call call, size_t bytes)
{
    if (__builtin_expect(co_process.counts, 0)) {
        co_message_count_taken(call, bytes);
    }
}

// Hands on the code of the native call. `peer`: the rank that the program named.
static inline int co_message_declined(enum co_message_call call, MPI_Comm comm, int peer, int code)
{
    if (__builtin_expect(co_process.counts, 0)) {
        co_message_count_declined(call, comm, peer, code);
    }
    return code;
}

// Where there is no communicator to ask.
static inline int co_message_declined_for(enum co_message_call call, enum co_reason reason, int code)
{
    if (__builtin_expect(co_process.counts, 0)) {
        co_message_count_reason(call, reason);
    }
    return code;
}

// Of a request or a message that is native's.
static inline int co_message_declined_handle(enum co_message_call call, int code)
{
    if (__builtin_expect(co_process.counts, 0)) {
        co_message_count_reason(call, co_message_reason_of_handle());
    }
    return code;
}

// Copies the counts of this process; all uint64_t, so that snapshots of ranks are added as an array.
void co_message_counts_snapshot(struct co_message_counts counts[CO_MESSAGE_CALL_COUNT]);

#endif
