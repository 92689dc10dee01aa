// SPDX-License-Identifier: BSD-3-Clause
//
// Which way small allgathers go, of the two that there are: by way of the collector, or everybody on his own. All
// members must go the same way. Those that may go either are of a class each, by their bytes; in each of them one
// member's word says which way those of its class go from CO_WAYS_LATER operations of the group on. The word stands in
// the head of chunks without which nobody can complete the operation (docs/design.md), and no member begins an
// operation before it has heard the word of the one that lies so far behind. So what a member goes by is what was said
// up to there, which is the same on all, whatever is outstanding and whoever is late. Pure, hot.
#ifndef CASTOFF_MCAST_WIRE_AGREED_WAYS_H
#define CASTOFF_MCAST_WIRE_AGREED_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_WAYS_LATER 32   // operations; more are never outstanding behind a word that has yet to be heard
#define CO_WAYS_CLASSES 16 // by the logarithm of all blocks' bytes; the last takes the rest

enum co_way {
    CO_WAY_UNSAID,    // nothing changes
    CO_WAY_COLLECTED, // also before anything has been said
    CO_WAY_APART,
    CO_WAY_END
};

struct co_agreed_ways {
    struct co_said_way {
        uint8_t class, way;
        bool is_awaited;               // has yet to be heard
    } said[CO_WAYS_LATER];             // by the operation's number, of the latest ones
    uint8_t in_force[CO_WAYS_CLASSES]; // up to those
};

static inline unsigned co_way_class(size_t bytes)
{
    unsigned logarithm = 63U - (unsigned)__builtin_clzll((unsigned long long)bytes | 1);
    return logarithm < CO_WAYS_CLASSES ? logarithm : CO_WAYS_CLASSES - 1;
}

// All words that count for the next operation, which is `number`, are known here.
static inline bool co_agreed_ways_are_known(const struct co_agreed_ways *ways, uint32_t number)
{
    return !ways->said[number % CO_WAYS_LATER].is_awaited;
}

// Likewise, for one of that class.
static inline enum co_way co_agreed_way(const struct co_agreed_ways *ways, uint32_t number, unsigned class)
{
    const struct co_said_way *latest = &ways->said[number % CO_WAYS_LATER];
    bool is_news = latest->way != CO_WAY_UNSAID && latest->class == class;
    return is_news ? (enum co_way)latest->way : (enum co_way)ways->in_force[class];
}

// The operation begins. `is_awaited`: a word will be heard in it, which is about that class.
static inline void co_agreed_ways_begin(struct co_agreed_ways *ways, uint32_t number, unsigned class, bool is_awaited)
{
    struct co_said_way *said = &ways->said[number % CO_WAYS_LATER];
    if (said->way != CO_WAY_UNSAID) {
        ways->in_force[said->class] = said->way;
    }
    *said = (struct co_said_way){.class = (uint8_t) class, .way = CO_WAY_UNSAID, .is_awaited = is_awaited};
}

// Of one for which it is awaited. CO_WAY_UNSAID also says that there will be no other.
static inline void co_agreed_ways_hear(struct co_agreed_ways *ways, uint32_t number, enum co_way way)
{
    struct co_said_way *said = &ways->said[number % CO_WAYS_LATER];
    said->is_awaited = false;
    said->way = (uint8_t)way;
}

#endif
