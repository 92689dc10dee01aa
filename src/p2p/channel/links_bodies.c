// SPDX-License-Identifier: BSD-3-Clause
//
// Large bodies: the sender lends its buffer and says where it is, the receiver reads it and says so, and each gives
// back what it had registered. Where registering fails, on either side, the bytes go in frames. Lock held. Warm.
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "p2p/channel/links_channel_state.h"

static struct co_links_body *find_free(struct co_links_body *bodies)
{
    for (unsigned i = 0; i < CO_LINKS_BODIES; i++) {
        if (bodies[i].step == CO_LINKS_FREE) {
            return &bodies[i];
        }
    }
    return NULL;
}

static void end(struct co_links_channel *self, struct co_links_body *body, int result)
{
    if (body->is_lent) {
        self->links->ops->take_back(self->links, &body->key);
        body->is_lent = false;
    }
    body->result = result;
    body->step = CO_LINKS_ENDED;
    self->ended_count++;
}

uint32_t co_links_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    struct co_links_body *body = find_free(self->expected);
    if (body == NULL) {
        return 0;
    }
    *body =
        (struct co_links_body){.step = CO_LINKS_WAITS, .peer = peer, .data = buffer, .bytes = bytes, .owner = owner};
    self->expected_count++;
    return (uint32_t)(body - self->expected) + 1;
}

static void offer(struct co_links_channel *self, struct co_links_body *body)
{
    struct co_links_offer words = {
        .key = body->key, .bytes = body->bytes, .number = body->number, .place = (uint32_t)(body - self->carried)};
    if (co_links_channel_send(self, body->peer, CO_LINKS_PACKET_LENT, &words, sizeof words, NULL, 0)) {
        body->step = CO_LINKS_WAITS;
    }
}

static void lend(struct co_links_channel *self, struct co_links_body *body)
{
    int error = self->links->ops->lend(self->links, body->data, body->bytes, &body->key);
    body->is_lent = error == 0;
    if (error == 0) {
        body->step = CO_LINKS_TO_OFFER;
        offer(self, body);
    } else if (error != -EAGAIN) {
        body->step = CO_LINKS_TO_SEND;
    }
}

static void send_pieces(struct co_links_channel *self, struct co_links_body *body)
{
    size_t most = self->channel.payload_most - sizeof(struct co_links_piece);
    while (body->step == CO_LINKS_TO_SEND) {
        size_t left = body->bytes - body->done, bytes = left < most ? left : most;
        struct co_links_piece piece = {body->number, bytes == left};
        if (!co_links_channel_send(self, body->peer, CO_LINKS_PACKET_PIECE, &piece, sizeof piece,
                                   body->data + body->done, bytes)) {
            break;
        }
        body->done += bytes;
        if (piece.is_last) {
            end(self, body, 0);
        }
    }
}

bool co_links_carry(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number, void *owner)
{
    struct co_links_channel *self = co_links_channel_of(channel);
    struct co_links_body *body = find_free(self->carried);
    if (body == NULL) {
        return false;
    }
    *body = (struct co_links_body){.step = CO_LINKS_TO_LEND,
                                   .peer = peer,
                                   .data = (unsigned char *)(uintptr_t)data, // which is only read
                                   .bytes = bytes,
                                   .number = number,
                                   .owner = owner};
    self->carried_count++;
    if (bytes == 0) {
        body->step = CO_LINKS_TO_SEND;
        send_pieces(self, body);
    } else if (self->peers[peer].is_lost) {
        end(self, body, -ECONNRESET);
    } else {
        lend(self, body);
    }
    return true;
}

static void answer(struct co_links_channel *self, struct co_links_body *body)
{
    struct co_links_answer words = {body->sender_place, body->key.key};
    unsigned kind = body->wants_pieces ? CO_LINKS_PACKET_SEND : CO_LINKS_PACKET_TAKEN;
    if (!co_links_channel_send(self, body->peer, kind, &words, sizeof words, NULL, 0)) {
        return;
    }
    if (body->wants_pieces) {
        body->step = CO_LINKS_WAITS;
    } else {
        end(self, body, 0);
    }
}

static void read_body(struct co_links_channel *self, struct co_links_body *body)
{
    int error = self->links->ops->read(self->links, body->peer, body->data, body->bytes, &body->key, body);
    if (error == 0) {
        body->step = CO_LINKS_READS;
    } else if (error == -ECONNRESET) {
        end(self, body, error);
    } else if (error != -EAGAIN) {
        body->wants_pieces = true;
        body->step = CO_LINKS_TO_ANSWER;
        answer(self, body);
    }
}

void co_links_body_was_read(struct co_links_channel *self, struct co_links_body *body, int result)
{
    if (result != 0) {
        end(self, body, result);
    } else {
        co_counter_add(CO_COUNT_CARRIED_READ_BYTES, body->bytes);
        body->step = CO_LINKS_TO_ANSWER;
        answer(self, body);
    }
}

static struct co_links_body *expected_by(struct co_links_channel *self, int peer, uint32_t number)
{
    struct co_links_body *body = number - 1 < CO_LINKS_BODIES ? &self->expected[number - 1] : NULL;
    return body != NULL && body->step == CO_LINKS_WAITS && body->peer == peer ? body : NULL;
}

static struct co_links_body *carried_as(struct co_links_channel *self, int peer, const struct co_links_answer *words)
{
    struct co_links_body *body = words->place < CO_LINKS_BODIES ? &self->carried[words->place] : NULL;
    return body != NULL && body->step == CO_LINKS_WAITS && body->peer == peer && body->key.key == words->key ? body
                                                                                                             : NULL;
}

static void hear_offer(struct co_links_channel *self, int peer, const struct co_links_offer *words)
{
    struct co_links_body *body = expected_by(self, peer, words->number);
    if (body == NULL) {
        return;
    }
    body->key = words->key;
    body->sender_place = words->place;
    if (words->bytes != body->bytes) {
        end(self, body, -EPROTO);
        return;
    }
    body->step = CO_LINKS_TO_READ;
    read_body(self, body);
}

static void hear_answer(struct co_links_channel *self, int peer, const struct co_links_answer *words, bool wants_pieces)
{
    struct co_links_body *body = carried_as(self, peer, words);
    if (body == NULL) {
        return;
    }
    if (wants_pieces) {
        self->links->ops->take_back(self->links, &body->key);
        body->is_lent = false;
        body->step = CO_LINKS_TO_SEND;
        send_pieces(self, body);
    } else {
        end(self, body, 0);
    }
}

static void hear_piece(struct co_links_channel *self, int peer, const unsigned char *payload, size_t bytes)
{
    struct co_links_piece piece;
    memcpy(&piece, payload, sizeof piece);
    struct co_links_body *body = expected_by(self, peer, piece.number);
    bytes -= sizeof piece;
    if (body == NULL) {
        return;
    }
    if (bytes > body->bytes - body->done || (piece.is_last != 0) != (bytes == body->bytes - body->done)) {
        end(self, body, -EPROTO);
        return;
    }
    memcpy(body->data + body->done, payload + sizeof piece, bytes);
    body->done += bytes;
    if (piece.is_last) {
        end(self, body, 0);
    }
}

void co_links_bodies_hear(struct co_links_channel *self, int peer, const struct co_packet *packet,
                          const unsigned char *payload)
{
    unsigned kind = packet->kind;
    if (kind == CO_LINKS_PACKET_LENT && packet->bytes == sizeof(struct co_links_offer)) {
        struct co_links_offer words;
        memcpy(&words, payload, sizeof words);
        hear_offer(self, peer, &words);
    } else if ((kind == CO_LINKS_PACKET_TAKEN || kind == CO_LINKS_PACKET_SEND) &&
               packet->bytes == sizeof(struct co_links_answer)) {
        struct co_links_answer words;
        memcpy(&words, payload, sizeof words);
        hear_answer(self, peer, &words, kind == CO_LINKS_PACKET_SEND);
    } else if (kind == CO_LINKS_PACKET_PIECE && packet->bytes >= sizeof(struct co_links_piece)) {
        hear_piece(self, peer, payload, packet->bytes);
    }
}

static void move(struct co_links_channel *self, struct co_links_body *body)
{
    switch (body->step) {
    case CO_LINKS_TO_LEND:
        lend(self, body);
        break;
    case CO_LINKS_TO_OFFER:
        offer(self, body);
        break;
    case CO_LINKS_TO_SEND:
        send_pieces(self, body);
        break;
    case CO_LINKS_TO_READ:
        read_body(self, body);
        break;
    case CO_LINKS_TO_ANSWER:
        answer(self, body);
        break;
    default:
        break;
    }
}

void co_links_bodies_move(struct co_links_channel *self)
{
    for (unsigned i = 0; i < CO_LINKS_BODIES; i++) {
        move(self, &self->carried[i]);
        move(self, &self->expected[i]);
    }
}

static bool take_ended(struct co_links_channel *self, struct co_links_body *bodies, unsigned *count,
                       struct co_channel_end *told)
{
    for (unsigned i = 0; i < CO_LINKS_BODIES && self->ended_count > 0; i++) {
        struct co_links_body *body = &bodies[i];
        if (body->step == CO_LINKS_ENDED) {
            body->step = CO_LINKS_FREE;
            --*count;
            self->ended_count--;
            if (body->owner != NULL) {
                *told = (struct co_channel_end){body->owner, body->peer, bodies == self->expected, body->result};
                return true;
            }
        }
    }
    return false;
}

bool co_links_next_ended(struct co_links_channel *self, struct co_channel_end *told)
{
    return take_ended(self, self->carried, &self->carried_count, told) ||
           take_ended(self, self->expected, &self->expected_count, told);
}

static void fail(struct co_links_channel *self, struct co_links_body *body, int peer)
{
    if (body->step != CO_LINKS_FREE && body->step != CO_LINKS_ENDED && body->peer == peer) {
        end(self, body, -ECONNRESET);
    }
}

// Its reads have ended before.
void co_links_bodies_fail(struct co_links_channel *self, int peer)
{
    for (unsigned i = 0; i < CO_LINKS_BODIES; i++) {
        fail(self, &self->carried[i], peer);
        fail(self, &self->expected[i], peer);
    }
}

void co_links_bodies_forget(struct co_links_channel *self, int peer)
{
    co_links_bodies_fail(self, peer);
    for (unsigned i = 0; i < CO_LINKS_BODIES; i++) {
        self->carried[i].owner = self->carried[i].peer == peer ? NULL : self->carried[i].owner;
        self->expected[i].owner = self->expected[i].peer == peer ? NULL : self->expected[i].owner;
    }
}
