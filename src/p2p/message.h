// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that have come without a receive, and those that are about to meet one: their memory, which then serves what
// their senders are told, so that no answer needs any. Lock held.
#ifndef CASTOFF_P2P_MESSAGE_H
#define CASTOFF_P2P_MESSAGE_H

#include "p2p/p2p_state.h"

#define CO_MESSAGE_INLINE 64 // payload bytes that stand in the message itself

// What a sender is told, while it waits for room.
struct co_p2p_answer {
    struct co_p2p_queued queued;
    struct co_packet packet;
    unsigned char payload[sizeof(struct co_packet_cts)];
};

enum co_message_kind { CO_MESSAGE_EAGER, CO_MESSAGE_RTS, CO_MESSAGE_FROM_SELF };

struct co_p2p_message {
    struct co_match_node node; // first
    struct co_p2p_context *context;
    enum co_message_kind kind;
    int peer;
    bool wants_ack;
    bool is_in_pieces; // RTS
    bool has_waited;   // RTS: its first piece, for a turn in the ring
    size_t bytes;
    uint64_t operation, address;    // of the sender
    size_t first_fragment, arrived; // RTS: bytes that come unasked, and of them those that are in `payload`
    uint64_t stored_ns;             // what it took to copy those there, where a trial asks
    struct co_p2p_send *send;       // FROM_SELF
    struct co_p2p_message *next_free;
    unsigned char *payload; // EAGER: `small`, or allocated
    union {
        unsigned char small[CO_MESSAGE_INLINE];
        struct co_p2p_answer answer; // once its receive has the bytes
    };
};

static inline struct co_p2p_message *co_p2p_message_of(struct co_p2p_queued *answer)
{
    return (struct co_p2p_message *)((char *)answer - offsetof(struct co_p2p_message, answer));
}

struct co_p2p_message *co_p2p_message_take(struct co_p2p *p2p); // NULL: out of memory
void co_p2p_message_give(struct co_p2p *p2p, struct co_p2p_message *message);
void co_p2p_message_strip(struct co_p2p *p2p, struct co_p2p_message *message); // only the room for its answer is left
bool co_p2p_message_room(struct co_p2p *p2p, struct co_p2p_message *message, size_t bytes);
bool co_p2p_message_store(struct co_p2p *p2p, struct co_p2p_message *message, const void *payload); // its copy
// Whether there will be memory for what the next packet brings, if it has to be kept.
bool co_p2p_message_has_memory(struct co_p2p *p2p);
void co_p2p_messages_close(struct co_p2p *p2p);
// Its sender's credit.
void co_p2p_message_give_back(struct co_p2p *p2p, const struct co_p2p_message *message);

#endif
