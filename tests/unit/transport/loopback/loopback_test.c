// SPDX-License-Identifier: BSD-3-Clause
//
// What only the loopback transport has: virtual time, rates, bounded queues and killed endpoints. What it shares with
// the others is in transport_contract.c.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deliver_each.h"
#include "transport/loopback/loopback.h"

#define ENDPOINTS 3

struct net {
    struct co_loopback_hub *hub;
    struct co_transport *ends[ENDPOINTS];
};

static const struct co_destination to_peer_1 = {CO_TO_PEER, 1}, to_group_0 = {CO_TO_GROUP, 0};
static const uint8_t bytes[1000];

static struct net open_net(struct co_loopback_config config)
{
    struct net net = {0};

    config.endpoints = ENDPOINTS;
    config.max_datagram_bytes = sizeof bytes;
    assert_int_equal(co_loopback_hub_open(&net.hub, &config), 0);
    for (int i = 0; i < ENDPOINTS; i++) {
        assert_int_equal(co_loopback_endpoint_open(&net.ends[i], net.hub, i), 0);
    }
    return net;
}

static void close_net(struct net *net)
{
    for (int i = 0; i < ENDPOINTS; i++) {
        net->ends[i]->ops->close(net->ends[i]);
    }
    co_loopback_hub_close(net->hub);
}

static int send_many(struct net *net, int from, struct co_destination to, unsigned count, uint32_t size)
{
    struct co_tx_datagram batch[64];

    for (unsigned i = 0; i < count; i++) {
        batch[i] = (struct co_tx_datagram){.head = bytes, .head_bytes = size};
    }
    return net->ends[from]->ops->send(net->ends[from], to, batch, count);
}

static void ignore(void *arg, const uint8_t *data, size_t size, uint32_t immediate)
{
    (void)arg, (void)data, (void)size, (void)immediate;
}

static int receive(struct net *net, int at)
{
    return net->ends[at]->ops->poll(net->ends[at], 1000, DELIVER_EACH(ignore, NULL));
}

static void without_latency_it_arrives_at_once(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){0});

    assert_true(co_loopback_now_ns(net.hub) > 0);
    assert_int_equal(send_many(&net, 0, to_peer_1, 5, 10), 5);
    assert_int_equal(co_loopback_next_ns(net.hub), 0);
    assert_int_equal(receive(&net, 1), 5);
    close_net(&net);
}

static void latency_passes_on_the_virtual_clock(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.latency_ns = 5000});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 10), 1);
    assert_int_equal(co_loopback_next_ns(net.hub), start_ns + 5000);
    co_loopback_advance(net.hub, start_ns + 4999);
    assert_int_equal(receive(&net, 1), 0);
    co_loopback_advance(net.hub, start_ns + 5000);
    assert_int_equal(receive(&net, 1), 1);
    co_loopback_advance(net.hub, start_ns); // never backwards
    assert_int_equal(co_loopback_now_ns(net.hub), start_ns + 5000);
    close_net(&net);
}

static void rate_spaces_datagrams(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.bytes_per_s = 1000000000});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    assert_int_equal(send_many(&net, 0, to_peer_1, 3, 1000), 3);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(co_loopback_next_ns(net.hub), start_ns + (uint64_t)i * 1000);
        co_loopback_advance(net.hub, co_loopback_next_ns(net.hub));
        assert_int_equal(receive(&net, 1), 1);
    }
    close_net(&net);
}

static void who_was_idle_has_tokens(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.bytes_per_s = 1000000, .burst_bytes = 3000});

    co_loopback_advance(net.hub, 10000000);
    assert_int_equal(send_many(&net, 0, to_peer_1, 5, 1000), 5);
    assert_int_equal(receive(&net, 1), 3);
    co_loopback_advance(net.hub, 11000000);
    assert_int_equal(receive(&net, 1), 1);
    co_loopback_advance(net.hub, 12000000);
    assert_int_equal(receive(&net, 1), 1);
    close_net(&net);
}

static void who_was_idle_has_tokens_at_a_port(void **state)
{
    (void)state;
    struct net net = open_net(
        (struct co_loopback_config){.port_bytes_per_s = 1000000, .port_queue_bytes = 1000, .burst_bytes = 3000});

    co_loopback_advance(net.hub, 10000000);
    assert_int_equal(send_many(&net, 0, to_peer_1, 5, 1000), 5);
    co_loopback_advance(net.hub, 10000000);
    assert_int_equal(receive(&net, 1), 3);
    co_loopback_advance(net.hub, 11000000);
    assert_int_equal(receive(&net, 1), 1);
    assert_int_equal(co_loopback_overflows(net.hub), 1);
    close_net(&net);
}

static void two_senders_do_not_share_a_rate(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.bytes_per_s = 1000000000});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 1);
    assert_int_equal(send_many(&net, 2, to_peer_1, 1, 1000), 1);
    co_loopback_advance(net.hub, start_ns + 1000);
    assert_int_equal(receive(&net, 1), 2);
    close_net(&net);
}

static void full_egress_queue_takes_a_part(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.bytes_per_s = 1000000000, .egress_queue_bytes = 2500});
    uint64_t start_ns = co_loopback_now_ns(net.hub);

    assert_int_equal(send_many(&net, 0, to_peer_1, 10, 1000), 2);
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 0);
    assert_int_equal(co_loopback_next_ns(net.hub), start_ns + 500); // room for 1000 more
    co_loopback_advance(net.hub, start_ns + 499);
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 0);
    co_loopback_advance(net.hub, start_ns + 500);
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 1);
    co_loopback_advance(net.hub, start_ns + 3000);
    assert_int_equal(receive(&net, 1), 3);
    close_net(&net);
}

static void empty_egress_queue_takes_any_size(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.bytes_per_s = 1000000, .egress_queue_bytes = 10});

    assert_int_equal(send_many(&net, 0, to_peer_1, 2, 1000), 1);
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 0);
    co_loopback_advance(net.hub, co_loopback_next_ns(net.hub));
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 1);
    close_net(&net);
}

static void full_ingress_queue_drops(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.ingress_queue_bytes = 2999});

    assert_int_equal(net.ends[1]->receive_buffer_bytes, 2999);
    assert_int_equal(send_many(&net, 0, to_peer_1, 5, 1000), 5);
    assert_int_equal(receive(&net, 1), 2);
    assert_int_equal(send_many(&net, 0, to_peer_1, 1, 1000), 1);
    assert_int_equal(receive(&net, 1), 1);
    close_net(&net);
}

static void who_left_before_arrival_hears_nothing(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.latency_ns = 100});

    assert_int_equal(net.ends[1]->ops->join(net.ends[1], 0), 0);
    assert_int_equal(net.ends[2]->ops->join(net.ends[2], 0), 0);
    assert_int_equal(send_many(&net, 0, to_group_0, 1, 10), 1);
    net.ends[2]->ops->leave(net.ends[2], 0);
    co_loopback_advance(net.hub, co_loopback_next_ns(net.hub));
    assert_int_equal(receive(&net, 1), 1);
    assert_int_equal(receive(&net, 2), 0);
    close_net(&net);
}

static void killed_endpoint_is_silent_and_deaf(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){0});

    assert_int_equal(net.ends[1]->ops->join(net.ends[1], 0), 0);
    assert_int_equal(send_many(&net, 0, to_peer_1, 3, 10), 3);
    co_loopback_kill(net.hub, 1);
    assert_int_equal(receive(&net, 1), 0);
    assert_int_equal(send_many(&net, 1, (struct co_destination){CO_TO_PEER, 0}, 1, 10), 1);
    assert_int_equal(receive(&net, 0), 0);
    assert_int_equal(send_many(&net, 2, to_group_0, 1, 10), 1);
    assert_int_equal(net.ends[2]->ops->refused_peer(net.ends[2]), -1); // multicast tells nobody
    assert_int_equal(send_many(&net, 2, to_peer_1, 1, 10), 1);
    assert_int_equal(net.ends[2]->ops->refused_peer(net.ends[2]), 1);
    close_net(&net);
}

static void endpoints_open_once(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){0});
    struct co_transport *again = NULL;

    assert_int_equal(co_loopback_endpoint_open(&again, net.hub, 1), -EINVAL);
    assert_int_equal(co_loopback_endpoint_open(&again, net.hub, -1), -EINVAL);
    assert_int_equal(co_loopback_endpoint_open(&again, net.hub, ENDPOINTS), -EINVAL);
    close_net(&net);
}

static void what_is_in_flight_at_close_is_freed(void **state)
{
    (void)state;
    struct net net = open_net((struct co_loopback_config){.latency_ns = 1000000});

    assert_int_equal(send_many(&net, 0, to_peer_1, 64, 1000), 64);
    close_net(&net); // the address sanitizer judges
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_latency_it_arrives_at_once),
        cmocka_unit_test(latency_passes_on_the_virtual_clock),
        cmocka_unit_test(rate_spaces_datagrams),
        cmocka_unit_test(who_was_idle_has_tokens),
        cmocka_unit_test(who_was_idle_has_tokens_at_a_port),
        cmocka_unit_test(two_senders_do_not_share_a_rate),
        cmocka_unit_test(full_egress_queue_takes_a_part),
        cmocka_unit_test(empty_egress_queue_takes_any_size),
        cmocka_unit_test(full_ingress_queue_drops),
        cmocka_unit_test(who_left_before_arrival_hears_nothing),
        cmocka_unit_test(killed_endpoint_is_silent_and_deaf),
        cmocka_unit_test(endpoints_open_once),
        cmocka_unit_test(what_is_in_flight_at_close_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
