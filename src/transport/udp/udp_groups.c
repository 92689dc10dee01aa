// SPDX-License-Identifier: BSD-3-Clause
//
// From the setting's range of group addresses and the job's tag to the job's groups and port. Every host computes it
// alone and must get the same. Pure; called once at start.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <stdio.h>

#include "base/multicast_range.h"
#include "base/mix_bits.h"
#include "transport/udp/udp_state.h"

// Below the ports that Linux gives to programs which ask for none in particular (32768 and up).
#define PORT_FIRST 20000
#define PORT_COUNT 12768

// Switches flood the frames of 224.0.0.x to every port, and by the way addresses are mapped those of every address
// with these 23 low bits.
static bool is_always_flooded(uint32_t ip)
{
    return (ip & 0x007fff00) == 0;
}

int co_udp_groups_derive(struct co_udp_groups *groups, const char *range, uint64_t job_tag, unsigned count, char *why,
                         size_t why_room)
{
    struct co_multicast_range all;
    if (count < 1 || count > CO_UDP_GROUPS_MAX) {
        snprintf(why, why_room, "%u multicast groups asked for, 1 to %d are possible", count, CO_UDP_GROUPS_MAX);
        return -EINVAL;
    }
    if (co_multicast_range_parse(range, &all) != 0) {
        snprintf(why, why_room, "\"%s\" is no range of multicast addresses such as 239.192.0.0/16 (CASTOFF_UDP_GROUP)",
                 range);
        return -EINVAL;
    }
    uint64_t addresses = UINT64_C(1) << (32 - all.prefix);
    if (addresses < count) {
        snprintf(why, why_room, "the range %s has only %u addresses for %u groups (CASTOFF_UDP_GROUP)", range,
                 (unsigned)addresses, count);
        return -EINVAL;
    }
    // Blocks of equal size for all jobs: two jobs share all of their groups or none.
    uint64_t block = addresses < CO_UDP_GROUPS_MAX ? addresses : CO_UDP_GROUPS_MAX, blocks = addresses / block;
    // The sum, so that a tag of 0 is mixed, too.
    uint64_t hash = co_mix_bits(job_tag + UINT64_C(0x9E3779B97F4A7C15)), at = hash % blocks;
    if (is_always_flooded(all.first_ip + (uint32_t)(at * block))) {
        at = (at + 256 / block) % blocks;
    }
    groups->first_ip = all.first_ip + (uint32_t)(at * block);
    groups->count = count;
    groups->port = (uint16_t)(PORT_FIRST + (hash >> 32) % PORT_COUNT);
    return 0;
}
