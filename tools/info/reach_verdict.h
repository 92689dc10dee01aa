// SPDX-License-Identifier: BSD-3-Clause
//
// From the table of who hears whom to what is wrong where: the fewest hosts and directions that explain all that was
// not heard. What cannot be told from outside, which of two, is not guessed. Pure. Cold.
#ifndef CASTOFF_TOOLS_INFO_REACH_VERDICT_H
#define CASTOFF_TOOLS_INFO_REACH_VERDICT_H

#include <stdbool.h>
#include <stddef.h>

#include "reach.h"

enum co_reach_what {
    CO_REACH_OUT,     // what `host` sends is not heard by those who hear others
    CO_REACH_IN,      // `host` does not hear those whom others hear
    CO_REACH_PATH,    // `other` does not hear `host`, and both are in order with others, or there are no others
    CO_REACH_NOBODY,  // no host hears any other
    CO_REACH_SAME_IP, // `host` and `other` have one address
};

// Of which datagrams it is true. Full and large ones: where small ones come. Volleys: they come, and yet are not all
// there, or come slowly.
enum co_reach_of {
    CO_REACH_OF_UDP,
    CO_REACH_OF_UNICAST,
    CO_REACH_OF_MULTICAST,
    CO_REACH_OF_FULL,
    CO_REACH_OF_LARGE,
    CO_REACH_OF_WHOLE,
    CO_REACH_OF_QUICK
};

// What the host itself saw.
enum co_reach_seen {
    CO_REACH_SEEN_NOTHING,  // it sent without an error; or what was sent did not come to it
    CO_REACH_SEEN_REFUSED,  // out: it was not let send
    CO_REACH_SEEN_DROPPED,  // in: it came, and nothing took it
    CO_REACH_SEEN_FILTERED, // in: it came, and rp_filter dropped it
    CO_REACH_SEEN_UNKNOWN   // in: its counters cannot be read
};

struct co_reach_finding {
    enum co_reach_what what;
    enum co_reach_of of;
    enum co_reach_seen seen;
    int host, other;
    int error;   // REFUSED: the errno
    size_t fits; // OF_FULL: packets of so many bytes come; 0: none of those that were tried
};

enum { CO_REACH_FINDINGS_MAX = 64 };

struct co_reach_verdict {
    struct co_reach_finding findings[CO_REACH_FINDINGS_MAX];
    int count, left_out;
};

void co_reach_judge(struct co_reach_verdict *verdict, const struct co_reach_table *table);

// Whether multicast, and the unicast that repairs it, pass between all.
bool co_reach_passes(const struct co_reach_verdict *verdict);

// Whether broadcasts can be measured: TCP passes, too.
bool co_reach_is_fit_to_measure(const struct co_reach_verdict *verdict);

#endif
