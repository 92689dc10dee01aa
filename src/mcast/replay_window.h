// SPDX-License-Identifier: BSD-3-Clause
//
// Control messages are taken once: a sliding window over the sender's sequence (RFC 4303, section 3.4.3). A replayed
// request would otherwise make us send data again. Pure, warm.
#ifndef CASTOFF_MCAST_REPLAY_WINDOW_H
#define CASTOFF_MCAST_REPLAY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct co_replay_window {
    uint64_t highest; // sequence seen; sequences start at 1
    uint64_t seen;    // bit i: highest - i was seen
};

// True when the sequence is new; it counts as seen then.
static inline bool co_replay_window_accept(struct co_replay_window *window, uint64_t sequence)
{
    if (sequence > window->highest) {
        uint64_t ahead = sequence - window->highest;
        window->seen = ahead < 64 ? window->seen << ahead | 1 : 1;
        window->highest = sequence;
        return true;
    }
    uint64_t behind = window->highest - sequence;
    if (sequence == 0 || behind >= 64 || (window->seen >> behind & 1)) {
        return false;
    }
    window->seen |= UINT64_C(1) << behind;
    return true;
}

#endif
