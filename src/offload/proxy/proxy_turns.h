// SPDX-License-Identifier: BSD-3-Clause
//
// Turns of long blocks of an all-to-all (CASTOFF_PROXY_SOURCES): so many of a call have one, the first ones in the
// order of its pattern that can move. Of proxy_ends.c; hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_TURNS_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_TURNS_H

#include "offload/proxy/proxy_state.h"

static inline void co_proxy_turn_set(struct co_proxy_end *end, enum co_proxy_turn turn)
{
    struct co_proxy_call *call = end->call;
    uint32_t place = (uint32_t)(end - call->ends);

    call->turns_taken += (turn == CO_PROXY_TURN_TAKEN) - (end->turn == CO_PROXY_TURN_TAKEN);
    call->turns_wanted += (turn == CO_PROXY_TURN_WANTED) - (end->turn == CO_PROXY_TURN_WANTED);
    call->turns_last = turn == CO_PROXY_TURN_TAKEN && place > call->turns_last ? place : call->turns_last;
    end->turn = turn;
}

// The last one in the order of the pattern that has a turn, if it is behind this one, waits again.
static inline bool co_proxy_turn_yield(struct co_proxy_end *nearer)
{
    struct co_proxy_call *call = nearer->call;

    while (call->turns_last > 0 && call->ends[call->turns_last].turn != CO_PROXY_TURN_TAKEN) {
        call->turns_last--;
    }
    struct co_proxy_end *last = &call->ends[call->turns_last];
    if (last <= nearer) {
        return false;
    }
    co_proxy_link_leave(&last->outgoing);
    co_proxy_turn_set(last, CO_PROXY_TURN_WANTED);
    return true;
}

// Of a send that could move.
static inline bool co_proxy_turn_take(struct co_proxy_end *end, uint32_t sources)
{
    if (end->turn == CO_PROXY_TURN_ALWAYS || end->turn == CO_PROXY_TURN_TAKEN) {
        return true;
    }
    bool has_turn = end->call->turns_taken < sources || co_proxy_turn_yield(end);
    co_proxy_turn_set(end, has_turn ? CO_PROXY_TURN_TAKEN : CO_PROXY_TURN_WANTED);
    return has_turn;
}

#endif
