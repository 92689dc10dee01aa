// SPDX-License-Identifier: BSD-3-Clause
//
// Payload straight to its place: the pieces of a message lead heads and tails to the message's slot, each to where it
// would stand in the whole message, and payload to where it goes. What came otherwise than expected is put together in
// the slot again before anything is delivered, because it may stand where something else belongs. How many messages in
// a row come as expected is learnt: behind an adapter that joins datagrams as it likes only the first one's start is
// known. Hot; called by whoever holds the engine.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "transport/udp/udp_state.h"

#define PAUSE 4 // receives, after one that brought nothing expected

int co_udp_land(struct co_transport *transport, const struct co_lander *lander)
{
    ((struct co_udp *)transport)->receiver.landings.lander = lander;
    return 0;
}

static size_t full_bytes(const struct co_landing *landing)
{
    return (size_t)landing->head_bytes + landing->payload_bytes + landing->tail_bytes;
}

static uint32_t places(const struct co_landing *landing)
{
    return (uint32_t)((landing->bytes + landing->payload_bytes - 1) / landing->payload_bytes);
}

static uint8_t *payload_of(const struct co_landing *landing, uint32_t place)
{
    return landing->at + (size_t)place * landing->payload_bytes;
}

static size_t payload_bytes(const struct co_landing *landing, uint32_t place)
{
    size_t start = (size_t)place * landing->payload_bytes, left = landing->bytes - start;
    return left < landing->payload_bytes ? left : landing->payload_bytes;
}

// Head, payload, tail and next head, payload, ... and a last piece with room for all that is more than expected.
static void aim(struct co_udp_landings *landings, unsigned index, uint8_t *slot)
{
    const struct co_landing *landing = &landings->landing;
    struct co_udp_aim *aim = &landings->aims[index];
    struct iovec *piece = landings->pieces[index];
    uint8_t *start = slot;
    size_t bytes = landing->head_bytes;
    for (unsigned i = 0; i < aim->datagrams; i++) {
        size_t payload = payload_bytes(landing, aim->place + i);
        *piece++ = (struct iovec){.iov_base = start, .iov_len = bytes};
        *piece++ = (struct iovec){.iov_base = payload_of(landing, aim->place + i), .iov_len = payload};
        start += bytes + payload;
        bytes = landing->tail_bytes + landing->head_bytes;
    }
    *piece++ = (struct iovec){.iov_base = start, .iov_len = (size_t)(slot + CO_UDP_SLOT_BYTES - start)};
    aim->pieces = (unsigned)(piece - landings->pieces[index]);
}

static unsigned datagrams_of(const struct co_landing *landing, unsigned index, uint32_t place)
{
    unsigned count = index == 0 ? landing->first_batch : landing->batch;
    uint32_t left = places(landing) - place;
    return left < count ? left : count;
}

void co_udp_landings_aim(struct co_udp_receiver *receiver, int socket, unsigned messages, void *arg)
{
    struct co_udp_landings *landings = &receiver->landings;
    const struct co_landing *landing = &landings->landing;
    landings->count = 0;
    if (socket == CO_UDP_UNICAST || landings->lander == NULL ||
        !landings->lander->expects(arg, (unsigned)socket, &landings->landing)) {
        return;
    }
    if (landings->pause > 0) {
        landings->pause--;
        return;
    }
    unsigned most = messages < landings->most ? messages : landings->most;
    size_t room = CO_UDP_SLOT_BYTES / full_bytes(landing);
    for (uint32_t place = 0; landings->count < most && place < places(landing);) {
        unsigned index = landings->count, count = datagrams_of(landing, index, place);
        if (count > CO_UDP_SEGMENTS_MAX || count > room) {
            break;
        }
        landings->aims[index] = (struct co_udp_aim){.place = place, .datagrams = count};
        aim(landings, index, receiver->pieces[index].iov_base);
        struct msghdr *head = &receiver->messages[index].msg_hdr;
        head->msg_iov = landings->pieces[index];
        head->msg_iovlen = landings->aims[index].pieces;
        place += count;
        landings->count++;
    }
}

// Datagrams of an aimed message that have come where they go: all of them, or none.
static bool is_as_expected(const struct co_udp_landings *landings, const struct co_udp_aim *aim,
                           struct mmsghdr *message, const uint8_t *slot, void *arg)
{
    const struct co_landing *landing = &landings->landing;
    size_t bytes = message->msg_len, segment = co_udp_segment_bytes(message);
    if (bytes == 0 || (bytes > segment && segment != full_bytes(landing))) {
        return false;
    }
    unsigned count = 0;
    for (size_t at = 0; at < bytes && count < aim->datagrams; at += segment, count++) {
        size_t size = bytes - at < segment ? bytes - at : segment;
        if (size != full_bytes(landing) - landing->payload_bytes + payload_bytes(landing, aim->place + count) ||
            !landings->lander->is_expected(arg, slot + at, size, aim->place + count)) {
            return false;
        }
    }
    return true;
}

// The message, as it came, in its slot.
static void put_together(const struct co_udp_landings *landings, unsigned index, size_t bytes, uint8_t *slot)
{
    const struct iovec *pieces = landings->pieces[index];
    size_t at = 0;
    for (unsigned i = 0; i < landings->aims[index].pieces && at < bytes; i++) {
        size_t size = bytes - at < pieces[i].iov_len ? bytes - at : pieces[i].iov_len;
        if (i % 2 == 1) {
            co_memory_copy(slot + at, pieces[i].iov_base, size);
        }
        at += size;
    }
}

static void learn(struct co_udp_landings *landings, unsigned aimed, unsigned expected)
{
    if (expected == aimed) {
        unsigned more = 2 * expected < CO_UDP_LANDINGS ? 2 * expected : CO_UDP_LANDINGS;
        landings->most = more > landings->most ? more : landings->most;
    } else {
        landings->most = expected > 0 ? expected : 1;
        landings->pause = expected > 0 ? 0 : PAUSE;
    }
}

void co_udp_landings_settle(struct co_udp_receiver *receiver, int received, void *arg)
{
    struct co_udp_landings *landings = &receiver->landings;
    unsigned messages = received > 0 ? (unsigned)received : 0;
    unsigned aimed = landings->count < messages ? landings->count : messages, expected = 0;
    for (unsigned i = 0; i < landings->count; i++) {
        struct mmsghdr *message = &receiver->messages[i];
        uint8_t *slot = receiver->pieces[i].iov_base;
        message->msg_hdr.msg_iov = &receiver->pieces[i];
        message->msg_hdr.msg_iovlen = 1;
        if (i >= aimed) {
            continue;
        }
        if (is_as_expected(landings, &landings->aims[i], message, slot, arg)) {
            expected++;
        } else {
            put_together(landings, i, message->msg_len, slot);
            landings->aims[i].datagrams = 0;
        }
    }
    if (aimed > 0) {
        learn(landings, aimed, expected);
    } else if (received == -EFAULT && landings->count > 0) {
        learn(landings, 1, 0); // it cannot be written there: a few receives go to the slots
    }
}

bool co_udp_landings_deliver(struct co_udp_receiver *receiver, unsigned index, struct co_udp_taken *taken,
                             co_deliver_fn deliver, void *arg)
{
    struct co_udp_landings *landings = &receiver->landings;
    if (index >= landings->count || landings->aims[index].datagrams == 0) {
        return false;
    }
    const struct co_udp_aim *aim = &landings->aims[index];
    struct mmsghdr *message = &receiver->messages[index];
    const uint8_t *slot = receiver->pieces[index].iov_base;
    size_t bytes = message->msg_len, segment = co_udp_segment_bytes(message);
    struct co_arrival arrivals[CO_UDP_SEGMENTS_MAX];
    unsigned count = 0;
    size_t at = 0;
    for (; at < bytes && count < aim->datagrams; at += segment, count++) {
        size_t size = bytes - at < segment ? bytes - at : segment;
        __builtin_prefetch(slot + at);
        arrivals[count] =
            (struct co_arrival){.data = slot + at, .bytes = (uint32_t)size, .immediate = aim->place + count};
    }
    taken->datagrams += count;
    taken->bytes += at < bytes ? at : bytes;
    landings->lander->deliver(arg, arrivals, count);
    if (at < bytes) {
        co_udp_segments_deliver(slot + at, bytes - at, segment, taken, deliver, arg);
    }
    return true;
}
