// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the kernel's table of memberships: a line for an interface, "2 eth0 : 2 V3", and below it one for each group,
// an address as its four bytes lie in memory, printed as one number. Cold.
#include "info_groups.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "base/settings.h"

int co_groups_read(FILE *table, const struct co_multicast_range *range, struct co_groups_joined *joined, int room)
{
    char line[256], interface[32] = "";
    int count = 0;
    uint32_t mask = UINT32_MAX << (32 - range->prefix);
    while (fgets(line, sizeof line, table) != NULL) {
        unsigned address;
        if (line[0] >= '0' && line[0] <= '9') {
            *interface = '\0';
            (void)!sscanf(line, "%*d %31s", interface);
            interface[strcspn(interface, ":")] = '\0';
        } else if (*interface != '\0' && sscanf(line, " %8x", &address) == 1 &&
                   (ntohl(address) & mask) == range->first_ip) {
            struct co_groups_joined *last = count > 0 ? &joined[count - 1] : NULL;
            uint32_t ip = ntohl(address);
            if (last != NULL && strcmp(last->interface, interface) == 0) {
                last->count++;
                last->first_ip = ip < last->first_ip ? ip : last->first_ip;
            } else if (count < room) {
                joined[count] = (struct co_groups_joined){.first_ip = ip, .count = 1};
                memcpy(joined[count++].interface, interface, sizeof interface);
            }
        }
    }
    return count;
}

int co_groups_find(struct co_groups_joined *joined, int room)
{
    struct co_multicast_range range;
    if (co_multicast_range_parse(co_setting_text(CO_SET_UDP_GROUP), &range) != 0) {
        return -EINVAL;
    }
    FILE *table = fopen("/proc/net/igmp", "r");
    if (table == NULL) {
        return -errno;
    }
    int count = co_groups_read(table, &range, joined, room);
    fclose(table);
    return count;
}
