// SPDX-License-Identifier: BSD-3-Clause
//
// The fault injector: a transport on top of another one that mistreats what is sent and misses what arrives. Used by
// tests and, through CASTOFF_FAULT, in real jobs. lossy_fate.c throws the dice.
#include "transport/fault/lossy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/mix_bits.h"
#include "base/atomics.h"
#include "transport/fault/lossy_fate.h"
#include "transport/fault/lossy_held.h"

#define LANES 16

struct lossy {
    struct co_transport transport; // first: ops get a pointer to it
    struct co_transport *below;
    struct co_trylock lock; // of everything that sending changes: a thread may send beside the engine
    struct co_fault_plan plan;
    co_classify_fn classify;
    co_now_fn now;
    void *now_arg;
    uint64_t seed;
    struct co_lossy_count sent; // the numbers that decide
    struct co_lossy_held held;
    uint8_t *damaged;            // room for one datagram
    uint64_t arrived[LANES + 1]; // by lane, each its receiver's; the last: by poll
};

// What arrives on its way to who takes it.
struct on_its_way {
    struct lossy *lossy;
    unsigned way; // index in `arrived`
    co_deliver_fn deliver;
    void *arg;
};

static struct co_transport *below_of(const struct co_transport *transport)
{
    return ((const struct lossy *)transport)->below;
}

static bool is_untouched(const struct co_lossy_fate *fate)
{
    return !fate->dropped && !fate->duplicated && !fate->corrupted && !fate->truncated && fate->hold_ns == 0;
}

static void count_sent(struct lossy *lossy, struct co_destination to, enum co_fault_kind kind)
{
    lossy->sent.all++;
    lossy->sent.to_groups += to.kind == CO_TO_GROUP;
    lossy->sent.data += kind == CO_FAULT_DATA;
}

// A copy with one bit flipped or its end cut off; the caller's bytes stay as they are.
static struct co_tx_datagram damage(struct lossy *lossy, const struct co_tx_datagram *datagram,
                                    const struct co_lossy_fate *fate)
{
    uint32_t bytes = co_tx_datagram_copy(lossy->damaged, datagram);
    if (fate->truncated && bytes > 0) {
        bytes = (uint32_t)(fate->where % bytes);
    }
    if (fate->corrupted && bytes > 0) {
        lossy->damaged[(fate->where >> 3) % bytes] ^= (uint8_t)(1U << (fate->where & 7));
    }
    return (struct co_tx_datagram){.head = lossy->damaged, .head_bytes = bytes, .immediate = datagram->immediate};
}

// One datagram that does not go through unharmed: 1 taken, 0 no room, or -errno.
static int mistreat(struct lossy *lossy, struct co_destination to, const struct co_tx_datagram *datagram,
                    const struct co_lossy_fate *fate, uint64_t now_ns)
{
    if (fate->dropped) {
        return 1;
    }
    struct co_tx_datagram outgoing = *datagram;
    if (fate->corrupted || fate->truncated) {
        outgoing = damage(lossy, datagram, fate);
    }
    if (fate->hold_ns == 0 || !co_lossy_held_add(&lossy->held, to, &outgoing, now_ns + fate->hold_ns)) {
        int result = lossy->below->ops->send(lossy->below, to, &outgoing, 1);
        if (result != 1) {
            return result;
        }
    }
    if (fate->duplicated) {
        co_lossy_held_add(&lossy->held, to, &outgoing, now_ns); // leaves at the end of this send
    }
    return 1;
}

// Batches larger than the transport can hold are refused before fates are drawn.
static bool batch_fits(const struct lossy *lossy, const struct co_tx_datagram *batch, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (co_tx_datagram_bytes(&batch[i]) > lossy->transport.max_datagram_bytes) {
            return false;
        }
    }
    return true;
}

static enum co_fault_kind kind_of(const struct lossy *lossy, struct co_destination to,
                                  const struct co_tx_datagram *datagram)
{
    return lossy->classify ? lossy->classify(to, datagram) : CO_FAULT_DATA;
}

// Number of datagrams from the start of the batch that pass untouched; counts them as sent.
static unsigned untouched_run(struct lossy *lossy, struct co_destination to, const struct co_tx_datagram *batch,
                              unsigned count)
{
    unsigned run = 0;
    for (; run < count; run++) {
        enum co_fault_kind kind = kind_of(lossy, to, &batch[run]);
        struct co_lossy_fate fate = co_lossy_fate(&lossy->plan, lossy->seed, &lossy->sent, to, kind);
        if (!is_untouched(&fate)) {
            break;
        }
        count_sent(lossy, to, kind);
    }
    return run;
}

// Passes the longest untouched run on in one piece. Returns how many were taken, or -errno.
static int pass_run(struct lossy *lossy, struct co_destination to, const struct co_tx_datagram *batch, unsigned count,
                    unsigned *run)
{
    struct co_lossy_count sent = lossy->sent;
    *run = untouched_run(lossy, to, batch, count);
    int accepted = *run ? lossy->below->ops->send(lossy->below, to, batch, *run) : 0;
    if (accepted != (int)*run) {
        lossy->sent = sent; // what was not taken is drawn again: the same numbers, hence the same fate
        for (int i = 0; i < accepted; i++) {
            count_sent(lossy, to, kind_of(lossy, to, &batch[i]));
        }
    }
    return accepted;
}

static int send_all(struct lossy *lossy, struct co_destination to, const struct co_tx_datagram *batch, unsigned count,
                    uint64_t now_ns)
{
    unsigned done = 0;
    while (done < count) {
        unsigned run;
        int accepted = pass_run(lossy, to, batch + done, count - done, &run);
        if (accepted < 0) {
            return done > 0 ? (int)done : accepted;
        }
        done += (unsigned)accepted;
        if ((unsigned)accepted < run || done == count) {
            break;
        }
        enum co_fault_kind kind = kind_of(lossy, to, &batch[done]);
        struct co_lossy_fate fate = co_lossy_fate(&lossy->plan, lossy->seed, &lossy->sent, to, kind);
        int taken = mistreat(lossy, to, &batch[done], &fate, now_ns);
        if (taken <= 0) {
            return taken < 0 && done == 0 ? taken : (int)done;
        }
        co_counter_add(CO_COUNT_FAULTS_INJECTED, 1);
        count_sent(lossy, to, kind);
        done++;
    }
    return (int)done;
}

static int lossy_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                      unsigned count)
{
    struct lossy *lossy = (struct lossy *)transport;
    if (!batch_fits(lossy, batch, count)) {
        return -EMSGSIZE;
    }
    uint64_t now_ns = lossy->now(lossy->now_arg);
    co_trylock_wait(&lossy->lock);
    co_lossy_held_release(&lossy->held, lossy->below, now_ns);
    int done = send_all(lossy, to, batch, count, now_ns);
    co_lossy_held_release(&lossy->held, lossy->below, now_ns); // second copies
    co_trylock_drop(&lossy->lock);
    return done;
}

static bool is_missed(struct lossy *lossy, unsigned way, const struct co_arrival *datagram)
{
    const struct co_tx_datagram head = {.head = datagram->data, .head_bytes = datagram->bytes};
    enum co_fault_kind kind = kind_of(lossy, (struct co_destination){.kind = CO_TO_PEER}, &head);
    return co_lossy_misses(&lossy->plan, co_mix_bits(lossy->seed + way + 1), lossy->arrived[way]++, kind);
}

static void take_or_miss(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    struct on_its_way *way = arg;
    struct co_arrival taken[CO_DELIVER_AT_ONCE];
    unsigned takes = 0;
    for (unsigned i = 0; i < count; i++) {
        if (is_missed(way->lossy, way->way, &arrivals[i])) {
            co_counter_add(CO_COUNT_FAULTS_INJECTED, 1);
        } else {
            taken[takes++] = arrivals[i];
        }
    }
    if (takes > 0) {
        way->deliver(way->arg, taken, takes);
    }
}

static int lossy_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    struct lossy *lossy = (struct lossy *)transport;
    co_trylock_wait(&lossy->lock);
    co_lossy_held_release(&lossy->held, lossy->below, lossy->now(lossy->now_arg));
    co_trylock_drop(&lossy->lock);
    struct on_its_way way = {lossy, LANES, deliver, arg};
    return lossy->plan.miss > 0 ? lossy->below->ops->poll(lossy->below, budget, take_or_miss, &way)
                                : lossy->below->ops->poll(lossy->below, budget, deliver, arg);
}

// What is lost on arrival must come by here.
static int lossy_land(struct co_transport *transport, const struct co_lander *lander)
{
    const struct lossy *lossy = (struct lossy *)transport;
    struct co_transport *below = lossy->below;
    return below->ops->land == NULL || lossy->plan.miss > 0 ? -ENOTSUP : below->ops->land(below, lander);
}

static int lossy_region_open(struct co_transport *transport, struct co_region **out, const void *start, size_t bytes,
                             bool may_write)
{
    struct co_transport *below = below_of(transport);
    return below->ops->region_open == NULL ? -ENOTSUP : below->ops->region_open(below, out, start, bytes, may_write);
}

static bool lossy_region_is_busy(const struct co_transport *transport, const struct co_region *region)
{
    return below_of(transport)->ops->region_is_busy(below_of(transport), region);
}

static void lossy_region_close(struct co_transport *transport, struct co_region *region)
{
    below_of(transport)->ops->region_close(below_of(transport), region);
}

static int lossy_lane_open(struct co_transport *transport, unsigned index)
{
    struct co_transport *below = below_of(transport);
    return below->ops->lane_open == NULL ? -ENOTSUP : below->ops->lane_open(below, index);
}

static int lossy_lane_receive(struct co_transport *transport, unsigned index, co_deliver_fn deliver, void *arg,
                              bool *has_more)
{
    struct lossy *lossy = (struct lossy *)transport;
    struct co_transport *below = lossy->below;
    struct on_its_way way = {lossy, index % LANES, deliver, arg};
    return lossy->plan.miss > 0 ? below->ops->lane_receive(below, index, take_or_miss, &way, has_more)
                                : below->ops->lane_receive(below, index, deliver, arg, has_more);
}

static int lossy_lane_descriptor(struct co_transport *transport, unsigned index)
{
    return below_of(transport)->ops->lane_descriptor(below_of(transport), index);
}

static bool lossy_lane_is_quiet(const struct co_transport *transport, unsigned index)
{
    return below_of(transport)->ops->lane_is_quiet != NULL &&
           below_of(transport)->ops->lane_is_quiet(below_of(transport), index);
}

static int lossy_join(struct co_transport *transport, unsigned index)
{
    return below_of(transport)->ops->join(below_of(transport), index);
}

static void lossy_leave(struct co_transport *transport, unsigned index)
{
    below_of(transport)->ops->leave(below_of(transport), index);
}

static int lossy_descriptors(struct co_transport *transport, struct pollfd *fds, int room, int want_write)
{
    return below_of(transport)->ops->descriptors(below_of(transport), fds, room, want_write);
}

static void lossy_woken(struct co_transport *transport, const struct pollfd *fds, int count)
{
    if (below_of(transport)->ops->woken != NULL) {
        below_of(transport)->ops->woken(below_of(transport), fds, count);
    }
}

static uint64_t lossy_next_event_ns(struct co_transport *transport)
{
    struct lossy *lossy = (struct lossy *)transport;
    co_trylock_wait(&lossy->lock);
    uint64_t below_ns = lossy->below->ops->next_event_ns(lossy->below), held_ns = lossy->held.next_ns;
    co_trylock_drop(&lossy->lock);
    return below_ns == 0 || (held_ns != 0 && held_ns < below_ns) ? held_ns : below_ns;
}

static int lossy_dead_peer(struct co_transport *transport)
{
    return below_of(transport)->ops->dead_peer(below_of(transport));
}

static int lossy_refused_peer(struct co_transport *transport)
{
    const struct co_transport_ops *ops = below_of(transport)->ops;
    return ops->refused_peer != NULL ? ops->refused_peer(below_of(transport)) : -1;
}

static void lossy_peer_text(const struct co_transport *transport, int rank, char *text, size_t room)
{
    struct co_transport *below = below_of(transport);
    if (below->ops->peer_text != NULL) { // else who asks has words of his own
        below->ops->peer_text(below, rank, text, room);
    }
}

static int lossy_host_ask(struct co_transport *transport, int rank)
{
    return below_of(transport)->ops->host_ask != NULL ? below_of(transport)->ops->host_ask(below_of(transport), rank)
                                                      : -ENOTSUP;
}

static int lossy_host_told(struct co_transport *transport)
{
    return below_of(transport)->ops->host_told != NULL ? below_of(transport)->ops->host_told(below_of(transport)) : -1;
}

static void lossy_hang_up(struct co_transport *transport)
{
    if (below_of(transport)->ops->hang_up != NULL) {
        below_of(transport)->ops->hang_up(below_of(transport));
    }
}

static void lossy_close(struct co_transport *transport)
{
    struct lossy *lossy = (struct lossy *)transport;
    co_lossy_held_clear(&lossy->held);
    lossy->below->ops->close(lossy->below);
    free(lossy->damaged);
    free(lossy);
}

static const struct co_transport_ops lossy_ops = {
    .name = "lossy",
    .join = lossy_join,
    .leave = lossy_leave,
    .send = lossy_send,
    .region_open = lossy_region_open,
    .region_is_busy = lossy_region_is_busy,
    .region_close = lossy_region_close,
    .poll = lossy_poll,
    .land = lossy_land,
    .lane_open = lossy_lane_open,
    .lane_receive = lossy_lane_receive,
    .lane_descriptor = lossy_lane_descriptor,
    .lane_is_quiet = lossy_lane_is_quiet,
    .descriptors = lossy_descriptors,
    .woken = lossy_woken,
    .next_event_ns = lossy_next_event_ns,
    .dead_peer = lossy_dead_peer,
    .refused_peer = lossy_refused_peer,
    .peer_text = lossy_peer_text,
    .host_ask = lossy_host_ask,
    .host_told = lossy_host_told,
    .hang_up = lossy_hang_up,
    .close = lossy_close,
};

int co_lossy_open(struct co_transport **out, struct co_transport *below, const struct co_fault_plan *plan, int rank,
                  co_classify_fn classify, co_now_fn now, void *now_arg)
{
    struct lossy *lossy = calloc(1, sizeof *lossy);
    uint8_t *damaged = malloc(below->max_datagram_bytes);
    if (!lossy || !damaged) {
        free(lossy);
        free(damaged);
        return -ENOMEM;
    }
    lossy->transport = *below;
    lossy->transport.ops = &lossy_ops;
    lossy->below = below;
    lossy->plan = co_lossy_plan_for(plan, rank);
    lossy->classify = classify;
    lossy->now = now;
    lossy->now_arg = now_arg;
    lossy->seed = co_mix_bits(plan->seed + co_mix_bits((uint64_t)rank + 1));
    lossy->damaged = damaged;
    *out = &lossy->transport;
    return 0;
}
