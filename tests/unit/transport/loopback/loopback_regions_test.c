// SPDX-License-Identifier: BSD-3-Clause
//
// The loopback transport with the manners of verbs: it is of use only if it really does what a device would do to those
// who are careless with their memory.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "transport/loopback/loopback.h"

struct net {
    struct co_loopback_hub *hub;
    struct co_transport *from, *to;
    uint64_t start_ns;
    uint8_t bytes[1000];      // what is sent, a datagram of it
    struct co_region *region; // that they stand in, NULL: in none
    unsigned seen[256];       // by the first byte
};

static const struct co_destination to_peer_1 = {CO_TO_PEER, 1};

// A byte takes a nanosecond.
static void open_net(struct net *net, unsigned regions_max)
{
    *net = (struct net){.region = NULL};
    struct co_loopback_config config = {.endpoints = 2,
                                        .max_datagram_bytes = 1000,
                                        .bytes_per_s = 1000000000,
                                        .like_verbs = true,
                                        .regions_max = regions_max};

    assert_int_equal(co_loopback_hub_open(&net->hub, &config), 0);
    assert_int_equal(co_loopback_endpoint_open(&net->from, net->hub, 0), 0);
    assert_int_equal(co_loopback_endpoint_open(&net->to, net->hub, 1), 0);
    net->start_ns = co_loopback_now_ns(net->hub);
    net->bytes[0] = 1;
}

static void close_net(struct net *net)
{
    net->from->ops->close(net->from);
    net->to->ops->close(net->to);
    co_loopback_hub_close(net->hub);
}

static struct co_region *region_of(struct net *net, const void *start, size_t bytes)
{
    struct co_region *region = NULL;
    assert_int_equal(net->from->ops->region_open(net->from, &region, start, bytes, false), 0);
    return region;
}

// What is sent stands in a region.
static void open_net_with_region(struct net *net)
{
    open_net(net, 0);
    net->region = region_of(net, net->bytes, sizeof net->bytes);
}

static int send_many(struct net *net, unsigned count)
{
    struct co_tx_datagram batch[40];
    for (unsigned i = 0; i < count; i++) {
        batch[i] =
            (struct co_tx_datagram){.payload = net->bytes, .payload_bytes = sizeof net->bytes, .region = net->region};
    }
    return net->from->ops->send(net->from, to_peer_1, batch, count);
}

static void count_first_bytes(void *arg, const uint8_t *data, size_t bytes, uint32_t immediate)
{
    struct net *net = arg;
    (void)bytes, (void)immediate;
    net->seen[data[0]]++;
}

static int receive(struct net *net)
{
    return net->to->ops->poll(net->to, 10, DELIVER_EACH(count_first_bytes, net));
}

static void payload_is_read_when_it_leaves(void **state)
{
    (void)state;
    struct net net;

    open_net_with_region(&net);
    assert_int_equal(send_many(&net, 2), 2);
    co_loopback_advance(net.hub, net.start_ns + 1000);
    assert_true(net.from->ops->region_is_busy(net.from, net.region));
    net.bytes[0] = 2; // too early: the second datagram is still to leave
    co_loopback_advance(net.hub, net.start_ns + 2000);
    assert_false(net.from->ops->region_is_busy(net.from, net.region));
    net.bytes[0] = 3;
    assert_int_equal(receive(&net), 2);
    assert_int_equal(net.seen[1], 1);
    assert_int_equal(net.seen[2], 1);
    net.from->ops->region_close(net.from, net.region);
    close_net(&net);
}

static void outside_of_regions_it_is_copied_at_once(void **state)
{
    (void)state;
    struct net net;

    open_net(&net, 0);
    assert_int_equal(send_many(&net, 2), 2);
    net.bytes[0] = 2;
    co_loopback_advance(net.hub, net.start_ns + 2000);
    assert_int_equal(receive(&net), 2);
    assert_int_equal(net.seen[1], 2);
    assert_int_equal(co_loopback_payloads(net.hub).copied, 2);
    assert_int_equal(co_loopback_payloads(net.hub).from_regions, 0);
    close_net(&net);
}

static void closing_a_busy_region_breaks_the_transport(void **state)
{
    (void)state;
    struct net net;

    open_net_with_region(&net);
    assert_int_equal(send_many(&net, 3), 3);
    co_loopback_advance(net.hub, net.start_ns + 1000);
    net.from->ops->region_close(net.from, net.region);
    net.region = NULL;
    co_loopback_advance(net.hub, net.start_ns + 3000);
    assert_int_equal(receive(&net), 1);
    assert_int_equal(send_many(&net, 1), -EIO);
    assert_int_equal(net.from->ops->poll(net.from, 1, DELIVER_EACH(count_first_bytes, &net)), -EIO);
    close_net(&net);
}

static void the_send_queue_has_few_places(void **state)
{
    (void)state;
    struct net net;

    open_net(&net, 0);
    assert_int_equal(net.from->max_batch, CO_LOOPBACK_BATCH);
    for (unsigned taken = 0; taken < CO_LOOPBACK_SLOTS; taken += CO_LOOPBACK_BATCH) {
        assert_int_equal(send_many(&net, 40), CO_LOOPBACK_BATCH);
    }
    assert_int_equal(send_many(&net, 40), 0);
    assert_int_equal(net.from->ops->next_event_ns(net.from), net.start_ns + 1000); // a place is free
    co_loopback_advance(net.hub, net.start_ns + 3000);
    assert_int_equal(send_many(&net, 40), 3);
    close_net(&net);
}

static void not_everything_may_be_a_region(void **state)
{
    (void)state;
    struct net net;
    uint8_t bytes[2][CO_LOOPBACK_REGION_LEAST];
    struct co_region *none = NULL;

    open_net(&net, 1);
    struct co_region *region = region_of(&net, bytes[0], sizeof bytes[0]);
    assert_int_equal(net.from->ops->region_open(net.from, &none, bytes[1], sizeof bytes[1], true), -ENOMEM);
    net.from->ops->region_close(net.from, region);
    assert_int_equal(net.from->ops->region_open(net.from, &none, bytes[1], sizeof bytes[1] - 1, true), -ENOTSUP);
    assert_null(none);
    region = region_of(&net, bytes[1], sizeof bytes[1]);
    net.from->ops->region_close(net.from, region);
    close_net(&net);
}

static void a_killed_endpoint_reads_nothing_more(void **state)
{
    (void)state;
    struct net net;

    open_net_with_region(&net);
    assert_int_equal(send_many(&net, 2), 2);
    co_loopback_kill(net.hub, 0);
    assert_false(net.from->ops->region_is_busy(net.from, net.region));
    co_loopback_advance(net.hub, net.start_ns + 3000);
    assert_int_equal(receive(&net), 0);
    net.from->ops->region_close(net.from, net.region);
    close_net(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_is_read_when_it_leaves),
        cmocka_unit_test(outside_of_regions_it_is_copied_at_once),
        cmocka_unit_test(closing_a_busy_region_breaks_the_transport),
        cmocka_unit_test(the_send_queue_has_few_places),
        cmocka_unit_test(not_everything_may_be_a_region),
        cmocka_unit_test(a_killed_endpoint_reads_nothing_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
