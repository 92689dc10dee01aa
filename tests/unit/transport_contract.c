// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of datagram transports as tests. Waiting is done on the transport's own descriptors (or by moving its
// virtual clock), with a bound that only a fault can reach.
#include "transport_contract.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WAIT_MS 10000
#define INBOX_MAX 4096
#define BATCH_MAX 64

// What one end received: numbers and sizes; contents are judged on arrival.
struct inbox {
    unsigned count, wrong;
    uint32_t numbers[INBOX_MAX];
    size_t sizes[INBOX_MAX];
};

static struct inbox inbox;

static struct co_destination group(unsigned index)
{
    return (struct co_destination){CO_TO_GROUP, index};
}

static struct co_destination peer(unsigned rank)
{
    return (struct co_destination){CO_TO_PEER, rank};
}

// Byte `at` of datagram `number`; the first four bytes of longer ones are the number itself.
static uint8_t content(uint32_t number, size_t at)
{
    return at < 4 ? (uint8_t)(number >> (8 * at)) : (uint8_t)(number * 131 + at * 7);
}

static void fill(uint8_t *bytes, uint32_t number, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        bytes[at] = content(number, at);
    }
}

static void take(void *arg, const uint8_t *data, size_t size)
{
    struct inbox *to = arg;
    uint32_t number = 0;

    if (size >= 4) {
        number = data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
    }
    for (size_t at = 4; at < size; at++) {
        to->wrong += data[at] != content(number, at);
    }
    assert_true(to->count < INBOX_MAX);
    to->sizes[to->count] = size;
    to->numbers[to->count++] = number;
}

static int poll_end(struct transport_rig *rig, unsigned at, unsigned budget)
{
    unsigned before = inbox.count;
    int result = rig->ends[at]->ops->poll(rig->ends[at], budget, take, &inbox);

    assert_true(result >= 0);
    assert_int_equal(result, inbox.count - before);
    return result;
}

// Lets time pass until the end may have something to do. False: nothing can come any more.
static bool wait_end(struct transport_rig *rig, unsigned at)
{
    struct pollfd fds[32];

    if (rig->is_virtual) {
        uint64_t next_ns = rig->ends[at]->ops->next_event_ns(rig->ends[at]);
        co_loopback_advance(rig->hub, next_ns);
        return next_ns != 0;
    }
    int count = rig->ends[at]->ops->descriptors(rig->ends[at], fds, 32, 0);
    assert_true(count > 0);
    return poll(fds, (nfds_t)count, WAIT_MS) > 0;
}

// Receives until `count` datagrams are in the inbox; it starts empty.
static void receive(struct transport_rig *rig, unsigned at, unsigned count)
{
    memset(&inbox, 0, sizeof inbox);
    for (;;) {
        poll_end(rig, at, 64);
        if (inbox.count >= count) {
            break;
        }
        if (!wait_end(rig, at)) {
            fail_msg("%s: end %u received %u of %u datagrams", rig->name, at, inbox.count, count);
        }
    }
    assert_int_equal(inbox.wrong, 0);
}

static bool received(uint32_t number)
{
    for (unsigned i = 0; i < inbox.count; i++) {
        if (inbox.numbers[i] == number) {
            return true;
        }
    }
    return false;
}

// Sends datagrams first ... first + count - 1 of `size` bytes, the last of `last_size`, cut into three pieces.
static int send_batch(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t first,
                      unsigned count, size_t size, size_t last_size)
{
    struct co_tx_datagram batch[BATCH_MAX];
    uint8_t *bytes = calloc(BATCH_MAX, size + 1);

    assert_non_null(bytes);
    for (unsigned i = 0; i < count; i++) {
        uint8_t *datagram = bytes + i * size;
        size_t all = i + 1 == count ? last_size : size, head = all < 24 ? all : 24;
        size_t tail = all - head < 16 ? 0 : 16;
        fill(datagram, first + i, all);
        batch[i] = (struct co_tx_datagram){
            .head = datagram,
            .head_bytes = (uint32_t)head,
            .payload = datagram + head,
            .payload_bytes = (uint32_t)(all - head - tail),
            .tail = datagram + all - tail,
            .tail_bytes = (uint32_t)tail,
        };
    }
    int result = rig->ends[from]->ops->send(rig->ends[from], to, batch, count);
    memset(bytes, 0xee, BATCH_MAX * (size + 1)); // the transport may not look at them any more
    free(bytes);
    return result;
}

// One small datagram that must be accepted.
static void send_one(struct transport_rig *rig, unsigned from, struct co_destination to, uint32_t number)
{
    assert_int_equal(send_batch(rig, from, to, number, 1, 64, 64), 1);
}

static void join(struct transport_rig *rig, unsigned at, unsigned index)
{
    assert_int_equal(rig->ends[at]->ops->join(rig->ends[at], index), 0);
}

static void limits_make_sense(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned i = 0; i < RIG_ENDS; i++) {
        assert_in_range(rig->ends[i]->max_datagram_bytes, 64, 65507);
        assert_in_range(rig->ends[i]->max_batch, 1, 64);
        assert_non_null(rig->ends[i]->ops->name);
    }
}

static void all_members_of_one_host_hear_a_group(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned i = 0; i < RIG_ENDS; i++) {
        join(rig, i, 0);
    }
    send_one(rig, 0, group(0), 7);
    for (unsigned i = 0; i < RIG_ENDS; i++) {
        receive(rig, i, 1); // the sender's own one too
        assert_int_equal(inbox.numbers[0], 7);
        assert_int_equal(inbox.count, 1);
    }
}

static void non_members_hear_nothing(void **state)
{
    struct transport_rig *rig = *state;

    join(rig, 1, 0);
    join(rig, 2, 1);
    send_one(rig, 0, group(0), 1);
    send_one(rig, 0, peer(2), 2); // what went to the group would be there by then
    receive(rig, 1, 1);
    receive(rig, 2, 1);
    assert_int_equal(inbox.count, 1);
    assert_int_equal(inbox.numbers[0], 2);
}

static void join_twice_is_join_once(void **state)
{
    struct transport_rig *rig = *state;

    join(rig, 1, 3);
    join(rig, 1, 3);
    send_one(rig, 0, group(3), 1);
    send_one(rig, 0, peer(1), 2);
    receive(rig, 1, 2);
    assert_int_equal(inbox.count, 2);
    rig->ends[1]->ops->leave(rig->ends[1], 3);
    send_one(rig, 0, group(3), 3);
    send_one(rig, 0, peer(1), 4);
    receive(rig, 1, 1);
    assert_int_equal(inbox.count, 1);
    assert_int_equal(inbox.numbers[0], 4);
    rig->ends[1]->ops->leave(rig->ends[1], 3); // not a member: nothing happens
    join(rig, 1, 3);
    send_one(rig, 0, group(3), 5);
    receive(rig, 1, 1);
    assert_int_equal(inbox.numbers[0], 5);
}

static void sixteen_groups_are_apart(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned index = 0; index < 16; index++) {
        join(rig, 1, index);
        if (index % 2) {
            join(rig, 2, index);
        }
    }
    for (unsigned index = 0; index < 16; index++) {
        send_one(rig, 0, group(index), 100 + index);
    }
    receive(rig, 1, 16);
    assert_int_equal(inbox.count, 16);
    receive(rig, 2, 8);
    assert_int_equal(inbox.count, 8);
    for (unsigned index = 0; index < 16; index++) {
        assert_int_equal(received(100 + index), index % 2);
    }
    assert_int_equal(rig->ends[1]->ops->join(rig->ends[1], 16), -EINVAL);
    rig->ends[1]->ops->leave(rig->ends[1], 16);
}

static void every_size_arrives_whole(void **state)
{
    struct transport_rig *rig = *state;
    size_t max = rig->ends[0]->max_datagram_bytes;
    size_t sizes[] = {1, 2, 3, 4, 5, 23, 24, 25, 39, 40, 41, 63, 64, max / 2, max - 1, max, 0};

    join(rig, 1, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(send_batch(rig, 0, i % 2 ? group(0) : peer(1), 9, 1, sizes[i], sizes[i]), 1);
        receive(rig, 1, 1);
        assert_int_equal(inbox.count, 1);
        assert_int_equal(inbox.sizes[0], sizes[i]);
    }
}

static void batches_keep_their_boundaries(void **state)
{
    struct transport_rig *rig = *state;
    static const unsigned counts[] = {1, 2, 3, 7, 43, 44, 45, 46, 63, 64};
    size_t max = rig->ends[0]->max_datagram_bytes < 9000 ? rig->ends[0]->max_datagram_bytes : 9000;
    size_t sizes[] = {5, 64, 1000, max};

    join(rig, 1, 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < 2 * sizeof sizes / sizeof sizes[0]; j++) {
            size_t size = sizes[j / 2] < max ? sizes[j / 2] : max, last = j % 2 ? size : (size + 4) / 2;
            unsigned sent = 0, seen = 0;
            while (sent < counts[i]) {
                int result = send_batch(rig, 0, j % 3 ? group(0) : peer(1), sent, counts[i] - sent, size, last);
                assert_in_range(result, 0, counts[i] - sent);
                sent += (unsigned)result;
                receive(rig, 1, (unsigned)result);
                for (unsigned k = 0; k < inbox.count; k++, seen++) {
                    assert_true(received(seen));
                    assert_int_equal(inbox.sizes[k], inbox.numbers[k] + 1 == counts[i] ? last : size);
                }
                if (result == 0) {
                    assert_true(wait_end(rig, 0)); // only virtual networks fill up here
                }
            }
            assert_int_equal(seen, counts[i]);
        }
    }
}

// Whatever part of each batch is accepted: what was accepted arrives once, what was not never does.
static void accepted_means_sent_and_refused_not(void **state)
{
    enum { ALL = 3000 };
    struct transport_rig *rig = *state;
    static uint8_t times[ALL];
    unsigned sent = 0, seen = 0;

    memset(times, 0, sizeof times);
    join(rig, 1, 0);
    while (seen < ALL) {
        unsigned count = ALL - sent < BATCH_MAX ? ALL - sent : BATCH_MAX;
        if (count > 0) {
            int result = send_batch(rig, 0, group(0), sent, count, 200, 200);
            assert_in_range(result, 0, count);
            sent += (unsigned)result;
        }
        memset(&inbox, 0, sizeof inbox);
        poll_end(rig, 1, 64);
        for (unsigned i = 0; i < inbox.count; i++, seen++) {
            assert_true(inbox.numbers[i] < sent);
            assert_int_equal(times[inbox.numbers[i]]++, 0);
        }
        if (inbox.count == 0 && seen < sent) {
            assert_true(wait_end(rig, 1));
        }
    }
    assert_int_equal(seen, sent);
}

static void budget_bounds_a_poll(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned i = 0; i < 200; i++) { // one by one, so that no network can join them
        while (send_batch(rig, 0, peer(1), i, 1, 64, 64) == 0) {
            assert_true(wait_end(rig, 0));
        }
    }
    if (rig->is_virtual) {
        co_loopback_advance(rig->hub, co_loopback_now_ns(rig->hub) + 1000000000);
    }
    memset(&inbox, 0, sizeof inbox);
    while (inbox.count < 200) {
        int result = poll_end(rig, 1, 8);
        assert_true(result <= (int)(8 + rig->budget_slack));
        if (result == 0) {
            assert_true(wait_end(rig, 1));
        }
    }
    assert_int_equal(poll_end(rig, 1, 8), 0);
}

static void descriptors_wake_a_sleeper(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[1];
    struct pollfd fds[32];

    if (rig->is_virtual) {
        assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 0);
        send_one(rig, 0, peer(1), 1);
        assert_true(end->ops->next_event_ns(end) > co_loopback_now_ns(rig->hub));
        return;
    }
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 1);
    join(rig, 1, 0);
    join(rig, 1, 5);
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 3);
    assert_int_equal(end->ops->descriptors(end, fds, 2, 0), 2);
    assert_int_equal(end->ops->descriptors(end, fds, 0, 0), 0);
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 3);
    assert_int_equal(poll(fds, 3, 0), 0); // quiet
    const struct co_destination ways[] = {peer(1), group(0), group(5)};
    for (unsigned i = 0; i < 3; i++) {
        send_one(rig, 0, ways[i], i);
        assert_int_equal(poll(fds, 3, WAIT_MS), 1);
        receive(rig, 1, 1);
        assert_int_equal(inbox.numbers[0], i);
        assert_int_equal(poll(fds, 3, 0), 0);
    }
    assert_int_equal(end->ops->descriptors(end, fds, 32, 1), 3);
    assert_int_equal(poll(fds, 3, WAIT_MS), 1); // there is room to send
}

static void unknown_destinations_are_refused(void **state)
{
    struct transport_rig *rig = *state;
    size_t max = rig->ends[0]->max_datagram_bytes;

    assert_int_equal(send_batch(rig, 0, peer(RIG_ENDS), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(send_batch(rig, 0, peer(UINT32_MAX), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(send_batch(rig, 0, group(16), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(send_batch(rig, 0, peer(1), 1, 1, max + 1, max + 1), -EMSGSIZE);
    send_one(rig, 0, peer(1), 3); // and it still works
    receive(rig, 1, 1);
    assert_int_equal(inbox.numbers[0], 3);
}

static void own_address_is_a_peer_too(void **state)
{
    struct transport_rig *rig = *state;

    send_one(rig, 0, peer(0), 5);
    receive(rig, 0, 1);
    assert_int_equal(inbox.numbers[0], 5);
}

static void dead_peer_is_told_once(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[0];
    int dead = -1, results = 0;

    send_one(rig, 0, peer(1), 1);
    receive(rig, 1, 1);
    assert_int_equal(end->ops->dead_peer(end), -1);
    rig->ends[1]->ops->close(rig->ends[1]);
    rig->ends[1] = NULL;
    assert_in_range(results = send_batch(rig, 0, peer(1), 2, 1, 64, 64), 0, 1);
    while ((dead = end->ops->dead_peer(end)) == -1) {
        assert_true(wait_end(rig, 0));
        poll_end(rig, 0, 8);
    }
    assert_int_equal(dead, 1);
    assert_int_equal(send_batch(rig, 0, peer(1), 3, 2, 64, 64), -ECONNREFUSED);
    assert_int_equal(end->ops->dead_peer(end), -1);
    send_one(rig, 0, peer(2), 4); // the others are as before
    receive(rig, 2, 1);
    assert_int_equal(inbox.numbers[0], 4);
}

static void death_does_not_spoil_sends_to_others(void **state)
{
    struct transport_rig *rig = *state;

    join(rig, 2, 0);
    rig->ends[1]->ops->close(rig->ends[1]);
    rig->ends[1] = NULL;
    for (uint32_t i = 0; i < 20; i++) {
        int result = send_batch(rig, 0, peer(1), 1000, 1, 64, 64);
        assert_true(result >= 0 || result == -ECONNREFUSED);
        send_one(rig, 0, i % 2 ? peer(2) : group(0), i);
        receive(rig, 2, 1);
        assert_int_equal(inbox.numbers[0], i);
    }
}

struct echo {
    struct transport_rig *rig;
    unsigned count;
};

static void answer(void *arg, const uint8_t *data, size_t size)
{
    struct echo *echo = arg;
    struct co_tx_datagram datagram = {.head = data, .head_bytes = (uint32_t)size};

    echo->count++;
    assert_int_equal(echo->rig->ends[1]->ops->send(echo->rig->ends[1], peer(0), &datagram, 1), 1);
}

static void receivers_may_answer_at_once(void **state)
{
    struct transport_rig *rig = *state;
    struct echo echo = {.rig = rig};

    assert_int_equal(send_batch(rig, 0, peer(1), 0, 10, 64, 64), 10);
    while (echo.count < 10) {
        assert_true(wait_end(rig, 1));
        rig->ends[1]->ops->poll(rig->ends[1], 64, answer, &echo);
    }
    receive(rig, 0, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(received(i));
    }
}

static void leave_all(void *arg, const uint8_t *data, size_t size)
{
    struct echo *echo = arg;
    struct co_transport *end = echo->rig->ends[1];

    (void)data, (void)size;
    echo->count++;
    for (unsigned index = 0; index < 4; index++) {
        end->ops->leave(end, index);
    }
}

static void receivers_may_leave_at_once(void **state)
{
    struct transport_rig *rig = *state;
    struct echo echo = {.rig = rig};

    for (unsigned index = 0; index < 4; index++) {
        join(rig, 1, index);
        assert_int_equal(send_batch(rig, 0, group(index), 0, 3, 64, 64), 3);
    }
    send_one(rig, 0, peer(1), 77);
    while (echo.count == 0) {
        assert_true(wait_end(rig, 1));
        assert_true(rig->ends[1]->ops->poll(rig->ends[1], 64, leave_all, &echo) >= 0);
    }
    send_one(rig, 0, group(1), 78);
    send_one(rig, 0, peer(1), 79);
    for (memset(&inbox, 0, sizeof inbox); !received(79);) { // what had arrived before may still come
        assert_true(wait_end(rig, 1));
        poll_end(rig, 1, 64);
    }
    assert_false(received(78));
}

static int open_rig(void **state)
{
    struct transport_rig *rig = *state;
    return rig->open(rig) ? 0 : -1;
}

static int close_rig(void **state)
{
    transport_rig_close(*state);
    return 0;
}

void transport_rig_close(struct transport_rig *rig)
{
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
}

#define ON_RIG(test) {#test, test, open_rig, close_rig, rig}

int transport_contract_run(struct transport_rig *rig)
{
    const struct CMUnitTest tests[] = {
        ON_RIG(limits_make_sense),
        ON_RIG(all_members_of_one_host_hear_a_group),
        ON_RIG(non_members_hear_nothing),
        ON_RIG(join_twice_is_join_once),
        ON_RIG(sixteen_groups_are_apart),
        ON_RIG(every_size_arrives_whole),
        ON_RIG(batches_keep_their_boundaries),
        ON_RIG(accepted_means_sent_and_refused_not),
        ON_RIG(budget_bounds_a_poll),
        ON_RIG(descriptors_wake_a_sleeper),
        ON_RIG(unknown_destinations_are_refused),
        ON_RIG(own_address_is_a_peer_too),
        ON_RIG(dead_peer_is_told_once),
        ON_RIG(death_does_not_spoil_sends_to_others),
        ON_RIG(receivers_may_answer_at_once),
        ON_RIG(receivers_may_leave_at_once),
    };
    return cmocka_run_group_tests_name(rig->name, tests, NULL, NULL);
}
