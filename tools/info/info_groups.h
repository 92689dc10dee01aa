// SPDX-License-Identifier: BSD-3-Clause
//
// Which of castoff's multicast groups this host has joined, as the kernel's table of memberships (/proc/net/igmp) says:
// those of jobs that run here now. Cold.
#ifndef CASTOFF_TOOLS_INFO_GROUPS_H
#define CASTOFF_TOOLS_INFO_GROUPS_H

#include <stdint.h>
#include <stdio.h>

#include "base/multicast_range.h"

enum { CO_GROUPS_INTERFACES = 16 };

struct co_groups_joined {
    char interface[32];
    uint32_t first_ip; // the lowest, host byte order
    int count;
};

// Reads a table of memberships: one entry for each interface with a group of the range, at most `room`; returns how
// many.
int co_groups_read(FILE *table, const struct co_multicast_range *range, struct co_groups_joined *joined, int room);

// Of this host, by CASTOFF_UDP_GROUP; -errno where that is no range, or there is no table.
int co_groups_find(struct co_groups_joined *joined, int room);

#endif
