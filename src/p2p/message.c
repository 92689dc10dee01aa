// SPDX-License-Identifier: BSD-3-Clause
//
// Messages and their bytes, until a receive has them. A message that is gone serves the next one. Hot.
#include "p2p/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "p2p/peer_channel.h"

struct co_p2p_message *co_p2p_message_take(struct co_p2p *p2p)
{
    struct co_p2p_message *message = p2p->free_messages;
    if (message != NULL) { // which has been stripped
        p2p->free_messages = message->next_free;
        return message;
    }
    message = malloc(sizeof(*message));
    if (message != NULL) {
        message->payload = NULL;
        message->first_fragment = message->arrived = 0;
    }
    return message;
}

void co_p2p_message_strip(struct co_p2p *p2p, struct co_p2p_message *message)
{
    if (message->payload != NULL && message->payload != message->small) {
        free(message->payload);
    }
    message->payload = NULL;
    if (message->first_fragment > message->arrived && p2p->peers[message->peer].fragment_message == message) {
        p2p->peers[message->peer].fragment_message = NULL; // nobody's from now on
    }
    message->first_fragment = message->arrived = 0;
}

void co_p2p_message_give(struct co_p2p *p2p, struct co_p2p_message *message)
{
    co_p2p_message_strip(p2p, message);
    message->next_free = p2p->free_messages;
    p2p->free_messages = message;
}

bool co_p2p_message_room(struct co_p2p *p2p, struct co_p2p_message *message, size_t bytes)
{
    message->payload = message->small;
    if (bytes > CO_MESSAGE_INLINE) {
        message->payload = malloc(bytes);
        if (message->payload == NULL && (bytes <= p2p->config.eager_most || bytes <= p2p->first_fragment_most)) {
            message->payload = p2p->spare_payload; // which the next packet will miss
            p2p->spare_payload = NULL;
        }
    }
    return message->payload != NULL;
}

bool co_p2p_message_store(struct co_p2p *p2p, struct co_p2p_message *message, const void *payload)
{
    if (!co_p2p_message_room(p2p, message, message->bytes)) {
        return false;
    }
    co_memory_copy(message->payload, payload, message->bytes);
    return true;
}

bool co_p2p_message_has_memory(struct co_p2p *p2p)
{
    if (p2p->free_messages == NULL) {
        struct co_p2p_message *message = co_p2p_message_take(p2p);
        if (message == NULL) {
            return false;
        }
        co_p2p_message_give(p2p, message);
    }
    if (p2p->spare_payload == NULL) {
        size_t eager = p2p->config.eager_most;
        p2p->spare_payload = malloc((eager > p2p->first_fragment_most ? eager : p2p->first_fragment_most) + 1);
    }
    return p2p->spare_payload != NULL;
}

void co_p2p_message_give_back(struct co_p2p *p2p, const struct co_p2p_message *message)
{
    bool is_eager = message->kind == CO_MESSAGE_EAGER;
    if ((is_eager || message->first_fragment > 0) && message->peer != p2p->config.self && !p2p->is_closing) {
        co_p2p_give_back(p2p, message->peer, is_eager ? message->bytes : message->first_fragment);
    }
}

void co_p2p_messages_close(struct co_p2p *p2p)
{
    while (p2p->free_messages != NULL) {
        struct co_p2p_message *message = p2p->free_messages;
        p2p->free_messages = message->next_free;
        free(message);
    }
    free(p2p->spare_payload);
}
