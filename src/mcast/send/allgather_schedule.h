// SPDX-License-Identifier: BSD-3-Clause
//
// The allgather's broadcast sequence (S1, section 4.2): members are cut into M chains of lengths that differ by at
// most one; each chain's first member starts at once, every other one when its predecessor has finished. M = P lets
// all send at once, each at its share of the window. Pure.
#ifndef CASTOFF_MCAST_SEND_ALLGATHER_SCHEDULE_H
#define CASTOFF_MCAST_SEND_ALLGATHER_SCHEDULE_H

// Chains used for `members` when `wanted` are asked for (0: as many as members).
static inline int co_chain_count(int members, unsigned wanted)
{
    return wanted == 0 || wanted > (unsigned)members ? members : (int)wanted;
}

// First member of chain c: c * members / chains, rounded down.
static inline int co_chain_first(int chain, int members, int chains)
{
    return (int)((long)chain * members / chains);
}

// Predecessor of a member in its chain, or -1: it starts at once.
static inline int co_chain_predecessor(int member, int members, int chains)
{
    int chain = (int)(((long)member * chains + chains - 1) / members); // its chain, or the next one
    if (chain >= chains || co_chain_first(chain, members, chains) > member) {
        chain--;
    }
    return co_chain_first(chain, members, chains) == member ? -1 : member - 1;
}

// Successor, or -1: the chain ends.
static inline int co_chain_successor(int member, int members, int chains)
{
    if (member + 1 >= members) {
        return -1;
    }
    return co_chain_predecessor(member + 1, members, chains) == member ? member + 1 : -1;
}

#endif
