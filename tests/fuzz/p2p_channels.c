// SPDX-License-Identifier: BSD-3-Clause
//
// What the rank sends is read to its last byte; the numbers in it are kept for answers.
#include "p2p_channels.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct p2p_channels channels;

void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void number_note(uint64_t number)
{
    channels.numbers[channels.number_count++ % NUMBERS] = number;
}

static bool channel_send(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                         size_t first_bytes, const void *second, size_t second_bytes)
{
    unsigned char *copy = malloc(first_bytes + second_bytes + 1); // reads all of it
    struct co_packet_cts cts = {0};
    must(first_bytes + second_bytes == packet->bytes && packet->bytes <= channel->payload_most);
    memcpy(copy, first, first_bytes);
    if (second_bytes > 0) {
        memcpy(copy + first_bytes, second, second_bytes);
    }
    memcpy(&cts, copy, packet->bytes < sizeof cts ? packet->bytes : sizeof cts);
    if (channels.has_room && (packet->kind == CO_PACKET_RTS || packet->kind == CO_PACKET_EAGER_SYNC)) {
        number_note(cts.operation);
    } else if (channels.has_room && packet->kind == CO_PACKET_CTS) {
        number_note(cts.receive);
    }
    (void)peer;
    free(copy);
    return channels.has_room;
}

static int channel_poll(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    bool is_remote = channels.coming.peer == OTHER_HOST;
    (void)most;
    if (channels.coming.payload == NULL || is_remote != (channel->ops->expect != NULL)) {
        return 0;
    }
    unsigned char *payload = channels.coming.payload;
    channels.coming.payload = NULL;
    handler(arg, is_remote ? OTHER_HOST : channels.coming.peer, &channels.coming.packet, payload);
    free(payload);
    return 1;
}

static bool channel_has_more(const struct co_channel *channel, int peer)
{
    (void)channel;
    return channels.coming.payload != NULL && channels.coming.peer == peer;
}

static size_t channel_room(struct co_channel *channel, int peer, size_t piece, size_t wanted)
{
    (void)channel;
    (void)peer;
    return !channels.has_room ? 0 : wanted < piece ? wanted : piece;
}

static _Atomic uint64_t *channel_gate(struct co_channel *channel, int peer, bool is_writer)
{
    (void)channel;
    return &channels.gates[peer][is_writer];
}

static void channel_give_back(struct co_channel *channel, int peer, size_t bytes)
{
    (void)channel;
    (void)peer;
    (void)bytes;
}

static uint64_t channel_given_back(const struct co_channel *channel, int peer)
{
    (void)channel;
    return channels.given_back[peer];
}

static void channel_close(struct co_channel *channel)
{
    (void)channel;
}

static void channel_flush(struct co_channel *channel)
{
    (void)channel;
}

static bool pending_add(void *owner, int peer, bool was_expected)
{
    if (!channels.has_room || channels.pending_count == ENDS) {
        return false;
    }
    channels.pending[channels.pending_count++] =
        (struct co_channel_end){.owner = owner, .peer = peer, .was_expected = was_expected};
    return true;
}

static uint32_t channel_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    (void)channel;
    memset(buffer, 1, bytes); // it is all there
    return pending_add(owner, peer, true);
}

static bool channel_transfer(struct co_channel *channel, int peer, const void *bytes, size_t count, uint32_t number,
                             void *owner)
{
    unsigned sum = 0;
    (void)channel;
    (void)number;
    for (size_t i = 0; i < count; i++) {
        sum += ((const unsigned char *)bytes)[i];
    }
    return pending_add(owner, peer, false) && sum < UINT_MAX;
}

static bool channel_next_end(struct co_channel *channel, struct co_channel_end *end)
{
    (void)channel;
    *end = channels.ended;
    bool has = channels.has_ended;
    channels.has_ended = false;
    return has;
}

static void channel_forget(struct co_channel *channel, int peer)
{
    unsigned kept = 0;
    (void)channel;
    for (unsigned i = 0; i < channels.pending_count; i++) {
        if (channels.pending[i].peer != peer) {
            channels.pending[kept++] = channels.pending[i];
        }
    }
    channels.pending_count = kept;
    channels.has_ended = channels.has_ended && channels.ended.peer != peer;
}

static const struct co_channel_ops local_ops = {.send = channel_send,
                                                .poll = channel_poll,
                                                .has_more = channel_has_more,
                                                .room = channel_room,
                                                .gate = channel_gate,
                                                .give_back = channel_give_back,
                                                .given_back = channel_given_back,
                                                .close = channel_close,
                                                .flush = channel_flush,
                                                .forget = channel_forget};
static struct co_channel_ops remote_ops; // likewise, and bytes that are sent apart

void p2p_channels_open(void)
{
    memset(&channels, 0, sizeof channels);
    channels.has_room = true;
    remote_ops = local_ops;
    remote_ops.expect = channel_expect;
    remote_ops.transfer = channel_transfer;
    remote_ops.next_end = channel_next_end;
    channels.channel[0] = (struct co_channel){&local_ops, PAYLOAD_MOST};
    channels.channel[1] = (struct co_channel){&remote_ops, PAYLOAD_MOST};
}
