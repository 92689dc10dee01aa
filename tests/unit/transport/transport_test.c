// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of transport_contract.c on every transport: loopback, as it is and like verbs, lossy without faults over
// it, UDP on the loopback interface with and without offload and with the largest packets, and lossy without faults
// over UDP.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "lossy_net.h"
#include "transport_contract.h"
#include "udp_on_loopback.h"

static uint64_t virtual_now(void *hub)
{
    return co_loopback_now_ns(hub);
}

static uint64_t real_now(void *unused)
{
    (void)unused;
    return co_clock_now_ns();
}

static void wrap(struct transport_rig *rig)
{
    struct co_fault_plan plan;
    char why[64];

    if (!rig->fault) {
        return;
    }
    assert_int_equal(co_fault_plan_parse(&plan, rig->fault, why, sizeof why), 0);
    for (int i = 0; i < RIG_ENDS; i++) {
        struct co_transport *below = rig->ends[i];
        assert_int_equal(
            co_lossy_open(&rig->ends[i], below, &plan, i, NULL, rig->hub ? virtual_now : real_now, rig->hub), 0);
    }
}

static bool open_loopback(struct transport_rig *rig)
{
    struct co_loopback_config config = {.endpoints = RIG_ENDS,
                                        .max_datagram_bytes = 1472,
                                        .latency_ns = 1000,
                                        .bytes_per_s = 1000000000,
                                        .egress_queue_bytes = 20000,
                                        .like_verbs = rig->like_verbs};

    assert_int_equal(co_loopback_hub_open(&rig->hub, &config), 0);
    for (int i = 0; i < RIG_ENDS; i++) {
        assert_int_equal(co_loopback_endpoint_open(&rig->ends[i], rig->hub, i), 0);
    }
    wrap(rig);
    return true;
}

static bool open_udp(struct transport_rig *rig)
{
    static uint64_t jobs;
    struct co_udp_address addresses[RIG_ENDS];
    struct co_udp_config config = {.interface = "lo",
                                   .group_range = "239.192.0.0/16",
                                   .job_tag = ((uint64_t)getpid() << 32) + jobs++, // tests may run side by side
                                   .subgroups = 16,
                                   .ttl = 0,
                                   .mtu_bytes = rig->mtu,
                                   .receive_buffer_bytes = 1 << 20,
                                   .send_buffer_bytes = 1 << 18,
                                   .plain = rig->plain};

    for (int i = 0; i < RIG_ENDS; i++) {
        char why[256] = "";
        if (co_udp_open(&rig->ends[i], &config, &addresses[i], why, sizeof why) != 0) {
            print_error("%s\n", why);
            return false;
        }
    }
    for (int i = 0; i < RIG_ENDS; i++) {
        assert_int_equal(co_udp_connect(rig->ends[i], addresses, RIG_ENDS, i), 0);
    }
    wrap(rig);
    return true;
}

int main(void)
{
    struct transport_rig rigs[] = {
        {.name = "loopback", .open = open_loopback, .is_virtual = true},
        {.name = "loopback like verbs", .open = open_loopback, .is_virtual = true, .like_verbs = true},
        {.name = "lossy over loopback", .open = open_loopback, .is_virtual = true, .fault = ""},
        {.name = "lossy over loopback like verbs",
         .open = open_loopback,
         .is_virtual = true,
         .like_verbs = true,
         .fault = ""},
        {.name = "udp", .open = open_udp, .mtu = 1500, .budget_slack = 64},
        {.name = "udp without offload", .open = open_udp, .mtu = 1500, .plain = true},
        {.name = "udp with the largest packets", .open = open_udp, .mtu = 65535, .budget_slack = 64},
        {.name = "lossy over udp", .open = open_udp, .mtu = 1500, .budget_slack = 64, .fault = "drop=0"},
    };
    int failed = 0;

    for (size_t i = 0; i < sizeof rigs / sizeof rigs[0]; i++) {
        failed += transport_contract_run(&rigs[i]);
    }
    return failed ? 1 : 0;
}
