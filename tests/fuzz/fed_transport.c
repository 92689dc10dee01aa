// SPDX-License-Identifier: BSD-3-Clause
//
// The transport of fuzz targets. One thread.
#include "fed_transport.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fed_join(struct co_transport *transport, unsigned index)
{
    (void)transport;
    return index < 16 ? 0 : -EINVAL;
}

static void fed_leave(struct co_transport *transport, unsigned index)
{
    (void)transport, (void)index;
}

static int fed_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                    unsigned count)
{
    static uint8_t sink[FED_DATAGRAM_MAX];
    struct fed_transport *fed = (struct fed_transport *)transport;

    if (to.kind == CO_TO_PEER && to.index >= fed->peers) {
        abort();
    }
    if (fed->refuse > 0) {
        fed->refuse--;
        return (int)(count / 2);
    }
    for (unsigned i = 0; i < count; i++) { // reading is what a kernel would do
        if ((size_t)batch[i].head_bytes + batch[i].payload_bytes + batch[i].tail_bytes > FED_DATAGRAM_MAX) {
            abort();
        }
        memcpy(sink, batch[i].head, batch[i].head_bytes);
        if (batch[i].payload_bytes > 0) {
            memcpy(sink, batch[i].payload, batch[i].payload_bytes);
        }
        if (batch[i].tail_bytes > 0) {
            memcpy(sink, batch[i].tail, batch[i].tail_bytes);
        }
    }
    return (int)count;
}

static void gather(struct fed_transport *fed)
{
    uint8_t *copy = malloc(fed->bytes ? fed->bytes : 1); // exactly as long, so that reading on is seen
    memcpy(copy, fed->datagram, fed->bytes);
    fed->gathered[fed->count++] = (struct co_arrival){.data = copy, .bytes = (uint32_t)fed->bytes};
    fed->has_datagram = false;
}

static void drop_gathered(struct fed_transport *fed)
{
    for (unsigned i = 0; i < fed->count; i++) {
        free((void *)fed->gathered[i].data);
    }
    fed->count = 0;
}

// One fed after the other comes together with it, until nothing has been fed since the last poll.
static int fed_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct fed_transport *fed = (struct fed_transport *)transport;
    if (budget == 0) {
        return 0;
    }
    if (fed->has_datagram) {
        gather(fed);
        if (fed->count < FED_TOGETHER) {
            return 0;
        }
    }
    int count = (int)fed->count;
    if (count > 0) {
        deliver(arg, fed->gathered, fed->count);
        drop_gathered(fed);
    }
    return count;
}

static int fed_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    (void)transport, (void)fds, (void)room, (void)want_write;
    return 0;
}

static uint64_t fed_next_event_ns(struct co_transport *transport)
{
    (void)transport;
    return 0;
}

static int fed_dead_peer(struct co_transport *transport)
{
    struct fed_transport *fed = (struct fed_transport *)transport;
    int dead = fed->dead;
    fed->dead = -1;
    return dead;
}

static void fed_close(struct co_transport *transport)
{
    drop_gathered((struct fed_transport *)transport);
}

static const struct co_transport_ops fed_ops = {
    .name = "fed",
    .join = fed_join,
    .leave = fed_leave,
    .send = fed_send,
    .poll = fed_poll,
    .descriptors = fed_descriptors,
    .next_event_ns = fed_next_event_ns,
    .dead_peer = fed_dead_peer,
    .close = fed_close,
};

void fed_transport_open(struct fed_transport *fed, unsigned peers)
{
    *fed = (struct fed_transport){
        .transport = {.ops = &fed_ops,
                      .max_datagram_bytes = FED_DATAGRAM_MAX,
                      .max_batch = 8,
                      .receive_buffer_bytes = 1 << 20},
        .dead = -1,
        .peers = peers,
    };
}
