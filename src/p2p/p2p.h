// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point messages: sends and receives of packed bytes between ranks, matched by castoff's own matcher (S2), one
// set of tables for each communicator. Eager up to a size, rendezvous above. Operations are the caller's memory from
// their start until they are done. Any thread; nothing here calls MPI or waits.
#ifndef CASTOFF_P2P_H
#define CASTOFF_P2P_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "matching/matcher.h"

struct co_p2p;         // of one process
struct co_p2p_context; // of one communicator
struct co_p2p_message; // one that has come without a receive

#define CO_P2P_ANY CO_MATCH_ANY // any source, any tag

// In a queue to one peer: a send, or an answer that found no room.
struct co_p2p_queued {
    struct co_p2p_queued *next;
    bool is_answer;
};

struct co_p2p_send {
    // The caller's to fill in.
    struct co_p2p_context *context;
    const void *data;
    size_t bytes;
    int32_t destination, tag;                  // rank in the communicator
    int32_t own_rank;                          // likewise, for the caller alone
    bool is_synchronous;                       // done only when it is matched
    bool in_background;                        // the caller does something else meanwhile; then the engine's
    void (*on_done)(struct co_p2p_send *send); // NULL: the caller looks. May free it, and must not come back here
    // NULL, or what puts bytes [from, to) into `data` before they go: in turn, perhaps long after the start.
    void (*make)(void *arg, size_t from, size_t to);
    void *make_arg;
    // The engine's.
    struct co_p2p_queued queued;
    struct co_p2p_send *copy; // that goes in its place, NULL: none
    uint64_t handle;          // by which the receiver names it
    uint64_t receive;         // of the receiver, while its bytes stream; 0: before
    uint32_t number;          // under which they are transferred
    bool is_rts;              // counts among those that are
    bool is_in_pieces;        // was offered so
    size_t streamed, wanted;  // bytes of the stream
    size_t made;              // bytes, where they are made
    int result;               // 0, -ECONNRESET
    _Atomic int is_done;
};

struct co_p2p_receive {
    struct co_match_node node; // first; the engine's
    // The caller's to fill in.
    struct co_p2p_context *context;
    void *buffer;
    size_t room;
    bool in_background;                              // as above
    void (*on_done)(struct co_p2p_receive *receive); // as above
    // NULL, or who is told that bytes [from, to) are in the buffer: in turn, perhaps from 0 again, and not always to
    // the end.
    void (*on_bytes)(void *arg, size_t from, size_t to);
    void *on_bytes_arg;
    // The result, once it is done.
    int32_t source, tag;
    size_t bytes; // of the message; more than room: the rest is lost
    int result;   // 0, -ECANCELED, -ECONNRESET
    _Atomic int is_done;
    // The engine's.
    uint64_t handle;             // by which the sender names it, 0: not at all
    struct co_p2p_receive *next; // of those whose bytes stream, are read from their sender, or cannot be asked for yet
    struct co_p2p_message *message; // of the latter two: memory for the answer
    bool is_streamed;               // and has not all of them
    bool is_trial;                  // its end is told (stream_trials.h)
    int peer;
    uint64_t sender_operation, address;
    size_t done_bytes, wanted;
};

struct co_p2p_info {
    int32_t source, tag;
    size_t bytes;
};

// Most messages are small and find room: true: it was sent, and its bytes are the caller's again. False: nothing has
// happened, and the caller starts a send.
bool co_p2p_send_now(struct co_p2p_context *context, int32_t destination, int32_t tag, const void *data, size_t bytes);

// Starts. Source and tag of a receive may be CO_P2P_ANY; its matching place is that of this call.
void co_p2p_send(struct co_p2p_send *send);
void co_p2p_receive(struct co_p2p_receive *receive, int32_t source, int32_t tag);
// Nobody will look whether it is done: from now on on_done says so. False: it is done already.
bool co_p2p_send_detach(struct co_p2p_send *send, void (*on_done)(struct co_p2p_send *send));
bool co_p2p_receive_detach(struct co_p2p_receive *receive, void (*on_done)(struct co_p2p_receive *receive));
// True: it is done, cancelled. False: a message has it.
bool co_p2p_cancel(struct co_p2p_receive *receive);

// Whether such a message has come; it stays.
bool co_p2p_probe(struct co_p2p_context *context, int32_t source, int32_t tag, struct co_p2p_info *info);
// The same, and nobody else finds it; NULL: none has come.
struct co_p2p_message *co_p2p_take(struct co_p2p_context *context, int32_t source, int32_t tag,
                                   struct co_p2p_info *info);
// Into this receive, which starts with it. The message is gone.
void co_p2p_receive_taken(struct co_p2p_receive *receive, struct co_p2p_message *message);

// Nothing more will come from that rank, which has ended. Never true of any source.
bool co_p2p_source_has_ended(struct co_p2p_context *context, int32_t source);

// Nobody will receive it any more.
void co_p2p_drop_taken(struct co_p2p_message *message);

static inline bool co_p2p_send_is_done(const struct co_p2p_send *send)
{
    return co_load_acquire(&send->is_done) != 0; // acquire P1
}

static inline bool co_p2p_receive_is_done(const struct co_p2p_receive *receive)
{
    return co_load_acquire(&receive->is_done) != 0; // acquire P2
}

// Moves what can move; events. Cheap when nothing has come.
int co_p2p_progress(struct co_p2p *p2p);

// A communicator that is served: `peers` are the members' numbers of co_p2p_open's peers, copied. Messages that came
// before it is opened are there. NULL: out of memory.
struct co_p2p_context *co_p2p_context_open(struct co_p2p *p2p, uint64_t id, const int *peers, int size, int rank);
// Operations under way keep what they need.
void co_p2p_context_close(struct co_p2p_context *context);
// Operations can be started even after it is closed, until it is let go.
void co_p2p_context_hold(struct co_p2p_context *context);
void co_p2p_context_let_go(struct co_p2p_context *context);
// Operations are under way, those included that nobody looks for any more.
bool co_p2p_context_is_busy(struct co_p2p_context *context);

#endif
