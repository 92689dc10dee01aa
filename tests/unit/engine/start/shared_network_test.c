// SPDX-License-Identifier: BSD-3-Clause
//
// Hosts on several networks: the one that all of them share is taken, by whatever name and in whatever order each has
// its interfaces, and a network that leads nowhere is not, though its addresses are the same everywhere.
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/start/shared_network.h"
#include "udp_namespace.h"
#include "udp_on_loopback.h"

enum { NO = CO_UDP_NO_WAY, FAR = CO_UDP_WAY_ROUTED, NEAR = CO_UDP_WAY_DIRECT };

static void the_nearest_shared_network_is_picked(void **state)
{
    (void)state;
    assert_int_equal(co_shared_network_pick((const int[]){NO, NEAR, NEAR}, 3), 1);
    assert_int_equal(co_shared_network_pick((const int[]){FAR, NO, NEAR}, 3), 2);
    assert_int_equal(co_shared_network_pick((const int[]){NO, FAR, FAR}, 3), 1);
    assert_int_equal(co_shared_network_pick((const int[]){NO, NO}, 2), -1);
    assert_int_equal(co_shared_network_pick(NULL, 0), -1);
}

static void the_faster_device_is_offered_first(void **state)
{
    (void)state;
    struct {
        long speeds[5];
        uint32_t order[5];
    } cases[] = {
        {{1000, 100000, 0, 0, 0}, {1, 0, 2, 3, 4}},        {{0, 1000, 0, 100000, 0}, {0, 3, 2, 1, 4}},
        {{10, 10, 10, 10, 20}, {4, 0, 1, 2, 3}},           {{0, 0, 0, 0, 0}, {0, 1, 2, 3, 4}},
        {{40000, 1000, 0, 40000, 10000}, {0, 3, 2, 4, 1}}, {{1, 2, 3, 4, 5}, {4, 3, 2, 1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t ips[5] = {0, 1, 2, 3, 4};
        co_udp_faster_first(ips, cases[i].speeds, 5);
        assert_memory_equal(ips, cases[i].order, sizeof ips);
    }
    co_udp_faster_first(NULL, NULL, 0);
}

static uint32_t ip(const char *text)
{
    return inet_addr(text);
}

static void loopback_is_offered_when_named(void **state)
{
    (void)state;
    uint32_t ips[CO_UDP_CANDIDATES_MAX];
    assert_int_equal(co_udp_candidates("lo", ips, CO_UDP_CANDIDATES_MAX), 1);
    assert_int_equal(ips[0], ip("127.0.0.1"));
    assert_int_equal(co_udp_candidates("lo", ips, 0), 0);
    assert_int_equal(co_udp_candidates("nosuch0", ips, CO_UDP_CANDIDATES_MAX), 0);
    assert_int_equal(co_udp_way_to("lo", ip("127.1.2.3")), CO_UDP_WAY_DIRECT);
    assert_int_equal(co_udp_way_to("lo", ip("198.51.100.1")), CO_UDP_WAY_ROUTED); // used whatever its reach
    assert_int_equal(co_udp_way_to("lo", ip("127.0.0.1")), CO_UDP_WAY_ROUTED);
}

static bool opens_at(uint32_t near_ip, const char *own)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_udp_address address;
    config.interface = "";
    config.near_ip = near_ip;
    struct co_transport *udp = udp_opened(&config, &address);
    udp->ops->close(udp);
    return address.ip == ip(own);
}

// The kernel tells from a queue of its own, up to a second later, that a link which is up runs, too.
static int candidates_of_running_links(uint32_t *ips, int expected)
{
    int count = co_udp_candidates("", ips, CO_UDP_CANDIDATES_MAX);
    for (int tries = 0; count < expected && tries < 1000; tries++) {
        poll(NULL, 0, 10);
        count = co_udp_candidates("", ips, CO_UDP_CANDIDATES_MAX);
    }
    return count;
}

// A host with a network of its own first (containers), then one that it shares.
static int on_two_networks(void)
{
    uint32_t ips[CO_UDP_CANDIDATES_MAX];
    namespace_require(candidates_of_running_links(ips, 2) == 2, "two candidates");
    namespace_require(ips[0] == ip("172.17.0.1") && ips[1] == ip("10.1.0.1"), "in the order of interfaces");
    namespace_require(co_udp_candidates("", ips, 1) == 1, "no more than there is room for");
    namespace_require(co_udp_way_to("", ip("172.17.0.1")) == CO_UDP_NO_WAY, "another host's equal address");
    namespace_require(co_udp_way_to("", ip("10.1.0.7")) == CO_UDP_WAY_DIRECT, "the shared network");
    namespace_require(co_udp_way_to("", ip("198.51.100.1")) == CO_UDP_NO_WAY, "without a route");
    namespace_run("ip route add default via 10.1.0.254");
    namespace_require(co_udp_way_to("", ip("198.51.100.1")) == CO_UDP_WAY_ROUTED, "with a route");
    namespace_require(opens_at(0, "172.17.0.1"), "without advice the first one");
    namespace_require(opens_at(ip("10.1.0.7"), "10.1.0.1"), "the way to another host");
    namespace_require(opens_at(ip("10.1.0.1"), "10.1.0.1"), "the way to the address that was offered");
    return 0;
}

static void the_way_to_the_others_is_found(void **state)
{
    (void)state;
    static const char *const links[] = {
        "ip link set lo up",
        "ip link add containers type veth peer name inside",
        "ip link add fabric type veth peer name switch",
        "ip addr add 172.17.0.1/16 dev containers",
        "ip addr add 10.1.0.1/24 dev fabric",
        "ip link set containers up",
        "ip link set inside up",
        "ip link set fabric up",
        "ip link set switch up",
        NULL,
    };
    namespace_enter_and(links, on_two_networks);
}

// As many networks of containers as a host may have, with two addresses each, and then the one that it shares.
static int on_many_networks(void)
{
    uint32_t ips[CO_UDP_CANDIDATES_MAX];
    char command[80];
    for (int network = 17; network < 29; network++) {
        snprintf(command, sizeof command, "ip addr add 172.%d.0.1/16 dev containers", network);
        namespace_run(command);
        snprintf(command, sizeof command, "ip addr add 172.%d.0.9/16 dev containers", network);
        namespace_run(command);
    }
    namespace_require(candidates_of_running_links(ips, 13) == 13, "one address of each network");
    namespace_require(ips[0] == ip("172.17.0.1") && ips[11] == ip("172.28.0.1"), "the first of each");
    namespace_require(ips[12] == ip("10.1.0.1"), "and that of the last one");
    return 0;
}

static void the_last_of_many_is_offered(void **state)
{
    (void)state;
    static const char *const links[] = {
        "ip link add containers type veth peer name inside",
        "ip link add fabric type veth peer name switch",
        "ip addr add 10.1.0.1/24 dev fabric",
        "ip link set containers up",
        "ip link set inside up",
        "ip link set fabric up",
        "ip link set switch up",
        NULL,
    };
    namespace_enter_and(links, on_many_networks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_shared_network_is_picked), cmocka_unit_test(loopback_is_offered_when_named),
        cmocka_unit_test(the_way_to_the_others_is_found),       cmocka_unit_test(the_last_of_many_is_offered),
        cmocka_unit_test(the_faster_device_is_offered_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
