// SPDX-License-Identifier: BSD-3-Clause
//
// The table of who hears whom, and how large what was sent is. Pure but for memory. Cold.
#include "reach.h"

#include <errno.h>
#include <stdlib.h>

enum { SMALL_BYTES = 128 };

int co_reach_table_make(struct co_reach_table *table, int count)
{
    size_t cells = (size_t)CO_REACH_KINDS * (size_t)count * (size_t)count;
    *table = (struct co_reach_table){.count = count,
                                     .heard = calloc(cells, 1),
                                     .wanted = calloc(cells, 1),
                                     .hosts = calloc((size_t)count, sizeof *table->hosts)};
    if (table->heard != NULL && table->wanted != NULL && table->hosts != NULL) {
        return 0;
    }
    co_reach_table_release(table);
    return -ENOMEM;
}

void co_reach_table_release(struct co_reach_table *table)
{
    free(table->heard);
    free(table->wanted);
    free(table->hosts);
    *table = (struct co_reach_table){.count = 0};
}

size_t co_reach_packet_bytes(int kind, size_t full_bytes, int64_t from_mtu, int64_t to_mtu)
{
    size_t both = (size_t)(from_mtu < to_mtu ? from_mtu : to_mtu);
    switch (kind) {
    case CO_REACH_UNICAST:
    case CO_REACH_MULTICAST:
        return SMALL_BYTES;
    case CO_REACH_UNICAST_FULL:
    case CO_REACH_MULTICAST_FULL:
        return full_bytes;
    case CO_REACH_LARGE:
        both = both < 65535 ? both : 65535;
        return both > full_bytes ? both : 0;
    case CO_REACH_1450:
        return full_bytes > 1450 ? 1450 : 0;
    case CO_REACH_1400:
        return full_bytes > 1400 ? 1400 : 0;
    default:
        return full_bytes > 1280 ? 1280 : 0;
    }
}
