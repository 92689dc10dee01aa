// SPDX-License-Identifier: BSD-3-Clause
//
// Sending, waiting and receiving on a rig. Waiting is done on the transport's own descriptors (or by moving its
// virtual clock), with a bound that only a fault can reach.
#include "deliver_each.h"
#include "transport_rig.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rig_inbox rig_inbox;

struct co_destination rig_group(unsigned index)
{
    return (struct co_destination){CO_TO_GROUP, index};
}

struct co_destination rig_peer(unsigned rank)
{
    return (struct co_destination){CO_TO_PEER, rank};
}

// Byte `at` of datagram `number`; the first four bytes of longer ones are the number itself.
static uint8_t content(uint32_t number, size_t at)
{
    return at < 4 ? (uint8_t)(number >> (8 * at)) : (uint8_t)(number * 131 + at * 7);
}

void rig_fill(uint8_t *bytes, uint32_t number, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        bytes[at] = content(number, at);
    }
}

static void take(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    struct rig_inbox *to = arg;
    uint32_t number = 0;

    if (size >= 4) {
        number = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
    }
    for (size_t at = 4; at < size; at++) {
        to->wrong += data[at] != content(number, at);
    }
    assert_true(to->count < RIG_INBOX_MAX);
    to->sizes[to->count] = size;
    to->immediates[to->count] = immediate;
    to->numbers[to->count++] = number;
}

int rig_poll(struct transport_rig *rig, unsigned at, unsigned budget)
{
    unsigned before = rig_inbox.count;
    int result = rig->ends[at]->ops->poll(rig->ends[at], budget, DELIVER_EACH(take, &rig_inbox));

    assert_true(result >= 0);
    assert_int_equal(result, rig_inbox.count - before);
    return result;
}

bool rig_wait(struct transport_rig *rig, unsigned at)
{
    struct pollfd fds[32];

    if (rig->is_virtual) {
        uint64_t next_ns = rig->ends[at]->ops->next_event_ns(rig->ends[at]);
        co_loopback_advance(rig->hub, next_ns);
        return next_ns != 0;
    }
    int count = rig->ends[at]->ops->descriptors(rig->ends[at], fds, 32, 0);
    assert_true(count > 0);
    return poll(fds, (nfds_t)count, RIG_WAIT_MS) > 0;
}

void rig_receive(struct transport_rig *rig, unsigned at, unsigned count)
{
    memset(&rig_inbox, 0, sizeof rig_inbox);
    for (;;) {
        rig_poll(rig, at, 64);
        if (rig_inbox.count >= count) {
            break;
        }
        if (!rig_wait(rig, at)) {
            fail_msg("%s: end %u received %u of %u datagrams", rig->name, at, rig_inbox.count, count);
        }
    }
    assert_int_equal(rig_inbox.wrong, 0);
}

bool rig_received(uint32_t number)
{
    for (unsigned i = 0; i < rig_inbox.count; i++) {
        if (rig_inbox.numbers[i] == number) {
            return true;
        }
    }
    return false;
}

uint32_t rig_immediate(uint32_t number)
{
    return ~number;
}

// The transport may not look at it any more.
static void spoil(struct rig_lent *lent)
{
    memset(lent->bytes, 0xee, lent->room);
    free(lent->bytes);
    *lent = (struct rig_lent){0};
}

void rig_take_back(struct transport_rig *rig, bool by_force)
{
    for (struct rig_lent *lent = rig->lent; lent < rig->lent + RIG_LENT_MAX; lent++) {
        struct co_transport *end = lent->bytes ? rig->ends[lent->end] : NULL;
        if (end && lent->region && (by_force || !end->ops->region_is_busy(end, lent->region))) {
            end->ops->region_close(end, lent->region);
            spoil(lent);
        }
    }
}

// Room for a batch, in a region where the transport wants one: then it stays with the rig until it is idle.
static struct rig_lent *lend(struct transport_rig *rig, unsigned from, size_t room)
{
    struct co_transport *end = rig->ends[from];
    struct rig_lent *lent = rig->lent;

    rig_take_back(rig, false);
    while (lent->bytes) {
        assert_true(++lent < rig->lent + RIG_LENT_MAX);
    }
    *lent = (struct rig_lent){.bytes = calloc(1, room), .room = room, .end = from};
    assert_non_null(lent->bytes);
    if (end->ops->region_open && end->ops->region_open(end, &lent->region, lent->bytes, room, false)) {
        assert_null(lent->region); // only given when there is one
    }
    return lent;
}

int rig_send(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t first, unsigned count,
             size_t size, size_t last_size)
{
    struct co_tx_datagram batch[RIG_BATCH_MAX];
    struct rig_lent *lent = lend(rig, from, RIG_BATCH_MAX * (size + 1));
    uint8_t pieces[RIG_BATCH_MAX][40]; // heads and tails may change at once

    for (unsigned i = 0; i < count; i++) {
        uint8_t *datagram = lent->bytes + i * size;
        size_t all = i + 1 == count ? last_size : size, head = all < 24 ? all : 24;
        size_t tail = all - head < 16 ? 0 : 16;
        rig_fill(datagram, first + i, all);
        memcpy(pieces[i], datagram, head);
        memcpy(pieces[i] + 24, datagram + all - tail, tail);
        batch[i] = (struct co_tx_datagram){
            .head = pieces[i],
            .head_bytes = (uint32_t)head,
            .payload = datagram + head,
            .payload_bytes = (uint32_t)(all - head - tail),
            .tail = pieces[i] + 24,
            .tail_bytes = (uint32_t)tail,
            .region = lent->region,
            .immediate = rig_immediate(first + i),
        };
    }
    int result = rig->ends[from]->ops->send(rig->ends[from], to, batch, count);
    memset(pieces, 0xee, sizeof pieces);
    if (!lent->region) {
        spoil(lent);
    }
    return result;
}

void rig_send_all(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t first, unsigned count,
                  size_t size)
{
    for (unsigned sent = 0; sent < count;) {
        int result = rig_send(rig, from, to, first + sent, count - sent, size, size);
        assert_in_range(result, 0, count - sent);
        sent += (unsigned)result;
        assert_true(sent == count || result > 0 || rig_wait(rig, from));
    }
}

void rig_send_one(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t number)
{
    assert_int_equal(rig_send(rig, from, to, number, 1, 64, 64), 1);
}

void rig_join(struct transport_rig *rig, unsigned at, unsigned index)
{
    assert_int_equal(rig->ends[at]->ops->join(rig->ends[at], index), 0);
}

int rig_set_up(void **state)
{
    struct transport_rig *rig = *state;
    return rig->open(rig) ? 0 : -1;
}

int rig_take_down(void **state)
{
    struct transport_rig *rig = *state;
    rig_take_back(rig, true);
    for (unsigned i = 0; i < RIG_ENDS; i++) {
        if (rig->ends[i]) {
            rig->ends[i]->ops->close(rig->ends[i]);
            rig->ends[i] = NULL;
        }
    }
    if (rig->hub) {
        co_loopback_hub_close(rig->hub);
        rig->hub = NULL;
    }
    return 0;
}
