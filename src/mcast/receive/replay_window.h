// SPDX-License-Identifier: BSD-3-Clause
//
// Control messages are taken once: a sliding window over the sender's sequence (RFC 4303, section 3.4.3; the ring of
// words is RFC 6479's). A replayed request would otherwise make us send data again. A sender has one sequence for all
// whom it tells anything and for both of a receiver's sockets, so what comes late is late by what left to others
// meanwhile, too. Pure, warm.
#ifndef CASTOFF_MCAST_RECEIVE_REPLAY_WINDOW_H
#define CASTOFF_MCAST_RECEIVE_REPLAY_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define CO_REPLAY_WORDS 16
#define CO_REPLAY_WINDOW (64 * (CO_REPLAY_WORDS - 1)) // sequences: one word is on its way out

struct co_replay_window {
    uint64_t highest; // sequence seen; sequences start at 1
    uint64_t seen[CO_REPLAY_WORDS];
};

// True when the sequence is new; it counts as seen then.
static inline bool co_replay_window_accept(struct co_replay_window *window, uint64_t sequence)
{
    if (sequence == 0 || (sequence <= window->highest && window->highest - sequence >= CO_REPLAY_WINDOW)) {
        return false;
    }
    if (sequence > window->highest) {
        uint64_t words = sequence / 64 - window->highest / 64;
        for (uint64_t i = 1; i <= words && i <= CO_REPLAY_WORDS; i++) {
            window->seen[(window->highest / 64 + i) % CO_REPLAY_WORDS] = 0;
        }
        window->highest = sequence;
    }
    uint64_t *word = &window->seen[sequence / 64 % CO_REPLAY_WORDS], bit = UINT64_C(1) << sequence % 64;
    bool is_new = (*word & bit) == 0;
    *word |= bit;
    return is_new;
}

#endif
