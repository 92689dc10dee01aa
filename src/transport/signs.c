// SPDX-License-Identifier: BSD-3-Clause
//
// Everything goes to the transport below, but for the questions who is alive.
#include "transport/signs.h"

#include <errno.h>
#include <stdlib.h>

#define SIGN_BYTES 1 // of a datagram that only shows who is there; words are longer
#define WORDS_AT_ONCE 64

struct signs {
    struct co_transport transport;       // first: ops get a pointer to it
    struct co_transport *below, *beside; // beside: NULL once hung up
    bool is_broken;                      // below
    unsigned polls;                      // since beside was polled
    unsigned knocks;
    uint64_t (*now_ns)(void);
    int peers;
    uint64_t told_ns[]; // by world rank: when it last got a byte
};

static struct co_transport *below(const struct co_transport *transport)
{
    return ((const struct signs *)transport)->below;
}

struct words {
    co_deliver_fn deliver;
    void *arg;
};

static void deliver_words(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    const struct words *words = arg;
    struct co_arrival longer[CO_DELIVER_AT_ONCE];
    unsigned found = 0;
    for (unsigned i = 0; i < count && found < CO_DELIVER_AT_ONCE; i++) {
        if (arrivals[i].bytes > SIGN_BYTES) {
            longer[found++] = arrivals[i];
        }
    }
    if (found > 0) {
        words->deliver(words->arg, longer, found);
    }
}

// The refusal comes back to the socket, and is found by the next call that uses it.
static void knock(struct signs *signs, unsigned rank)
{
    uint64_t now_ns = signs->now_ns();
    if (rank >= (unsigned)signs->peers || now_ns - signs->told_ns[rank] < CO_SIGNS_EVERY_NS) {
        return;
    }
    const uint8_t byte = (uint8_t)++signs->knocks; // each another one, so that refusals can be told apart
    const struct co_tx_datagram datagram = {.head = &byte, .head_bytes = SIGN_BYTES};
    signs->told_ns[rank] = now_ns;
    signs->beside->ops->send(signs->beside, (struct co_destination){CO_TO_PEER, rank}, &datagram, 1);
}

static int send_below(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                      unsigned count)
{
    struct signs *signs = (struct signs *)transport;
    if (to.kind == CO_TO_PEER && signs->beside != NULL) {
        if (signs->is_broken) {
            return signs->beside->ops->send(signs->beside, to, batch, count);
        }
        knock(signs, to.index);
    }
    return signs->below->ops->send(signs->below, to, batch, count);
}

static int region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                       bool may_write)
{
    return below(transport)->ops->region_open == NULL
               ? -ENOTSUP
               : below(transport)->ops->region_open(below(transport), out, start, bytes, may_write);
}

static bool region_is_busy(const struct co_transport *transport, const struct co_region *region)
{
    return below(transport)->ops->region_is_busy(below(transport), region);
}

static void region_close(struct co_transport *transport, struct co_region *region)
{
    below(transport)->ops->region_close(below(transport), region);
}

static int join(struct co_transport *transport, unsigned index)
{
    return below(transport)->ops->join(below(transport), index);
}

static void leave(struct co_transport *transport, unsigned index)
{
    below(transport)->ops->leave(below(transport), index);
}

// What others say there they say because they have no other way left. What is wrong there is no matter here.
static int poll_beside(struct signs *signs, co_deliver_fn deliver, void *arg)
{
    struct words words = {deliver, arg};
    int count = 0;
    if (signs->beside != NULL && ++signs->polls >= CO_SIGNS_POLLS) {
        signs->polls = 0;
        count = signs->beside->ops->poll(signs->beside, WORDS_AT_ONCE, deliver_words, &words);
    }
    return count > 0 ? count : 0;
}

static int poll_below(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct signs *signs = (struct signs *)transport;
    int beside = poll_beside(signs, deliver, arg);
    int count = signs->below->ops->poll(signs->below, budget, deliver, arg);
    signs->is_broken = signs->is_broken || count < 0;
    return count < 0 ? count : count + beside;
}

static int descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    struct signs *signs = (struct signs *)transport;
    int count = signs->below->ops->descriptors(signs->below, fds, room, want_write);
    if (count >= 0 && count < room && signs->beside != NULL) {
        int beside = signs->beside->ops->descriptors(signs->beside, fds + count, room - count, 0);
        count += beside > 0 ? beside : 0;
        signs->polls = CO_SIGNS_POLLS; // whoever has slept looks
    }
    return count;
}

static uint64_t next_event_ns(struct co_transport *transport)
{
    return below(transport)->ops->next_event_ns(below(transport));
}

static int dead_peer(struct co_transport *transport)
{
    const struct signs *signs = (const struct signs *)transport;
    int rank = signs->beside != NULL ? signs->beside->ops->dead_peer(signs->beside) : -1;
    return rank >= 0 ? rank : signs->below->ops->dead_peer(signs->below);
}

static int refused_peer(struct co_transport *transport)
{
    struct co_transport *beside = ((struct signs *)transport)->beside;
    return beside != NULL && beside->ops->refused_peer != NULL ? beside->ops->refused_peer(beside) : -1;
}

static int host_ask(struct co_transport *transport, int rank)
{
    struct co_transport *beside = ((struct signs *)transport)->beside;
    return beside != NULL && beside->ops->host_ask != NULL ? beside->ops->host_ask(beside, rank) : -ENOTSUP;
}

static int host_told(struct co_transport *transport)
{
    struct co_transport *beside = ((struct signs *)transport)->beside;
    return beside != NULL && beside->ops->host_told != NULL ? beside->ops->host_told(beside) : -1;
}

static void hang_up(struct co_transport *transport)
{
    struct signs *signs = (struct signs *)transport;
    if (signs->below->ops->hang_up != NULL) {
        signs->below->ops->hang_up(signs->below);
    }
    if (signs->beside != NULL) {
        signs->beside->ops->close(signs->beside);
        signs->beside = NULL;
    }
}

static void close_both(struct co_transport *transport)
{
    struct signs *signs = (struct signs *)transport;
    signs->below->ops->close(signs->below);
    if (signs->beside != NULL) {
        signs->beside->ops->close(signs->beside);
    }
    free(signs);
}

static const struct co_transport_ops ops = {.name = "signs",
                                            .join = join,
                                            .leave = leave,
                                            .send = send_below,
                                            .region_open = region_open,
                                            .region_is_busy = region_is_busy,
                                            .region_close = region_close,
                                            .poll = poll_below,
                                            .descriptors = descriptors,
                                            .next_event_ns = next_event_ns,
                                            .dead_peer = dead_peer,
                                            .refused_peer = refused_peer,
                                            .host_ask = host_ask,
                                            .host_told = host_told,
                                            .hang_up = hang_up,
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
