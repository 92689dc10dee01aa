// SPDX-License-Identifier: BSD-3-Clause
//
// Which addresses this host has to offer to others, and by which way it would reach theirs: what the ranks of a job
// compare to find a network that all of their hosts are on. Called at start.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <ifaddrs.h>
#include <string.h>

#include "transport/udp/udp_state.h"

static uint32_t ip_of(const struct sockaddr *address)
{
    struct sockaddr_in inet;
    memcpy(&inet, address, sizeof inet);
    return inet.sin_addr.s_addr;
}

int co_udp_candidates(const char *interface, uint32_t *ips, int room)
{
    struct ifaddrs *all = NULL;
    int count = 0;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    for (const struct ifaddrs *entry = all; entry && count < room; entry = entry->ifa_next) {
        if (co_udp_interface_fits(entry, interface)) {
            ips[count++] = ip_of(entry->ifa_addr);
        }
    }
    freeifaddrs(all);
    return count;
}

static bool shares_network(const struct ifaddrs *entry, uint32_t ip)
{
    return entry->ifa_netmask && ((ip_of(entry->ifa_addr) ^ ip) & ip_of(entry->ifa_netmask)) == 0;
}

enum co_udp_way co_udp_way_to(const char *interface, uint32_t ip)
{
    struct ifaddrs *all = NULL;
    bool is_named = interface[0] != '\0', is_own = false;
    uint32_t source = is_named ? 0 : co_udp_interface_source(ip);
    enum co_udp_way way = is_named ? CO_UDP_WAY_ROUTED : CO_UDP_NO_WAY;
    if (getifaddrs(&all) != 0) {
        return CO_UDP_NO_WAY;
    }
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        is_own = is_own || (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && ip_of(entry->ifa_addr) == ip);
        if (!co_udp_interface_fits(entry, interface) || (!is_named && ip_of(entry->ifa_addr) != source)) {
            continue;
        }
        if (shares_network(entry, ip)) {
            way = CO_UDP_WAY_DIRECT;
        } else if (way == CO_UDP_NO_WAY) {
            way = CO_UDP_WAY_ROUTED;
        }
    }
    freeifaddrs(all);
    return !is_own ? way : is_named ? CO_UDP_WAY_ROUTED : CO_UDP_NO_WAY;
}
