// SPDX-License-Identifier: BSD-3-Clause
//
// Packets into frames and out of them, credit, and peers that are lost. Lock of the point-to-point engine held. Hot.
#include "p2p/channel/links_channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "p2p/channel/links_channel_state.h"

#define LINE CO_CACHE_LINE

static bool send_packet(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_links *links = co_links_channel_of(channel)->links;
    return links->ops->send(links, peer, packet, sizeof *packet, first, first_bytes, second, second_bytes);
}

bool co_links_channel_send(struct co_links_channel *self, int peer, unsigned kind, const void *first,
                           size_t first_bytes, const void *second, size_t second_bytes)
{
    const struct co_packet packet = {.kind = (enum co_packet_kind)kind,
                                     .bytes = (uint32_t)(first_bytes + second_bytes)};
    return send_packet(&self->channel, peer, &packet, first, first_bytes, second, second_bytes);
}

static bool tell_credit(struct co_links_channel *self, int peer)
{
    struct co_packet_credit credit = {self->peers[peer].owed};
    if (!co_links_channel_send(self, peer, CO_PACKET_CREDIT, &credit, sizeof credit, NULL, 0)) {
        return false;
    }
    self->peers[peer].told = credit.given_back;
    return true;
}

static void give_back(struct co_channel *channel, int peer, size_t bytes)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    struct co_links_peer *state = &self->peers[peer];
    state->owed += bytes;
    if (state->owed - state->told >= self->config.credit / 8 && !state->wants_to_tell && !tell_credit(self, peer)) {
        state->wants_to_tell = true;
        self->telling++;
    }
}

static void tell_waiting(struct co_links_channel *self)
{
    for (int peer = 0; peer < self->config.size && self->telling > 0; peer++) {
        struct co_links_peer *state = &self->peers[peer];
        if (state->wants_to_tell && tell_credit(self, peer)) {
            state->wants_to_tell = false;
            self->telling--;
        }
    }
}

static uint64_t given_back(const struct co_channel *channel, int peer)
{
    return ((const struct co_links_channel *)channel)->peers[peer].given_back;
}

static bool is_valid(const struct co_link_event *event)
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
static bool hand_over(struct co_links_channel *self, const struct co_link_event *event, co_channel_handler *handler,
                      void *arg)
{
    const struct co_packet *packet = (const struct co_packet *)event->data;
    const unsigned char *payload = event->data + sizeof *packet;
    struct co_packet_credit credit;
    if (!is_valid(event)) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_VERBS, "%zu bytes from rank %d are no message of castoff: left out",
               event->bytes, event->peer);
    } else if (packet->kind < CO_PACKET_CREDIT) {
        return handler(arg, event->peer, packet, payload);
    } else if (packet->kind != CO_PACKET_CREDIT) {
        co_links_bodies_hear(self, event->peer, packet, payload);
    } else if (packet->bytes == sizeof credit) {
        memcpy(&credit, payload, sizeof credit);
        self->peers[event->peer].given_back = credit.given_back;
    }
    return true;
}

static void lose(struct co_links_channel *self, int peer)
{
    struct co_links_peer *state = &self->peers[peer];
    co_links_bodies_fail(self, peer);
    if (!state->is_lost) {
        state->is_lost = true;
        self->lost++;
    }
}

// Behind the frames that wait already; there is room.
static void fetch(struct co_links_channel *self)
{
    struct co_link_event events[CO_LINKS_PENDING];
    int count = self->links->ops->poll(self->links, events, (int)(CO_LINKS_PENDING - self->pending_count));
    for (int i = 0; i < count; i++) {
        switch (events[i].kind) {
        case CO_LINK_FRAME:
            self->pending[(self->pending_first + self->pending_count++) % CO_LINKS_PENDING] = events[i];
            co_links_note_advance(self);
            break;
        case CO_LINK_READ:
            co_links_body_was_read(self, events[i].owner, events[i].result);
            co_links_note_advance(self);
            break;
        case CO_LINK_LOST:
            lose(self, events[i].peer);
            break;
        }
    }
}

static int poll_frames(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    int count = 0;
    if (co_load_relaxed(&self->must_let_go)) { // relaxed: nothing goes with it
        co_store_relaxed(&self->must_let_go, false);
        self->links->ops->let_go(self->links);
    }
    fetch(self);
    while (count < most && self->pending_count > 0) {
        const struct co_link_event *event = &self->pending[self->pending_first];
        if (!hand_over(self, event, handler, arg)) {
            break;
        }
        self->links->ops->give_back(self->links, event->frame);
        self->pending_first = (self->pending_first + 1) % CO_LINKS_PENDING;
        self->pending_count--;
        count++;
    }
    if (self->carried_count + self->expected_count > 0) {
        co_links_bodies_move(self);
    }
    if (self->telling > 0) {
        tell_waiting(self);
    }
    return count;
}

static bool next_end(struct co_channel *channel, struct co_channel_end *end)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    if (self->ended_count > 0 && co_links_next_ended(self, end)) {
        return true;
    }
    for (int peer = 0; self->lost > 0 && peer < self->config.size; peer++) {
        struct co_links_peer *state = &self->peers[peer];
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
static void flush(struct co_channel *channel)
{
    (void)channel;
}

// The device must not touch buffers whose owners are gone.
static void forget(struct co_channel *channel, int peer)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    self->links->ops->cut(self->links, peer);
    co_links_bodies_forget(self, peer);
}

static void close_channel(struct co_channel *channel)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    self->links->ops->close(self->links);
    free(self->peers);
    free(self);
}

static const struct co_channel_ops ops = {.send = send_packet,
                                          .poll = poll_frames,
                                          .give_back = give_back,
                                          .given_back = given_back,
                                          .close = close_channel,
                                          .expect = co_links_expect,
                                          .transfer = co_links_carry,
                                          .next_end = next_end,
                                          .flush = flush,
                                          .forget = forget};

size_t co_links_channel_frame_bytes(size_t eager)
{
    size_t bytes = sizeof(struct co_packet) + sizeof(struct co_packet_cts) + eager;
    return (bytes + LINE - 1) & ~(size_t)(LINE - 1);
}

int co_links_channel_open(struct co_channel **out, const struct co_links_channel_config *config)
{
    struct co_links_channel *self = calloc(1, sizeof *self);
    struct co_links_peer *peers = calloc((size_t)config->size, sizeof *peers);
    if (self == NULL || peers == NULL) {
        free(self);
        free(peers);
        return -ENOMEM;
    }
    *self = (struct co_links_channel){.channel = {&ops, config->frame_bytes - sizeof(struct co_packet)},
                                      .config = *config,
                                      .links = config->links,
                                      .peers = peers};
    *out = &self->channel;
    return 0;
}

void co_links_channel_set_peer(struct co_channel *channel, int peer, const struct co_link_address *address)
{
    struct co_links *links = co_links_channel_of(channel)->links;
    links->ops->set_peer(links, peer, address);
}

void co_links_channel_let_go(struct co_channel *channel)
{
    co_store_relaxed(&co_links_channel_of(channel)->must_let_go, true);
}

bool co_links_channel_is_idle(const struct co_channel *channel)
{
    const struct co_links_channel *self = (const struct co_links_channel *)channel;
    return self->carried_count + self->expected_count == 0 && self->links->ops->is_idle(self->links);
}

uint64_t co_links_channel_advances(const struct co_channel *channel)
{
    return co_load_relaxed(&((const struct co_links_channel *)channel)->advances); // relaxed: a hint
}
