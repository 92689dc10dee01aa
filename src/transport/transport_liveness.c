// SPDX-License-Identifier: BSD-3-Clause
//
// Everything goes to the transport below, but for the questions who is alive.
#include "transport/transport_liveness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define KNOCK_BYTES 1 // of a datagram that only shows who is there; words are longer
#define WORDS_AT_ONCE 64

struct liveness {
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
    return ((const struct liveness *)transport)->below;
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
        if (arrivals[i].bytes > KNOCK_BYTES) {
            longer[found++] = arrivals[i];
        }
    }
    if (found > 0) {
        words->deliver(words->arg, longer, found);
    }
}

// The refusal comes back to the socket, and is found by the next call that uses it.
static void knock(struct liveness *liveness, unsigned rank)
{
    uint64_t now_ns = liveness->now_ns();
    if (rank >= (unsigned)liveness->peers || now_ns - liveness->told_ns[rank] < CO_TRANSPORT_LIVENESS_EVERY_NS) {
        return;
    }
    const uint8_t byte = (uint8_t)++liveness->knocks; // each another one, so that refusals can be told apart
    const struct co_tx_datagram datagram = {.head = &byte, .head_bytes = KNOCK_BYTES};
    liveness->told_ns[rank] = now_ns;
    liveness->beside->ops->send(liveness->beside, (struct co_destination){CO_TO_PEER, rank}, &datagram, 1);
}

static int send_below(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                      unsigned count)
{
    struct liveness *liveness = (struct liveness *)transport;
    if (to.kind == CO_TO_PEER && liveness->beside != NULL) {
        if (liveness->is_broken) {
            return liveness->beside->ops->send(liveness->beside, to, batch, count);
        }
        knock(liveness, to.index);
    }
    return liveness->below->ops->send(liveness->below, to, batch, count);
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
static int poll_beside(struct liveness *liveness, co_deliver_fn deliver, void *arg)
{
    struct words words = {deliver, arg};
    int count = 0;
    if (liveness->beside != NULL && ++liveness->polls >= CO_TRANSPORT_LIVENESS_POLLS) {
        liveness->polls = 0;
        count = liveness->beside->ops->poll(liveness->beside, WORDS_AT_ONCE, deliver_words, &words);
    }
    return count > 0 ? count : 0;
}

static int poll_below(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct liveness *liveness = (struct liveness *)transport;
    int beside = poll_beside(liveness, deliver, arg);
    int count = liveness->below->ops->poll(liveness->below, budget, deliver, arg);
    liveness->is_broken = liveness->is_broken || count < 0;
    return count < 0 ? count : count + beside;
}

static int descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    struct liveness *liveness = (struct liveness *)transport;
    int count = liveness->below->ops->descriptors(liveness->below, fds, room, want_write);
    if (count >= 0 && count < room && liveness->beside != NULL) {
        int beside = liveness->beside->ops->descriptors(liveness->beside, fds + count, room - count, 0);
        count += beside > 0 ? beside : 0;
        liveness->polls = CO_TRANSPORT_LIVENESS_POLLS; // whoever has slept looks
    }
    return count;
}

static uint64_t next_event_ns(struct co_transport *transport)
{
    return below(transport)->ops->next_event_ns(below(transport));
}

static int dead_peer(struct co_transport *transport)
{
    const struct liveness *liveness = (const struct liveness *)transport;
    int rank = liveness->beside != NULL ? liveness->beside->ops->dead_peer(liveness->beside) : -1;
    return rank >= 0 ? rank : liveness->below->ops->dead_peer(liveness->below);
}

static int refused_peer(struct co_transport *transport)
{
    struct co_transport *beside = ((struct liveness *)transport)->beside;
    return beside != NULL && beside->ops->refused_peer != NULL ? beside->ops->refused_peer(beside) : -1;
}

static void peer_text(const struct co_transport *transport, int rank, char *text, size_t room)
{
    const struct co_transport *beside = ((const struct liveness *)transport)->beside;
    if (beside != NULL && beside->ops->peer_text != NULL) {
        beside->ops->peer_text(beside, rank, text, room);
    } else {
        snprintf(text, room, "rank %d", rank);
    }
}

static int host_ask(struct co_transport *transport, int rank)
{
    struct co_transport *beside = ((struct liveness *)transport)->beside;
    return beside != NULL && beside->ops->host_ask != NULL ? beside->ops->host_ask(beside, rank) : -ENOTSUP;
}

static int host_told(struct co_transport *transport)
{
    struct co_transport *beside = ((struct liveness *)transport)->beside;
    return beside != NULL && beside->ops->host_told != NULL ? beside->ops->host_told(beside) : -1;
}

static void hang_up(struct co_transport *transport)
{
    struct liveness *liveness = (struct liveness *)transport;
    if (liveness->below->ops->hang_up != NULL) {
        liveness->below->ops->hang_up(liveness->below);
    }
    if (liveness->beside != NULL) {
        liveness->beside->ops->close(liveness->beside);
        liveness->beside = NULL;
    }
}

static void close_both(struct co_transport *transport)
{
    struct liveness *liveness = (struct liveness *)transport;
    liveness->below->ops->close(liveness->below);
    if (liveness->beside != NULL) {
        liveness->beside->ops->close(liveness->beside);
    }
    free(liveness);
}

static const struct co_transport_ops ops = {.name = "liveness",
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
                                            .peer_text = peer_text,
                                            .host_ask = host_ask,
                                            .host_told = host_told,
                                            .hang_up = hang_up,
                                            .close = close_both};

int co_transport_liveness_open(struct co_transport **out, struct co_transport *below_it, struct co_transport *beside,
                               int peers, uint64_t (*now_ns)(void))
{
    struct liveness *liveness = calloc(1, sizeof *liveness + (size_t)peers * sizeof liveness->told_ns[0]);
    if (liveness == NULL) {
        return -ENOMEM;
    }
    liveness->transport = *below_it;
    liveness->transport.ops = &ops;
    liveness->below = below_it;
    liveness->beside = beside;
    liveness->now_ns = now_ns;
    liveness->peers = peers;
    *out = &liveness->transport;
    return 0;
}
