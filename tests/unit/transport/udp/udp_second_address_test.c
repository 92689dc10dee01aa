// SPDX-License-Identifier: BSD-3-Clause
//
// An interface with addresses of several networks, named by the user: hosts of a job take the one of the network that
// they have agreed on, whatever place it has. In a network namespace.
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "transport/udp/udp.h"
#include "udp_namespace.h"
#include "udp_on_loopback.h"

static const char *const lo_is_up[] = {"ip link set lo up", "ip address add 10.1.0.1/24 dev lo",
                                       "ip address add 10.1.0.2/24 dev lo", "ip address add 10.2.0.1/24 dev lo", NULL};

static uint32_t chosen_for(const char *near)
{
    struct co_udp_config config = udp_on_loopback(udp_fresh_tag());
    struct co_transport *udp = NULL;
    struct co_udp_address address;
    char why[256] = "";
    config.near_ip = near == NULL ? 0 : inet_addr(near);
    namespace_require(co_udp_open(&udp, &config, &address, why, sizeof why) == 0, why);
    udp->ops->close(udp);
    return address.ip;
}

static int networks(void)
{
    uint32_t offered[CO_UDP_CANDIDATES_MAX];
    int count = co_udp_candidates("lo", offered, CO_UDP_CANDIDATES_MAX);
    namespace_require(count == 3 && offered[1] == inet_addr("10.1.0.1") && offered[2] == inet_addr("10.2.0.1"),
                      "one of each network is offered");
    namespace_require(chosen_for(NULL) == inet_addr("127.0.0.1"), "the first, where nobody asks");
    namespace_require(chosen_for("10.2.0.7") == inet_addr("10.2.0.1"), "that of the last network");
    namespace_require(chosen_for("10.1.0.7") == inet_addr("10.1.0.1"), "the first of a network");
    namespace_require(chosen_for("10.1.0.2") == inet_addr("10.1.0.2"), "the one that is meant");
    namespace_require(chosen_for("10.3.0.7") == inet_addr("127.0.0.1"), "the first, of a network behind routers");
    return 0;
}

static void the_network_decides(void **state)
{
    (void)state;
    namespace_enter_and(lo_is_up, networks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_network_decides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
