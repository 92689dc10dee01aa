// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of datagram transports as tests: what every transport does.
#include "deliver_each.h"
#include "transport_contract.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
        rig_join(rig, i, 0);
    }
    rig_send_one(rig, 0, rig_group(0), 7);
    for (unsigned i = 0; i < RIG_ENDS; i++) {
        rig_receive(rig, i, 1); // the sender's own one too
        assert_int_equal(rig_inbox.numbers[0], 7);
        assert_int_equal(rig_inbox.count, 1);
    }
}

static void non_members_hear_nothing(void **state)
{
    struct transport_rig *rig = *state;

    rig_join(rig, 1, 0);
    rig_join(rig, 2, 1);
    rig_send_one(rig, 0, rig_group(0), 1);
    rig_send_one(rig, 0, rig_peer(2), 2); // what went to the group would be there by then
    rig_receive(rig, 1, 1);
    rig_receive(rig, 2, 1);
    assert_int_equal(rig_inbox.count, 1);
    assert_int_equal(rig_inbox.numbers[0], 2);
}

static void join_twice_is_join_once(void **state)
{
    struct transport_rig *rig = *state;

    rig_join(rig, 1, 3);
    rig_join(rig, 1, 3);
    rig_send_one(rig, 0, rig_group(3), 1);
    rig_send_one(rig, 0, rig_peer(1), 2);
    rig_receive(rig, 1, 2);
    assert_int_equal(rig_inbox.count, 2);
    rig->ends[1]->ops->leave(rig->ends[1], 3);
    rig_send_one(rig, 0, rig_group(3), 3);
    rig_send_one(rig, 0, rig_peer(1), 4);
    rig_receive(rig, 1, 1);
    assert_int_equal(rig_inbox.count, 1);
    assert_int_equal(rig_inbox.numbers[0], 4);
    rig->ends[1]->ops->leave(rig->ends[1], 3); // not a member: nothing happens
    rig_join(rig, 1, 3);
    rig_send_one(rig, 0, rig_group(3), 5);
    rig_receive(rig, 1, 1);
    assert_int_equal(rig_inbox.numbers[0], 5);
}

static void sixteen_groups_are_apart(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned index = 0; index < 16; index++) {
        rig_join(rig, 1, index);
        if (index % 2) {
            rig_join(rig, 2, index);
        }
    }
    for (unsigned index = 0; index < 16; index++) {
        rig_send_one(rig, 0, rig_group(index), 100 + index);
    }
    rig_receive(rig, 1, 16);
    assert_int_equal(rig_inbox.count, 16);
    rig_receive(rig, 2, 8);
    assert_int_equal(rig_inbox.count, 8);
    for (unsigned index = 0; index < 16; index++) {
        assert_int_equal(rig_received(100 + index), index % 2);
    }
    assert_int_equal(rig->ends[1]->ops->join(rig->ends[1], 16), -EINVAL);
    rig->ends[1]->ops->leave(rig->ends[1], 16);
}

static void every_size_arrives_whole(void **state)
{
    struct transport_rig *rig = *state;
    size_t max = rig->ends[0]->max_datagram_bytes;
    size_t sizes[] = {1, 2, 3, 4, 5, 23, 24, 25, 39, 40, 41, 63, 64, max / 2, max - 1, max, 0};

    rig_join(rig, 1, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        assert_int_equal(rig_send(rig, 0, i % 2 ? rig_group(0) : rig_peer(1), 9, 1, sizes[i], sizes[i]), 1);
        rig_receive(rig, 1, 1);
        assert_int_equal(rig_inbox.count, 1);
        assert_int_equal(rig_inbox.sizes[0], sizes[i]);
    }
}

static void batches_keep_their_boundaries(void **state)
{
    struct transport_rig *rig = *state;
    static const unsigned counts[] = {1, 2, 3, 7, 43, 44, 45, 46, 63, 64};
    size_t max = rig->ends[0]->max_datagram_bytes < 9000 ? rig->ends[0]->max_datagram_bytes : 9000;
    size_t sizes[] = {5, 64, 1000, max};

    rig_join(rig, 1, 0);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t j = 0; j < 2 * sizeof sizes / sizeof sizes[0]; j++) {
            size_t size = sizes[j / 2] < max ? sizes[j / 2] : max, last = j % 2 ? size : (size + 4) / 2;
            unsigned sent = 0, seen = 0;
            while (sent < counts[i]) {
                int result = rig_send(rig, 0, j % 3 ? rig_group(0) : rig_peer(1), sent, counts[i] - sent, size, last);
                assert_in_range(result, 0, counts[i] - sent);
                sent += (unsigned)result;
                rig_receive(rig, 1, (unsigned)result);
                for (unsigned k = 0; k < rig_inbox.count; k++, seen++) {
                    assert_true(rig_received(seen));
                    assert_int_equal(rig_inbox.sizes[k], rig_inbox.numbers[k] + 1 == counts[i] ? last : size);
                }
                if (result == 0) {
                    assert_true(rig_wait(rig, 0)); // only virtual networks fill up here
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
    rig_join(rig, 1, 0);
    while (seen < ALL) {
        unsigned count = ALL - sent < RIG_BATCH_MAX ? ALL - sent : RIG_BATCH_MAX;
        if (count > 0) {
            int result = rig_send(rig, 0, rig_group(0), sent, count, 200, 200);
            assert_in_range(result, 0, count);
            sent += (unsigned)result;
        }
        memset(&rig_inbox, 0, sizeof rig_inbox);
        rig_poll(rig, 1, 64);
        for (unsigned i = 0; i < rig_inbox.count; i++, seen++) {
            assert_true(rig_inbox.numbers[i] < sent);
            assert_int_equal(times[rig_inbox.numbers[i]]++, 0);
        }
        if (rig_inbox.count == 0 && seen < sent) {
            assert_true(rig_wait(rig, 1));
        }
    }
    assert_int_equal(seen, sent);
}

static void budget_bounds_a_poll(void **state)
{
    struct transport_rig *rig = *state;

    for (unsigned i = 0; i < 200; i++) { // one by one, so that no network can join them
        while (rig_send(rig, 0, rig_peer(1), i, 1, 64, 64) == 0) {
            assert_true(rig_wait(rig, 0));
        }
    }
    if (rig->is_virtual) {
        co_loopback_advance(rig->hub, co_loopback_now_ns(rig->hub) + 1000000000);
    }
    memset(&rig_inbox, 0, sizeof rig_inbox);
    while (rig_inbox.count < 200) {
        int result = rig_poll(rig, 1, 8);
        assert_true(result <= (int)(8 + rig->budget_slack));
        if (result == 0) {
            assert_true(rig_wait(rig, 1));
        }
    }
    assert_int_equal(rig_poll(rig, 1, 8), 0);
}

static void descriptors_wake_a_sleeper(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[1];
    struct pollfd fds[32];

    if (rig->is_virtual) {
        assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 0);
        rig_send_one(rig, 0, rig_peer(1), 1);
        assert_true(end->ops->next_event_ns(end) > co_loopback_now_ns(rig->hub));
        return;
    }
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 1);
    rig_join(rig, 1, 0);
    rig_join(rig, 1, 5);
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 3);
    assert_int_equal(end->ops->descriptors(end, fds, 2, 0), 2);
    assert_int_equal(end->ops->descriptors(end, fds, 0, 0), 0);
    assert_int_equal(end->ops->descriptors(end, fds, 32, 0), 3);
    assert_int_equal(poll(fds, 3, 0), 0); // quiet
    const struct co_destination ways[] = {rig_peer(1), rig_group(0), rig_group(5)};
    for (unsigned i = 0; i < 3; i++) {
        rig_send_one(rig, 0, ways[i], i);
        assert_int_equal(poll(fds, 3, RIG_WAIT_MS), 1);
        rig_receive(rig, 1, 1);
        assert_int_equal(rig_inbox.numbers[0], i);
        assert_int_equal(poll(fds, 3, 0), 0);
    }
    assert_int_equal(end->ops->descriptors(end, fds, 32, 1), 3);
    assert_int_equal(poll(fds, 3, RIG_WAIT_MS), 1); // there is room to send
}

static void unknown_destinations_are_refused(void **state)
{
    struct transport_rig *rig = *state;
    size_t max = rig->ends[0]->max_datagram_bytes;

    assert_int_equal(rig_send(rig, 0, rig_peer(RIG_ENDS), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(rig_send(rig, 0, rig_peer(UINT32_MAX), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(rig_send(rig, 0, rig_group(16), 1, 1, 64, 64), -EINVAL);
    assert_int_equal(rig_send(rig, 0, rig_peer(1), 1, 1, max + 1, max + 1), -EMSGSIZE);
    rig_send_one(rig, 0, rig_peer(1), 3); // and it still works
    rig_receive(rig, 1, 1);
    assert_int_equal(rig_inbox.numbers[0], 3);
}

static void own_address_is_a_peer_too(void **state)
{
    struct transport_rig *rig = *state;

    rig_send_one(rig, 0, rig_peer(0), 5);
    rig_receive(rig, 0, 1);
    assert_int_equal(rig_inbox.numbers[0], 5);
}

static int await_refusal(struct transport_rig *rig)
{
    struct co_transport *end = rig->ends[0];
    int refused;
    while ((refused = end->ops->refused_peer(end)) == -1) {
        assert_true(rig_wait(rig, 0));
        rig_poll(rig, 0, 8);
    }
    return refused;
}

// A hint each time something else is sent; nothing is kept back for it, and nobody counts as dead.
static void each_refusal_is_told_once(void **state)
{
    struct transport_rig *rig = *state;
    struct co_transport *end = rig->ends[0];

    rig_send_one(rig, 0, rig_peer(1), 1);
    rig_receive(rig, 1, 1);
    assert_int_equal(end->ops->refused_peer(end), -1);
    rig->ends[1]->ops->close(rig->ends[1]);
    rig->ends[1] = NULL;
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(rig_send(rig, 0, rig_peer(1), 2 + i, 1, 64, 64), 1);
        assert_int_equal(await_refusal(rig), 1);
        assert_int_equal(end->ops->refused_peer(end), -1);
    }
    assert_int_equal(end->ops->dead_peer(end), -1);
    rig_send_one(rig, 0, rig_peer(2), 4); // the others are as before
    rig_receive(rig, 2, 1);
    assert_int_equal(rig_inbox.numbers[0], 4);
}

static void death_does_not_spoil_sends_to_others(void **state)
{
    struct transport_rig *rig = *state;

    rig_join(rig, 2, 0);
    rig->ends[1]->ops->close(rig->ends[1]);
    rig->ends[1] = NULL;
    for (uint32_t i = 0; i < 20; i++) {
        int result = rig_send(rig, 0, rig_peer(1), 1000, 1, 64, 64);
        assert_true(result >= 0);
        rig_send_one(rig, 0, i % 2 ? rig_peer(2) : rig_group(0), i);
        rig_receive(rig, 2, 1);
        assert_int_equal(rig_inbox.numbers[0], i);
    }
}

struct echo {
    struct transport_rig *rig;
    unsigned count;
};

static void answer(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    (void)immediate;
    struct echo *echo = arg;
    struct co_tx_datagram datagram = {.head = data, .head_bytes = (uint32_t)size};

    echo->count++;
    assert_int_equal(echo->rig->ends[1]->ops->send(echo->rig->ends[1], rig_peer(0), &datagram, 1), 1);
}

static void receivers_may_answer_at_once(void **state)
{
    struct transport_rig *rig = *state;
    struct echo echo = {.rig = rig};

    rig_send_all(rig, 0, rig_peer(1), 0, 10, 64);
    while (echo.count < 10) {
        assert_true(rig_wait(rig, 1));
        rig->ends[1]->ops->poll(rig->ends[1], 64, DELIVER_EACH(answer, &echo));
    }
    rig_receive(rig, 0, 10);
    for (uint32_t i = 0; i < 10; i++) {
        assert_true(rig_received(i));
    }
}

static void leave_all(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    struct echo *echo = arg;
    struct co_transport *end = echo->rig->ends[1];

    (void)data, (void)size, (void)immediate;
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
        rig_join(rig, 1, index);
        assert_int_equal(rig_send(rig, 0, rig_group(index), 0, 3, 64, 64), 3);
    }
    rig_send_one(rig, 0, rig_peer(1), 77);
    while (echo.count == 0) {
        assert_true(rig_wait(rig, 1));
        assert_true(rig->ends[1]->ops->poll(rig->ends[1], 64, DELIVER_EACH(leave_all, &echo)) >= 0);
    }
    rig_send_one(rig, 0, rig_group(1), 78);
    rig_send_one(rig, 0, rig_peer(1), 79);
    for (memset(&rig_inbox, 0, sizeof rig_inbox); !rig_received(79);) { // what had arrived before may still come
        assert_true(rig_wait(rig, 1));
        rig_poll(rig, 1, 64);
    }
    assert_false(rig_received(78));
}

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
        ON_RIG(each_refusal_is_told_once),
        ON_RIG(death_does_not_spoil_sends_to_others),
        ON_RIG(receivers_may_answer_at_once),
        ON_RIG(receivers_may_leave_at_once),
    };
    return cmocka_run_group_tests_name(rig->name, tests, NULL, NULL) + transport_contract_offers_run(rig);
}
