// SPDX-License-Identifier: BSD-3-Clause
//
// Who of the hosts of `castoff info --check` hears whom: the table that a session (reach_session.c) fills, of datagrams
// that each host (reach_host.c) sent to all others and to their multicast group. Cold.
#ifndef CASTOFF_TOOLS_INFO_REACH_H
#define CASTOFF_TOOLS_INFO_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/volley/volley_plan.h"

enum { CO_REACH_HOSTS_MAX = 512 };

// Of what was sent. "Full": as large as castoff's datagrams may become; "large": as the interfaces of both say; the
// others find what fits where full ones do not.
enum co_reach_kind {
    CO_REACH_UNICAST,
    CO_REACH_MULTICAST,
    CO_REACH_UNICAST_FULL,
    CO_REACH_MULTICAST_FULL,
    CO_REACH_LARGE,
    CO_REACH_1450,
    CO_REACH_1400,
    CO_REACH_1280,
    CO_REACH_KINDS,
    // Of volleys, where all of the former came: "heard" where they are whole, and quick.
    CO_REACH_WHOLE = CO_REACH_KINDS,
    CO_REACH_QUICK,
    CO_REACH_JUDGED
};

// What a host says of its own part while small datagrams were sent.
struct co_reach_evidence {
    int unicast_error, multicast_error; // errno with which it could not send; 0: it could
    int64_t dropped, filtered;          // came to it and were taken by nobody; of them by rp_filter. -1: not known
    int way;                            // enum co_udp_way, to the network that was chosen
    uint64_t machine;                   // hosts of one number are one
    uint32_t ip;                        // host byte order; 0: none
    int64_t mtu;
};

struct co_reach_table {
    int count;       // hosts, by rank
    uint8_t *heard;  // kind, from, to: co_reach_heard
    uint8_t *wanted; // likewise: was it sent?
    struct co_reach_evidence *hosts;
    size_t full_bytes; // of a packet
    int rounds;        // small datagrams were sent so often to whoever had not heard them
    struct co_volley_plan volleys;
};

static inline size_t co_reach_at(const struct co_reach_table *table, int kind, int from, int to)
{
    return ((size_t)kind * (size_t)table->count + (size_t)from) * (size_t)table->count + (size_t)to;
}

static inline bool co_reach_heard(const struct co_reach_table *table, int kind, int from, int to)
{
    return table->heard[co_reach_at(table, kind, from, to)] != 0;
}

static inline bool co_reach_is_multicast(int kind)
{
    return kind == CO_REACH_MULTICAST || kind == CO_REACH_MULTICAST_FULL;
}

// Sent, and yet not heard.
static inline bool co_reach_lacks(const struct co_reach_table *table, int kind, int from, int to)
{
    size_t at = co_reach_at(table, kind, from, to);
    return table->wanted[at] && !table->heard[at];
}

// 0 or -ENOMEM.
int co_reach_table_make(struct co_reach_table *table, int count);
void co_reach_table_release(struct co_reach_table *table);

// Bytes of such a packet from one to another; 0: there is none such between them.
size_t co_reach_packet_bytes(int kind, size_t full_bytes, int64_t from_mtu, int64_t to_mtu);

// Those kinds are wanted from all to all where one that is easier came through.
void co_reach_want(struct co_reach_table *table, const char *kinds);

// All hosts have a network, and what was sent was heard.
bool co_reach_lacks_nothing(const struct co_reach_table *table);

// What the volleys have shown is told as heard or not.
void co_reach_grade_volleys(struct co_reach_table *table);

#endif
