// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that have come without a receive, and those that are about to meet one: their memory. Lock held.
#ifndef CASTOFF_P2P_MESSAGE_H
#define CASTOFF_P2P_MESSAGE_H

#include "p2p/p2p_state.h"

#define CO_MESSAGE_INLINE 64 // payload bytes that stand in the message itself

enum co_message_kind { CO_MESSAGE_EAGER, CO_MESSAGE_RTS, CO_MESSAGE_FROM_SELF };

struct co_p2p_message {
    struct co_match_node node; // first
    struct co_p2p_context *context;
    enum co_message_kind kind;
    int peer;
    bool wants_ack;
    size_t bytes;
    uint64_t operation, address;    // of the sender
    size_t first_fragment, arrived; // RTS: bytes that come unasked, and of them those that are in `payload`
    struct co_p2p_send *send;       // FROM_SELF
    struct co_p2p_message *next_free;
    unsigned char *payload; // EAGER: `small`, or allocated
    unsigned char small[CO_MESSAGE_INLINE];
};

struct co_p2p_message *co_p2p_message_take(struct co_p2p *p2p); // NULL: out of memory
void co_p2p_message_give(struct co_p2p *p2p, struct co_p2p_message *message);
bool co_p2p_message_room(struct co_p2p *p2p, struct co_p2p_message *message, size_t bytes);
bool co_p2p_message_store(struct co_p2p *p2p, struct co_p2p_message *message, const void *payload); // its copy
// Whether there will be memory for what the next packet brings, if it has to be kept.
bool co_p2p_message_has_memory(struct co_p2p *p2p);
void co_p2p_messages_close(struct co_p2p *p2p);
// Its sender's credit.
void co_p2p_message_give_back(struct co_p2p *p2p, const struct co_p2p_message *message);

#endif
