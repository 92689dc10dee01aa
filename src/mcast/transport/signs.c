// SPDX-License-Identifier: BSD-3-Clause
//
// Everything goes to the transport below, but for the questions who is alive.
#include "mcast/transport/signs.h"

#include <errno.h>
#include <stdlib.h>

#define DROPPED_AT_ONCE 16 // bytes of others that wait in the socket

struct signs {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_transport *below, *beside;
    uint64_t (*now_ns)(void);
    int peers;
    uint64_t told_ns[]; // by world rank: when it last got a byte
};

static struct co_transport *below(const struct co_transport *transport)
{
    return ((const struct signs *)transport)->below;
}

static void drop(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    (void)arg;
    (void)arrivals;
    (void)count;
}

// The refusal comes back to the socket, and is found by the next call that uses it.
static void knock(struct signs *signs, unsigned rank)
{
    static const uint8_t byte;
    const struct co_tx_datagram datagram = {.head = &byte, .head_bytes = sizeof byte};
    uint64_t now_ns = signs->now_ns();
    if (rank >= (unsigned)signs->peers || now_ns - signs->told_ns[rank] < CO_SIGNS_EVERY_NS) {
        return;
    }
    signs->told_ns[rank] = now_ns;
    signs->beside->ops->poll(signs->beside, DROPPED_AT_ONCE, drop, NULL);
    signs->beside->ops->send(signs->beside, (struct co_destination){CO_TO_PEER, rank}, &datagram, 1);
}

static int send_below(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                      unsigned count)
{
    if (to.kind == CO_TO_PEER) {
        knock((struct signs *)transport, to.index);
    }
    return below(transport)->ops->send(below(transport), to, batch, count);
}

static int join(struct co_transport *transport, unsigned index)
{
    return below(transport)->ops->join(below(transport), index);
}

static void leave(struct co_transport *transport, unsigned index)
{
    below(transport)->ops->leave(below(transport), index);
}

static int poll_below(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    return below(transport)->ops->poll(below(transport), budget, deliver, arg);
}

static int descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    return below(transport)->ops->descriptors(below(transport), fds, room, want_write);
}

static uint64_t next_event_ns(struct co_transport *transport)
{
    return below(transport)->ops->next_event_ns(below(transport));
}

static int dead_peer(struct co_transport *transport)
{
    const struct signs *signs = (const struct signs *)transport;
    int rank = signs->beside->ops->dead_peer(signs->beside);
    return rank >= 0 ? rank : signs->below->ops->dead_peer(signs->below);
}

static int host_ask(struct co_transport *transport, int rank)
{
    struct co_transport *beside = ((struct signs *)transport)->beside;
    return beside->ops->host_ask != NULL ? beside->ops->host_ask(beside, rank) : -ENOTSUP;
}

static int host_told(struct co_transport *transport)
{
    struct co_transport *beside = ((struct signs *)transport)->beside;
    return beside->ops->host_told != NULL ? beside->ops->host_told(beside) : -1;
}

static void close_both(struct co_transport *transport)
{
    struct signs *signs = (struct signs *)transport;
    signs->below->ops->close(signs->below);
    signs->beside->ops->close(signs->beside);
    free(signs);
}

static const struct co_transport_ops ops = {.name = "signs",
                                            .join = join,
                                            .leave = leave,
                                            .send = send_below,
                                            .poll = poll_below,
                                            .descriptors = descriptors,
                                            .next_event_ns = next_event_ns,
                                            .dead_peer = dead_peer,
                                            .host_ask = host_ask,
                                            .host_told = host_told,
                                            .close = close_both};

int co_signs_open(struct co_transport **out, struct co_transport *below_it, struct co_transport *beside, int peers,
                  uint64_t (*now_ns)(void))
{
    struct signs *signs = calloc(1, sizeof *signs + (size_t)peers * sizeof signs->told_ns[0]);
    if (signs == NULL) {
        return -ENOMEM;
    }
    signs->transport = *below_it;
    signs->transport.ops = &ops;
    signs->below = below_it;
    signs->beside = beside;
    signs->now_ns = now_ns;
    signs->peers = peers;
    *out = &signs->transport;
    return 0;
}
