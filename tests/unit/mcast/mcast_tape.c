// SPDX-License-Identifier: BSD-3-Clause
//
// The eavesdropper behind the protocol tests. What is noted is shared by all tapes of the process.
#include "mcast_tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTES 64
#define NOTE_BYTES 2000

struct tape {
    struct co_transport transport;
    struct co_transport *below;
};

static struct {
    uint8_t data[NOTE_BYTES];
    size_t bytes;
} notes[NOTES];
static unsigned noted;

void tape_forget(void)
{
    noted = 0;
}

static void note(const struct co_tx_datagram *datagram)
{
    size_t bytes = co_tx_datagram_bytes(datagram);
    if (bytes > NOTE_BYTES) {
        return;
    }
    co_tx_datagram_copy(notes[noted % NOTES].data, datagram);
    notes[noted++ % NOTES].bytes = bytes;
}

static struct co_transport *below_of(struct co_transport *transport)
{
    return ((struct tape *)transport)->below;
}

static int tape_join(struct co_transport *transport, unsigned index)
{
    return below_of(transport)->ops->join(below_of(transport), index);
}

static void tape_leave(struct co_transport *transport, unsigned index)
{
    below_of(transport)->ops->leave(below_of(transport), index);
}

static int tape_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                     unsigned count)
{
    int sent = below_of(transport)->ops->send(below_of(transport), to, batch, count);
    for (int i = 0; i < sent; i++) {
        note(&batch[i]);
    }
    return sent;
}

static int tape_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                            bool may_write)
{
    struct co_transport *below = below_of(transport);
    return below->ops->region_open == NULL ? -ENOTSUP : below->ops->region_open(below, out, start, bytes, may_write);
}

static bool tape_region_is_busy(const struct co_transport *transport, const struct co_region *region)
{
    const struct co_transport *below = ((const struct tape *)transport)->below;
    return below->ops->region_is_busy(below, region);
}

static void tape_region_close(struct co_transport *transport, struct co_region *region)
{
    below_of(transport)->ops->region_close(below_of(transport), region);
}

static int tape_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    return below_of(transport)->ops->poll(below_of(transport), budget, deliver, arg);
}

static int tape_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    return below_of(transport)->ops->descriptors(below_of(transport), fds, room, want_write);
}

static uint64_t tape_next_event_ns(struct co_transport *transport)
{
    return below_of(transport)->ops->next_event_ns(below_of(transport));
}

static int tape_dead_peer(struct co_transport *transport)
{
    return below_of(transport)->ops->dead_peer(below_of(transport));
}

static int tape_refused_peer(struct co_transport *transport)
{
    return below_of(transport)->ops->refused_peer(below_of(transport));
}

static void tape_close(struct co_transport *transport)
{
    below_of(transport)->ops->close(below_of(transport));
    free(transport);
}

static const struct co_transport_ops tape_ops = {.name = "tape",
                                                 .join = tape_join,
                                                 .leave = tape_leave,
                                                 .send = tape_send,
                                                 .region_open = tape_region_open,
                                                 .region_is_busy = tape_region_is_busy,
                                                 .region_close = tape_region_close,
                                                 .poll = tape_poll,
                                                 .descriptors = tape_descriptors,
                                                 .next_event_ns = tape_next_event_ns,
                                                 .dead_peer = tape_dead_peer,
                                                 .refused_peer = tape_refused_peer,
                                                 .close = tape_close};

struct co_transport *tape_open(struct co_transport *below)
{
    struct tape *tape = calloc(1, sizeof(*tape));
    tape->transport = *below;
    tape->transport.ops = &tape_ops;
    tape->below = below;
    return &tape->transport;
}

static size_t invent(uint8_t *data, unsigned random)
{
    size_t bytes = random % 300;
    for (size_t i = 0; i < bytes; i++) {
        random = random * 1103515245 + 12345;
        data[i] = (uint8_t)(random >> 16);
    }
    data[0] = (uint8_t)(0x31 + random % 3); // looks like ours at first sight
    return bytes;
}

void tape_attack(struct co_transport *attacker, unsigned random, int members, unsigned subgroups)
{
    uint8_t data[NOTE_BYTES + 1];
    unsigned how = random % 4, which = random / 4 % NOTES;
    size_t bytes;
    if (how == 0 || noted < NOTES) {
        bytes = invent(data, random);
    } else {
        bytes = notes[which].bytes;
        memcpy(data, notes[which].data, bytes);
        if (how == 1) {
            data[bytes == 0 ? 0 : random / 256 % bytes] ^= (uint8_t)(1U << (random / 8 % 8));
        } else if (how == 2 && random % 3 == 0 && bytes > 0) {
            bytes -= 1 + random / 256 % bytes;
        }
    }
    struct co_tx_datagram datagram = {.payload = data, .payload_bytes = (uint32_t)bytes};
    struct co_destination to = random / 1024 % 2
                                   ? (struct co_destination){CO_TO_GROUP, random / 2048 % subgroups}
                                   : (struct co_destination){CO_TO_PEER, random / 2048 % (unsigned)members};
    attacker->ops->send(attacker, to, &datagram, 1);
}
