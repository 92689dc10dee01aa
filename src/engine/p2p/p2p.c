// SPDX-License-Identifier: BSD-3-Clause
//
// The life of point-to-point and its progress: what has come, what waited for room, what is read from other processes.
// Moved by waiting callers, the native progress loop and workers; who does not get the lock leaves it to the holder.
#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "engine/p2p/p2p_state.h"

#define PACKETS_AT_ONCE 16 // from one peer, so that a flood from it does not starve the others

int co_p2p_open(struct co_p2p **out, const struct co_p2p_config *config)
{
    struct co_p2p *p2p = calloc(1, sizeof(*p2p));
    struct co_p2p_peer *peers = calloc((size_t)config->size, sizeof(*peers));
    if (p2p == NULL || peers == NULL) {
        free(p2p);
        free(peers);
        return -ENOMEM;
    }
    *p2p = (struct co_p2p){.lock = CO_TRYLOCK_INIT, .config = *config, .peers = peers, .last_read = &p2p->first_read};
    size_t head = sizeof(struct co_packet_handle);
    if (config->channel != NULL && p2p->config.eager_most > config->channel->payload_most - head) {
        p2p->config.eager_most = config->channel->payload_most - head;
    }
    for (int peer = 0; peer < config->size; peer++) {
        co_p2p_queue_open(&peers[peer].urgent);
        co_p2p_queue_open(&peers[peer].messages);
    }
    co_hash_map_open(&p2p->contexts);
    *out = p2p;
    return 0;
}

static void count(const struct co_p2p_totals *totals)
{
    static const enum co_counter_id of_class[CO_MATCH_CLASSES] = {[CO_MATCH_EXACT] = CO_COUNT_MATCHED_EXACT,
                                                                  [CO_MATCH_ANY_SOURCE] = CO_COUNT_MATCHED_ANY_SOURCE,
                                                                  [CO_MATCH_ANY_TAG] = CO_COUNT_MATCHED_ANY_TAG,
                                                                  [CO_MATCH_ANY_BOTH] = CO_COUNT_MATCHED_ANY_BOTH};
    for (int class = 0; class < CO_MATCH_CLASSES; class ++) {
        co_counter_add(of_class[class], totals->matches[class]);
    }
    co_counter_add(CO_COUNT_MESSAGES_SENT, totals->sent);
    co_counter_add(CO_COUNT_MESSAGE_BYTES, totals->sent_bytes);
    co_counter_add(CO_COUNT_CREDIT_STALLS, totals->credit_stalls);
    co_counter_add(CO_COUNT_MESSAGES_UNEXPECTED, totals->unexpected);
    co_counter_raise(CO_COUNT_UNEXPECTED_HIGH, totals->messages_high);
    co_counter_raise(CO_COUNT_POSTED_HIGH, totals->receives_high);
}

void co_p2p_close(struct co_p2p *p2p)
{
    struct co_p2p_context *context;
    size_t position;
    co_p2p_lock(p2p);
    while (position = 0, (context = co_hash_map_next(&p2p->contexts, &position, NULL)) != NULL) {
        context->is_closed = true;
        context->users = 1;
        co_p2p_context_drop(context);
    }
    count(&p2p->totals);
    co_p2p_unlock(p2p);
    while (p2p->free_messages != NULL) {
        struct co_p2p_message *message = p2p->free_messages;
        p2p->free_messages = message->next_free;
        free(message);
    }
    if (p2p->config.channel != NULL) {
        p2p->config.channel->ops->close(p2p->config.channel);
    }
    co_hash_map_close(&p2p->contexts);
    co_handles_close(&p2p->sends_named);
    co_handles_close(&p2p->receives_named);
    free(p2p->spare_payload);
    free(p2p->peers);
    free(p2p);
}

unsigned co_p2p_sends(const struct co_p2p *p2p)
{
    return co_load_relaxed(&p2p->sends); // relaxed: a hint
}

uint64_t co_p2p_advances(const struct co_p2p *p2p)
{
    return co_load_relaxed(&p2p->advances); // relaxed: a hint
}

static int move(struct co_p2p *p2p)
{
    struct co_channel *channel = p2p->config.channel;
    int events = channel == NULL ? 0 : channel->ops->poll(channel, PACKETS_AT_ONCE, co_p2p_on_packet, p2p);
    if (p2p->waiting > 0) {
        events += co_p2p_push_waiting(p2p);
    }
    if (p2p->first_read != NULL) {
        events += co_p2p_read_offers(p2p);
    }
    if (events > 0) {
        co_store_relaxed(&p2p->advances, co_load_relaxed(&p2p->advances) + 1); // relaxed: one writer, a hint
    }
    return events;
}

int co_p2p_progress(struct co_p2p *p2p)
{
    if (!co_turns_try(&p2p->lock)) {
        return 0;
    }
    int events = move(p2p);
    co_p2p_unlock(p2p);
    return events;
}
