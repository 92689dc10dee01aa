// SPDX-License-Identifier: BSD-3-Clause
//
// The table of who hears whom, and how large what was sent is. Pure but for memory. Cold.
#include "reach.h"

#include <errno.h>
#include <stdlib.h>

enum { SMALL_BYTES = 128 };

int co_reach_table_make(struct co_reach_table *table, int count)
{
    size_t cells = (size_t)CO_REACH_JUDGED * (size_t)count * (size_t)count;
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
    co_volley_plan_release(&table->volleys);
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

static bool is_worth_it(const struct co_reach_table *table, int kind, int from, int to)
{
    if (from == to || table->hosts[from].ip == 0 || table->hosts[to].ip == 0) {
        return false;
    }
    if (co_reach_packet_bytes(kind, table->full_bytes, table->hosts[from].mtu, table->hosts[to].mtu) == 0) {
        return false;
    }
    switch (kind) {
    case CO_REACH_UNICAST:
    case CO_REACH_MULTICAST:
        return true;
    case CO_REACH_UNICAST_FULL:
    case CO_REACH_LARGE:
        return co_reach_heard(table, CO_REACH_UNICAST, from, to);
    case CO_REACH_MULTICAST_FULL:
        return co_reach_heard(table, CO_REACH_MULTICAST, from, to);
    default:
        return co_reach_lacks(table, CO_REACH_UNICAST_FULL, from, to);
    }
}

void co_reach_want(struct co_reach_table *table, const char *kinds)
{
    for (; *kinds != '\0'; kinds++) {
        for (int from = 0; from < table->count; from++) {
            for (int to = 0; to < table->count; to++) {
                table->wanted[co_reach_at(table, *kinds - '0', from, to)] = is_worth_it(table, *kinds - '0', from, to);
            }
        }
    }
}

bool co_reach_lacks_nothing(const struct co_reach_table *table)
{
    for (int host = 0; host < table->count; host++) {
        if (table->hosts[host].ip == 0) {
            return false;
        }
    }
    size_t cells = (size_t)CO_REACH_KINDS * (size_t)table->count * (size_t)table->count;
    for (size_t i = 0; i < cells; i++) {
        if (table->wanted[i] && !table->heard[i]) {
            return false;
        }
    }
    return true;
}

static void grade(struct co_reach_table *table, size_t at, enum co_volley_grade found)
{
    table->wanted[at] = found != CO_VOLLEY_UNCLEAR;
    table->heard[at] = found == CO_VOLLEY_GOOD;
}

void co_reach_grade_volleys(struct co_reach_table *table)
{
    for (int i = 0; i < table->volleys.count * table->volleys.count; i++) {
        int from = i / table->count, to = i % table->count;
        grade(table, co_reach_at(table, CO_REACH_WHOLE, from, to), co_volley_loss(&table->volleys, from, to));
        grade(table, co_reach_at(table, CO_REACH_QUICK, from, to), co_volley_speed(&table->volleys, from, to));
    }
}
