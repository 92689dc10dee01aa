// SPDX-License-Identifier: BSD-3-Clause
//
// How the tests of UDP open it.
#include "udp_on_loopback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

uint64_t udp_fresh_tag(void)
{
    static uint64_t jobs;
    return ((uint64_t)getpid() << 32) + 1000000 + jobs++; // tests may run side by side
}

struct co_udp_config udp_on_loopback(uint64_t tag)
{
    return (struct co_udp_config){.interface = "lo",
                                  .group_range = "239.192.0.0/16",
                                  .job_tag = tag,
                                  .subgroups = 4,
                                  .ttl = 0,
                                  .mtu_bytes = 1500,
                                  .receive_buffer_bytes = 1 << 20,
                                  .send_buffer_bytes = 1 << 18};
}

struct co_transport *udp_opened(const struct co_udp_config *config, struct co_udp_address *address)
{
    struct co_transport *udp = NULL;
    char why[256] = "";

    if (co_udp_open(&udp, config, address, why, sizeof why) != 0) {
        fail_msg("%s", why);
    }
    return udp;
}
