// SPDX-License-Identifier: BSD-3-Clause
//
// Large transfers: the sender exports its buffer and says where it is, the receiver reads it and says so, and each
// gives back what it had registered. Where registering fails, on either side, the bytes go in packets. Lock held. Warm.
#include <errno.h>
#include <string.h>

#include "base/counters.h"
#include "p2p/channel/rc_channel_state.h"

static struct co_rc_transfer *transfer_find_free(struct co_rc_transfer *transfers)
{
    for (unsigned i = 0; i < CO_RC_TRANSFERS; i++) {
        if (transfers[i].step == CO_RC_FREE) {
            return &transfers[i];
        }
    }
    return NULL;
}

static void transfer_end(struct co_rc_channel *self, struct co_rc_transfer *transfer, int result)
{
    if (transfer->is_exported) {
        self->rc->ops->region_release(self->rc, &transfer->key);
        transfer->is_exported = false;
    }
    transfer->result = result;
    transfer->step = CO_RC_ENDED;
    self->ended_count++;
}

uint32_t co_rc_transfer_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    struct co_rc_transfer *transfer = transfer_find_free(self->expected);
    if (transfer == NULL) {
        return 0;
    }
    *transfer =
        (struct co_rc_transfer){.step = CO_RC_WAITS, .peer = peer, .data = buffer, .bytes = bytes, .owner = owner};
    self->expected_count++;
    return (uint32_t)(transfer - self->expected) + 1;
}

static void transfer_send_read_offer(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    struct co_rc_read_offer words = {.key = transfer->key,
                                     .bytes = transfer->bytes,
                                     .number = transfer->number,
                                     .place = (uint32_t)(transfer - self->outgoing)};
    if (co_rc_channel_send(self, transfer->peer, CO_RC_PACKET_READ_OFFER, &words, sizeof words, NULL, 0)) {
        transfer->step = CO_RC_WAITS;
    }
}

static void transfer_export(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    int error = self->rc->ops->region_export(self->rc, transfer->data, transfer->bytes, &transfer->key);
    transfer->is_exported = error == 0;
    if (error == 0) {
        transfer->step = CO_RC_TO_OFFER;
        transfer_send_read_offer(self, transfer);
    } else if (error != -EAGAIN) {
        transfer->step = CO_RC_TO_SEND;
    }
}

static void transfer_send_pieces(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    size_t most = self->channel.payload_most - sizeof(struct co_rc_piece);
    while (transfer->step == CO_RC_TO_SEND) {
        size_t left = transfer->bytes - transfer->done, bytes = left < most ? left : most;
        struct co_rc_piece piece = {transfer->number, bytes == left};
        if (!co_rc_channel_send(self, transfer->peer, CO_RC_PACKET_PIECE, &piece, sizeof piece,
                                transfer->data + transfer->done, bytes)) {
            break;
        }
        transfer->done += bytes;
        if (piece.is_last) {
            transfer_end(self, transfer, 0);
        }
    }
}

bool co_rc_transfer_start(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number,
                          void *owner)
{
    struct co_rc_channel *self = co_rc_channel_of(channel);
    struct co_rc_transfer *transfer = transfer_find_free(self->outgoing);
    if (transfer == NULL) {
        return false;
    }
    *transfer = (struct co_rc_transfer){.step = CO_RC_TO_EXPORT,
                                        .peer = peer,
                                        .data = (unsigned char *)(uintptr_t)data, // which is only read
                                        .bytes = bytes,
                                        .number = number,
                                        .owner = owner};
    self->outgoing_count++;
    if (bytes == 0) {
        transfer->step = CO_RC_TO_SEND;
        transfer_send_pieces(self, transfer);
    } else if (self->peers[peer].is_lost) {
        transfer_end(self, transfer, -ECONNRESET);
    } else {
        transfer_export(self, transfer);
    }
    return true;
}

static void transfer_send_answer(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    struct co_rc_read_answer words = {transfer->sender_place, transfer->key.key};
    unsigned kind = transfer->wants_pieces ? CO_RC_PACKET_PIECES_WANTED : CO_RC_PACKET_READ_DONE;
    if (!co_rc_channel_send(self, transfer->peer, kind, &words, sizeof words, NULL, 0)) {
        return;
    }
    if (transfer->wants_pieces) {
        transfer->step = CO_RC_WAITS;
    } else {
        transfer_end(self, transfer, 0);
    }
}

static void transfer_read(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    int error =
        self->rc->ops->read(self->rc, transfer->peer, transfer->data, transfer->bytes, &transfer->key, transfer);
    if (error == 0) {
        transfer->step = CO_RC_READS;
    } else if (error == -ECONNRESET) {
        transfer_end(self, transfer, error);
    } else if (error != -EAGAIN) {
        transfer->wants_pieces = true;
        transfer->step = CO_RC_TO_ANSWER;
        transfer_send_answer(self, transfer);
    }
}

void co_rc_transfer_was_read(struct co_rc_channel *self, struct co_rc_transfer *transfer, int result)
{
    if (result != 0) {
        transfer_end(self, transfer, result);
    } else {
        co_counter_add(CO_COUNT_REMOTE_READ_BYTES, transfer->bytes);
        transfer->step = CO_RC_TO_ANSWER;
        transfer_send_answer(self, transfer);
    }
}

static struct co_rc_transfer *expected_find(struct co_rc_channel *self, int peer, uint32_t number)
{
    struct co_rc_transfer *transfer = number - 1 < CO_RC_TRANSFERS ? &self->expected[number - 1] : NULL;
    return transfer != NULL && transfer->step == CO_RC_WAITS && transfer->peer == peer ? transfer : NULL;
}

static struct co_rc_transfer *outgoing_find(struct co_rc_channel *self, int peer, const struct co_rc_read_answer *words)
{
    struct co_rc_transfer *transfer = words->place < CO_RC_TRANSFERS ? &self->outgoing[words->place] : NULL;
    return transfer != NULL && transfer->step == CO_RC_WAITS && transfer->peer == peer &&
                   transfer->key.key == words->key
               ? transfer
               : NULL;
}

static void read_offer_receive(struct co_rc_channel *self, int peer, const struct co_rc_read_offer *words)
{
    struct co_rc_transfer *transfer = expected_find(self, peer, words->number);
    if (transfer == NULL) {
        return;
    }
    transfer->key = words->key;
    transfer->sender_place = words->place;
    if (words->bytes != transfer->bytes) {
        transfer_end(self, transfer, -EPROTO);
        return;
    }
    transfer->step = CO_RC_TO_READ;
    transfer_read(self, transfer);
}

static void read_answer_receive(struct co_rc_channel *self, int peer, const struct co_rc_read_answer *words,
                                bool wants_pieces)
{
    struct co_rc_transfer *transfer = outgoing_find(self, peer, words);
    if (transfer == NULL) {
        return;
    }
    if (wants_pieces) {
        self->rc->ops->region_release(self->rc, &transfer->key);
        transfer->is_exported = false;
        transfer->step = CO_RC_TO_SEND;
        transfer_send_pieces(self, transfer);
    } else {
        transfer_end(self, transfer, 0);
    }
}

static void piece_receive(struct co_rc_channel *self, int peer, const unsigned char *payload, size_t bytes)
{
    struct co_rc_piece piece;
    memcpy(&piece, payload, sizeof piece);
    struct co_rc_transfer *transfer = expected_find(self, peer, piece.number);
    bytes -= sizeof piece;
    if (transfer == NULL) {
        return;
    }
    if (bytes > transfer->bytes - transfer->done ||
        (piece.is_last != 0) != (bytes == transfer->bytes - transfer->done)) {
        transfer_end(self, transfer, -EPROTO);
        return;
    }
    memcpy(transfer->data + transfer->done, payload + sizeof piece, bytes);
    transfer->done += bytes;
    if (piece.is_last) {
        transfer_end(self, transfer, 0);
    }
}

void co_rc_transfers_receive(struct co_rc_channel *self, int peer, const struct co_packet *packet,
                             const unsigned char *payload)
{
    unsigned kind = packet->kind;
    if (kind == CO_RC_PACKET_READ_OFFER && packet->bytes == sizeof(struct co_rc_read_offer)) {
        struct co_rc_read_offer words;
        memcpy(&words, payload, sizeof words);
        read_offer_receive(self, peer, &words);
    } else if ((kind == CO_RC_PACKET_READ_DONE || kind == CO_RC_PACKET_PIECES_WANTED) &&
               packet->bytes == sizeof(struct co_rc_read_answer)) {
        struct co_rc_read_answer words;
        memcpy(&words, payload, sizeof words);
        read_answer_receive(self, peer, &words, kind == CO_RC_PACKET_PIECES_WANTED);
    } else if (kind == CO_RC_PACKET_PIECE && packet->bytes >= sizeof(struct co_rc_piece)) {
        piece_receive(self, peer, payload, packet->bytes);
    }
}

static void transfer_progress(struct co_rc_channel *self, struct co_rc_transfer *transfer)
{
    switch (transfer->step) {
    case CO_RC_TO_EXPORT:
        transfer_export(self, transfer);
        break;
    case CO_RC_TO_OFFER:
        transfer_send_read_offer(self, transfer);
        break;
    case CO_RC_TO_SEND:
        transfer_send_pieces(self, transfer);
        break;
    case CO_RC_TO_READ:
        transfer_read(self, transfer);
        break;
    case CO_RC_TO_ANSWER:
        transfer_send_answer(self, transfer);
        break;
    default:
        break;
    }
}

void co_rc_transfers_progress(struct co_rc_channel *self)
{
    for (unsigned i = 0; i < CO_RC_TRANSFERS; i++) {
        transfer_progress(self, &self->outgoing[i]);
        transfer_progress(self, &self->expected[i]);
    }
}

static bool ended_take(struct co_rc_channel *self, struct co_rc_transfer *transfers, unsigned *count,
                       struct co_channel_end *told)
{
    for (unsigned i = 0; i < CO_RC_TRANSFERS && self->ended_count > 0; i++) {
        struct co_rc_transfer *transfer = &transfers[i];
        if (transfer->step == CO_RC_ENDED) {
            transfer->step = CO_RC_FREE;
            --*count;
            self->ended_count--;
            if (transfer->owner != NULL) {
                *told = (struct co_channel_end){transfer->owner, transfer->peer, transfers == self->expected,
                                                transfer->result};
                return true;
            }
        }
    }
    return false;
}

bool co_rc_transfers_next_ended(struct co_rc_channel *self, struct co_channel_end *told)
{
    return ended_take(self, self->outgoing, &self->outgoing_count, told) ||
           ended_take(self, self->expected, &self->expected_count, told);
}

static void transfers_fail(struct co_rc_channel *self, struct co_rc_transfer *transfer, int peer)
{
    if (transfer->step != CO_RC_FREE && transfer->step != CO_RC_ENDED && transfer->peer == peer) {
        transfer_end(self, transfer, -ECONNRESET);
    }
}

// Its reads have ended before.
void co_rc_transfers_fail(struct co_rc_channel *self, int peer)
{
    for (unsigned i = 0; i < CO_RC_TRANSFERS; i++) {
        transfers_fail(self, &self->outgoing[i], peer);
        transfers_fail(self, &self->expected[i], peer);
    }
}

void co_rc_transfers_forget(struct co_rc_channel *self, int peer)
{
    co_rc_transfers_fail(self, peer);
    for (unsigned i = 0; i < CO_RC_TRANSFERS; i++) {
        self->outgoing[i].owner = self->outgoing[i].peer == peer ? NULL : self->outgoing[i].owner;
        self->expected[i].owner = self->expected[i].peer == peer ? NULL : self->expected[i].owner;
    }
}
