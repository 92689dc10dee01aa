// SPDX-License-Identifier: BSD-3-Clause
//
// Is a peer gone whose host is said to refuse what we send it (ICMP "port unreachable")? One refusal proves nothing: a
// firewall rejects for a moment, and anybody can write such a message. So the peer is asked, and it is gone only when
// later datagrams, too, are refused, again and again for a while, without one authenticated word of its own in between.
// A kernel says so once a second to another host, and where many ranks there ask about a dead one, each hears its
// share: refusals far apart, which count when they are many more. No clock, no socket: times are the caller's, who
// holds the endpoint. Warm.
#ifndef CASTOFF_MCAST_LIVENESS_REFUSALS_H
#define CASTOFF_MCAST_LIVENESS_REFUSALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define CO_REFUSALS_ASK_NS (CO_NS_PER_S / 10)  // between two questions; refusals closer than that count as one
#define CO_REFUSALS_SPAN_NS CO_NS_PER_S        // least time from the first to the last of them,
#define CO_REFUSALS_LEAST 4                    // which are so many at least
#define CO_REFUSALS_PAUSE_NS (3 * CO_NS_PER_S) // without one ends a row; a kernel sends one a second in the end
#define CO_REFUSALS_ROWS 16                    // without a word of the peer's are as good as one that is long enough,
#define CO_REFUSALS_FORGET_NS (100 * CO_NS_PER_S) // with no longer pause between two of them
#define CO_REFUSALS_SELDOM_NS CO_NS_PER_S         // between two questions in such a pause

struct co_refusals {
    uint64_t since_ns; // first refusal of the row, 0: none
    uint64_t last_ns;  // and the last that counted
    uint64_t asked_ns;
    unsigned in_row;
    unsigned rows; // this one, and those before it
};

// Something sent lately, which was not the one told of before, is said to have been refused. True: the peer is gone.
bool co_refusals_add(struct co_refusals *refusals, uint64_t now_ns);
// An authenticated word of the peer's, not heard before.
void co_refusals_heard(struct co_refusals *refusals);
// Is the peer to be asked now? Counts as asked. Ends rows that have come to nothing.
bool co_refusals_is_to_be_asked(struct co_refusals *refusals, uint64_t now_ns);

static inline bool co_refusals_is_doubtful(const struct co_refusals *refusals)
{
    return refusals->since_ns != 0;
}

#endif
