// SPDX-License-Identifier: BSD-3-Clause
//
// Whose turn it is of many who send at once: told by what comes, so that no word of members is needed for it
// (self-clocking, Jacobson, "Congestion Avoidance and Control", 1988, by the arrivals of all in place of one's own
// acknowledgements). Of S senders turn n of sender i, some chunks that leave together as one batch, is number n * S + i
// of all, and may begin when at most a few of the chunks before it have yet to come. Chunks count as come up to the
// highest PSN of each source, so that what was lost holds nobody up, and no further than the own turn: a source that is
// ahead does not stand in for one that is late. Pure, hot.
#ifndef CASTOFF_MCAST_SEND_SEND_TURNS_H
#define CASTOFF_MCAST_SEND_SEND_TURNS_H

#include <stdint.h>

#include "mcast/send/send_rate.h"

#define CO_SEND_TURNS_NOTICE_NS (CO_NS_PER_S / 4000) // in which a member sees what has come, and answers

struct co_send_turns {
    uint32_t senders; // 0: no turns, all that the window allows
    uint32_t place;   // of this sender among them
    uint32_t unit;    // chunks that one sends in a turn
    uint32_t flight;  // own chunks that may be in flight, whatever the path bears: two turns, if memory allows
    uint32_t reach;   // of each other source, so many chunks count
    uint64_t come;    // of them
    uint64_t since_ns;
};

// Chunks of all that may be on their way: few, and more where the path carries more, less of it when loss has shortened
// the queue; or what comes until a member has answered to the one before.
static inline uint64_t co_send_turns_most(const struct co_send_rate *rate)
{
    uint64_t path = co_send_rate_now(rate) * (CO_SEND_TURNS_NOTICE_NS / CO_NS_PER_US) / (CO_NS_PER_S / CO_NS_PER_US);
    uint32_t first = co_send_rate_first_turns(rate->start), grown = co_path_queue_part(&rate->queue, rate->turns);
    uint32_t turns = grown > first ? grown : first;
    return path > turns ? path : turns;
}

static inline uint32_t co_send_turns_counted(const struct co_send_turns *turns, uint32_t shown)
{
    return shown < turns->reach ? shown : turns->reach;
}

// A source of which `before` chunks had been shown to have left shows `after`.
static inline void co_send_turns_show(struct co_send_turns *turns, uint32_t before, uint32_t after)
{
    turns->come += co_send_turns_counted(turns, after) - co_send_turns_counted(turns, before);
}

// Own chunks that may leave, of which `sent` have, while `most` of all may be on their way.
static inline uint32_t co_send_turns_room(const struct co_send_turns *turns, uint32_t sent, uint64_t most)
{
    uint32_t unit = turns->unit, begun = sent % unit;
    uint64_t before = (uint64_t)(sent - begun) * (turns->senders - 1) + (uint64_t)turns->place * unit; // of the others
    uint64_t upto = most + turns->come + unit / 2;
    if (begun == 0 && before + unit > upto) {
        return 0;
    }
    uint64_t more = before + unit > upto ? 0 : (upto - before - unit) / ((uint64_t)turns->senders * unit) * unit;
    uint64_t room = unit - begun + more;
    return room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
}

#endif
