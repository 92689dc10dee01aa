// SPDX-License-Identifier: BSD-3-Clause
//
// Packets into packets and out of them, credit, and peers that are lost. Lock of the point-to-point engine held. Hot.
#include "p2p/channel/rc_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "p2p/channel/rc_channel_state.h"

#define LINE CO_CACHE_LINE

static bool packet_send(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_rc *rc = co_rc_channel_of(channel)->rc;
    return rc->ops->send(rc, peer, packet, sizeof *packet, first, first_bytes, second, second_bytes);
}

static void credit_give_back(struct co_channel *channel, int peer, size_t bytes)
{
    co_channel_credits_give_back(&co_rc_channel_of(channel)->credits, channel, peer, bytes);
}

static uint64_t credit_given_back(const struct co_channel *channel, int peer)
{
    return ((const struct co_rc_channel *)channel)->credits.peers[peer].given_back;
}

static bool packet_is_valid(const struct co_rc_event *event)
{
    struct co_packet packet;
    if (event->bytes < sizeof packet) {
        return false;
    }
    memcpy(&packet, event->data, sizeof packet);
    // Only of rings there is a word that they are broken.
    return event->bytes == sizeof packet + packet.bytes && packet.kind != CO_PACKET_BROKEN;
}

// False: not taken.
static bool packet_hand_over(struct co_rc_channel *self, const struct co_rc_event *event, co_channel_handler *handler,
                             void *arg)
{
    const struct co_packet *packet = (const struct co_packet *)event->data;
    const unsigned char *payload = event->data + sizeof *packet;
    if (!packet_is_valid(event)) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_VERBS, "%zu bytes from rank %d are no message of castoff: left out",
               event->bytes, event->peer);
    } else if (packet->kind < CO_PACKET_CREDIT) {
        return handler(arg, event->peer, packet, payload);
    } else if (packet->kind != CO_PACKET_CREDIT) {
        co_rc_transfers_receive(self, event->peer, packet, payload);
    } else {
        co_channel_credits_hear(&self->credits, event->peer, packet, payload);
    }
    return true;
}

static void peer_lose(struct co_rc_channel *self, int peer)
{
    struct co_rc_peer *state = &self->peers[peer];
    co_rc_transfers_fail(self, peer);
    if (!state->is_lost) {
        state->is_lost = true;
        self->lost++;
    }
}

// Behind the packets that wait already; there is room.
static void events_fetch(struct co_rc_channel *self)
{
    struct co_rc_event events[CO_RC_PENDING];
    int count = self->rc->ops->poll(self->rc, events, (int)(CO_RC_PENDING - self->pending_count));
    for (int i = 0; i < count; i++) {
        switch (events[i].kind) {
        case CO_RC_PACKET:
            self->pending[(self->pending_first + self->pending_count++) % CO_RC_PENDING] = events[i];
            co_rc_note_advance(self);
            break;
        case CO_RC_READ:
            co_rc_transfer_was_read(self, events[i].owner, events[i].result);
            co_rc_note_advance(self);
            break;
        case CO_RC_LOST:
            peer_lose(self, events[i].peer);
            break;
        }
    }
}

static int packets_poll(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    int count = 0;
    if (co_load_relaxed(&self->must_let_go)) { // relaxed: nothing goes with it
        co_store_relaxed(&self->must_let_go, false);
        self->rc->ops->let_go(self->rc);
    }
    events_fetch(self);
    while (count < most && self->pending_count > 0) {
        const struct co_rc_event *event = &self->pending[self->pending_first];
        if (!packet_hand_over(self, event, handler, arg)) {
            break;
        }
        self->rc->ops->give_back(self->rc, event->packet);
        self->pending_first = (self->pending_first + 1) % CO_RC_PENDING;
        self->pending_count--;
        count++;
    }
    if (self->outgoing_count + self->expected_count > 0) {
        co_rc_transfers_progress(self);
    }
    if (self->credits.telling > 0) {
        co_channel_credits_tell_waiting(&self->credits, channel);
    }
    return count;
}

static bool transfer_next_end(struct co_channel *channel, struct co_channel_end *end)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    if (self->ended_count > 0 && co_rc_transfers_next_ended(self, end)) {
        return true;
    }
    for (int peer = 0; self->lost > 0 && peer < self->config.size; peer++) {
        struct co_rc_peer *state = &self->peers[peer];
        if (state->is_lost && !state->is_told) {
            state->is_told = true;
            self->lost--;
            *end = (struct co_channel_end){.peer = peer, .result = -ECONNRESET};
            return true;
        }
    }
    return false;
}

// Everything starts when it is handed over.
static void channel_flush(struct co_channel *channel)
{
    (void)channel;
}

// The device must not touch buffers whose owners are gone.
static void peer_forget(struct co_channel *channel, int peer)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    self->rc->ops->cut(self->rc, peer);
    co_rc_transfers_forget(self, peer);
}

static void peer_query(struct co_channel *channel, int peer)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    self->rc->ops->query(self->rc, peer);
}

static void channel_close(struct co_channel *channel)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    self->rc->ops->close(self->rc);
    co_channel_credits_close(&self->credits);
    free(self->peers);
    free(self);
}

static const struct co_channel_ops ops = {.send = packet_send,
                                          .poll = packets_poll,
                                          .give_back = credit_give_back,
                                          .given_back = credit_given_back,
                                          .close = channel_close,
                                          .expect = co_rc_transfer_expect,
                                          .transfer = co_rc_transfer_start,
                                          .next_end = transfer_next_end,
                                          .flush = channel_flush,
                                          .forget = peer_forget,
                                          .query = peer_query};

size_t co_rc_channel_packet_bytes(size_t eager)
{
    size_t bytes = sizeof(struct co_packet) + sizeof(struct co_packet_cts) + eager;
    return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

int co_rc_channel_open(struct co_channel **out, const struct co_rc_channel_config *config)
{
    struct co_rc_channel *self = calloc(1, sizeof *self);
    struct co_rc_peer *peers = calloc((size_t)config->size, sizeof *peers);
    struct co_channel_credits credits = {.peers = NULL};
    if (self == NULL || peers == NULL || co_channel_credits_open(&credits, config->size, config->credit) != 0) {
        free(self);
        free(peers);
        return -ENOMEM;
    }
    *self = (struct co_rc_channel){.channel = {&ops, config->packet_bytes - sizeof(struct co_packet)},
                                   .config = *config,
                                   .rc = config->rc,
                                   .peers = peers,
                                   .credits = credits};
    *out = &self->channel;
    return 0;
}

void co_rc_channel_set_peer(struct co_channel *channel, int peer, const struct co_rc_address *address)
{
    struct co_rc *rc = co_rc_channel_of(channel)->rc;
    rc->ops->set_peer(rc, peer, address);
}

void co_rc_channel_let_go(struct co_channel *channel)
{
    co_store_relaxed(&co_rc_channel_of(channel)->must_let_go, true);
}

bool co_rc_channel_is_idle(const struct co_channel *channel)
{
    const struct co_rc_channel *self = (const struct co_rc_channel *)channel;
    return self->outgoing_count + self->expected_count == 0 && self->rc->ops->is_idle(self->rc);
}

uint64_t co_rc_channel_advances(const struct co_channel *channel)
{
    return co_load_relaxed(&((const struct co_rc_channel *)channel)->advances); // relaxed: a hint
}
