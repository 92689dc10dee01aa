// SPDX-License-Identifier: BSD-3-Clause
//
// Which network interface carries the multicast; which addresses this host has to offer to others, and by which way it
// would reach theirs, which the ranks of a job compare to find a network that all of their hosts are on. Called at
// start.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "transport/udp/udp_state.h"

#define ANY_PORT 9 // nothing is sent there
#define PATH_ROOM 64

static uint32_t ip_in(const struct sockaddr *address)
{
    struct sockaddr_in inet;
    memcpy(&inet, address, sizeof inet);
    return inet.sin_addr.s_addr;
}

static uint32_t ip_of(const struct ifaddrs *entry)
{
    return ip_in(entry->ifa_addr);
}

// The own address from which packets to an address would leave; 0: no way.
static uint32_t source_to(uint32_t near_ip)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(ANY_PORT), .sin_addr.s_addr = near_ip};
    socklen_t length = sizeof address;
    uint32_t source = 0;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        source = address.sin_addr.s_addr;
    }
    close(fd);
    return source;
}

static bool can_multicast(const struct ifaddrs *entry)
{
    unsigned needed = IFF_UP | IFF_RUNNING | IFF_MULTICAST;
    return (entry->ifa_flags & needed) == needed && !(entry->ifa_flags & IFF_LOOPBACK);
}

// May the interface be used, by its name or, without one, because it is up, can multicast and is not loopback? Loopback
// multicasts although it does not say so: named by the user it is taken. Entries without an IPv4 address never.
static bool fits(const struct ifaddrs *entry, const char *name)
{
    if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET) {
        return false;
    }
    return name[0] == '\0' ? can_multicast(entry) : strcmp(entry->ifa_name, name) == 0 && (entry->ifa_flags & IFF_UP);
}

static const struct ifaddrs *find(const struct ifaddrs *all, const char *name, uint32_t source_ip)
{
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        if (fits(entry, name) && (source_ip == 0 || ip_of(entry) == source_ip)) {
            return entry;
        }
    }
    return NULL;
}

static bool shares_network(const struct ifaddrs *entry, uint32_t ip)
{
    return entry->ifa_netmask && ((ip_of(entry) ^ ip) & ip_in(entry->ifa_netmask)) == 0;
}

// A named interface may have addresses of several networks: the one in that of `near_ip`, best itself, or the first
// one.
static const struct ifaddrs *find_near(const struct ifaddrs *all, const char *name, uint32_t near_ip)
{
    const struct ifaddrs *found = near_ip == 0 ? NULL : find(all, name, near_ip);
    for (const struct ifaddrs *entry = all; entry && near_ip != 0 && !found; entry = entry->ifa_next) {
        found = fits(entry, name) && shares_network(entry, near_ip) ? entry : NULL;
    }
    return found ? found : find(all, name, 0);
}

// MTU of the interface, 0 when the kernel does not say.
static size_t read_mtu(const char *name)
{
    struct ifreq request = {0};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return 0;
    }
    snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    int result = ioctl(fd, SIOCGIFMTU, &request);
    close(fd);
    return result == 0 && request.ifr_mtu > 0 ? (size_t)request.ifr_mtu : 0;
}

static int explain_missing(const char *name, char *why, size_t why_room)
{
    if (name[0] != '\0') {
        snprintf(why, why_room, "the interface %s is missing, down or without an IPv4 address (CASTOFF_UDP_INTERFACE)",
                 name);
    } else {
        snprintf(why, why_room, "no interface besides loopback is up, has an IPv4 address and can multicast");
    }
    return -ENODEV;
}

int co_udp_interface_choose(struct co_udp_interface *interface, const char *name, uint32_t near_ip, char *why,
                            size_t why_room)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all) != 0) {
        int error = -errno;
        snprintf(why, why_room, "the interfaces cannot be listed: %s", strerror(-error));
        return error;
    }
    uint32_t source_ip = name[0] == '\0' && near_ip != 0 ? source_to(near_ip) : 0;
    const struct ifaddrs *entry = name[0] == '\0' ? find(all, name, source_ip) : find_near(all, name, near_ip);
    if (!entry && source_ip != 0) {
        entry = find(all, name, 0);
    }
    int error = entry ? 0 : explain_missing(name, why, why_room);
    if (entry) {
        *interface = (struct co_udp_interface){.index = (int)if_nametoindex(entry->ifa_name), .ip = ip_of(entry)};
        // An address may carry a label ("eth0:1"), which getifaddrs gives in place of the name.
        snprintf(interface->name, sizeof interface->name, "%.*s", (int)strcspn(entry->ifa_name, ":"), entry->ifa_name);
        interface->mtu_bytes = read_mtu(interface->name);
        if (interface->index == 0) {
            interface->index = (int)if_nametoindex(interface->name);
        }
        if (interface->index == 0 || interface->mtu_bytes <= CO_UDP_HEADERS_BYTES) {
            error = explain_missing(interface->name, why, why_room);
        }
    }
    freeifaddrs(all);
    return error;
}

// Further addresses of a network that has been offered lead nowhere else.
static bool is_first_of_network(const struct ifaddrs *all, const struct ifaddrs *entry, const char *name)
{
    const struct ifaddrs *other = all;
    while (other != entry && !(fits(other, name) && other->ifa_netmask && shares_network(entry, ip_of(other)) &&
                               ip_in(other->ifa_netmask) == ip_in(entry->ifa_netmask))) {
        other = other->ifa_next;
    }
    return other == entry;
}

static bool has_part(const char *name, const char *part)
{
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "/sys/class/net/%s/%s", name, part);
    return access(path, F_OK) == 0;
}

// Mbit/s, as the kernel says of a device, or of several that are bonded; 0: it does not, or there is none behind it,
// and then what it says is made up.
static long speed_of(const struct ifaddrs *entry)
{
    char name[IF_NAMESIZE], path[PATH_ROOM];
    long speed = 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(entry->ifa_name, ":"), entry->ifa_name);
    if (!has_part(name, "device") && !has_part(name, "bonding")) {
        return 0;
    }
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    int found = fscanf(file, "%ld", &speed);
    fclose(file);
    return found == 1 && speed > 0 ? speed : 0;
}

void co_udp_faster_first(uint32_t *ips, long *speeds, int count)
{
    for (int end = 1; end < count; end++) {
        int at = end; // sinks towards the front past slower ones, over those of which nothing is known
        for (int before = end - 1; before >= 0 && speeds[end] > 0; before--) {
            if (speeds[before] > 0 && speeds[before] < speeds[at]) {
                uint32_t ip = ips[before];
                long speed = speeds[before];
                ips[before] = ips[at];
                speeds[before] = speeds[at];
                ips[at] = ip;
                speeds[at] = speed;
                at = before;
            }
        }
    }
}

int co_udp_candidates(const char *interface, uint32_t *ips, int room)
{
    struct ifaddrs *all = NULL;
    long speeds[CO_UDP_CANDIDATES_MAX];
    int count = 0;
    if (getifaddrs(&all) != 0) {
        return 0;
    }
    room = room < CO_UDP_CANDIDATES_MAX ? room : CO_UDP_CANDIDATES_MAX;
    for (const struct ifaddrs *entry = all; entry && count < room; entry = entry->ifa_next) {
        if (fits(entry, interface) && is_first_of_network(all, entry, interface)) {
            speeds[count] = speed_of(entry);
            ips[count++] = ip_of(entry);
        }
    }
    freeifaddrs(all);
    co_udp_faster_first(ips, speeds, count);
    return count;
}

enum co_udp_way co_udp_way_to(const char *interface, uint32_t ip)
{
    struct ifaddrs *all = NULL;
    bool is_named = interface[0] != '\0', is_own = false;
    uint32_t source = is_named ? 0 : source_to(ip);
    enum co_udp_way way = is_named ? CO_UDP_WAY_ROUTED : CO_UDP_NO_WAY;
    if (getifaddrs(&all) != 0) {
        return CO_UDP_NO_WAY;
    }
    for (const struct ifaddrs *entry = all; entry; entry = entry->ifa_next) {
        is_own = is_own || (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && ip_of(entry) == ip);
        if (!fits(entry, interface) || (!is_named && ip_of(entry) != source)) {
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
