// SPDX-License-Identifier: BSD-3-Clause
//
// What an endpoint keeps of a team in which nothing has been said yet: enough to verify a datagram of it, and to open
// its group when the first one comes, from another member or of the own program. Whoever holds the endpoint may open
// it; that asks nobody. Found by the wire's half of the id: hot.
#ifndef CASTOFF_MCAST_STATE_SEED_H
#define CASTOFF_MCAST_STATE_SEED_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/mcast.h"

// `ranks` are the members' world ranks. Where they go by equal steps, as in duplicates, rows and columns, it holds the
// first one and the step, modulo 2^16; no world is larger.
struct co_mcast_seed {
    uint64_t team_id;
    struct co_mcast_seed *next_alike; // same low half of the id
    struct co_mcast_group *group;     // NULL: not open yet
    signed broken : 15;               // 0, or -errno: it can not be opened, and whoever asks is told
    unsigned is_even : 1, count : 16;
    _Atomic uint32_t skipped; // numbers that collectives took which have gone another way (skipped_numbers.c)
    uint16_t ranks[];
};

static inline int co_seed_rank(const struct co_mcast_seed *seed, int member)
{
    if (!seed->is_even) {
        return seed->ranks[member];
    }
    return (uint16_t)(seed->ranks[0] + (uint32_t)member * seed->ranks[1]);
}

// The member with that world rank, which is one.
static inline int co_seed_member(const struct co_mcast_seed *seed, int world_rank)
{
    int member = 0;
    while (co_seed_rank(seed, member) != world_rank) {
        member++;
    }
    return member;
}

// The first with that low half of the id, others by next_alike; NULL: none. Those of lingering groups are found too.
struct co_mcast_seed *co_seed_find(const struct co_mcast *mcast, uint32_t wire_team);

// Its group, for a datagram that has verified: opened if it is not yet. NULL: it can not be; the datagram is dropped
// and counted, and what was in it is asked for again.
struct co_mcast_group *co_seed_group(struct co_mcast *mcast, struct co_mcast_seed *seed);

void co_seed_free(struct co_mcast *mcast, struct co_mcast_seed *seed); // without its group

#endif
