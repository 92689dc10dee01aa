// SPDX-License-Identifier: BSD-3-Clause
//
// How many chunks a member may have asked for and not yet got: the congestion window of its repairs (RFC 5681, at the
// receiver, who alone knows what it lacks). All that a member is sent again comes through its own port, so this is what
// repairs can take of it. Grows by what comes, by all of it until the first loss and by one a window later; halves when
// two thirds have been lost again: at 20 % random loss a third is, requests and answers together. Chunks. Pure.
#ifndef CASTOFF_MCAST_REPAIR_REPAIR_WINDOW_H
#define CASTOFF_MCAST_REPAIR_REPAIR_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define CO_REPAIR_WINDOW_START 16
#define CO_REPAIR_WINDOW_LEAST 2
#define CO_REPAIR_WINDOW_MOST 128
#define CO_REPAIR_WINDOW_JUDGED 64 // of fewer, loss says little

struct co_repair_window {
    uint32_t now;
    uint32_t came, lost;   // since it was last judged
    uint32_t cut;          // of those lost: others came that had been asked for in the same breath
    uint32_t grown_by;     // that came, since it last grew by one
    uint32_t careful_from; // it grows by one a window from here on
};

static inline void co_repair_window_open(struct co_repair_window *window)
{
    *window = (struct co_repair_window){.now = CO_REPAIR_WINDOW_START, .careful_from = CO_REPAIR_WINDOW_MOST};
}

// A request of which nothing comes may be lost itself: it says that the way is bad, and not how wide it is. What was
// wide enough is soon reached again.
static inline void co_repair_window_judge(struct co_repair_window *window)
{
    uint32_t all = window->came + window->lost;
    if (all < window->now || all < CO_REPAIR_WINDOW_JUDGED) {
        return;
    }
    if (window->lost > all - all / 3) {
        window->now = window->now / 2 < CO_REPAIR_WINDOW_LEAST ? CO_REPAIR_WINDOW_LEAST : window->now / 2;
        window->careful_from = window->cut > all / 4 ? window->now : window->careful_from;
        window->grown_by = 0;
    }
    window->came = window->lost = window->cut = 0;
}

// A chunk that was asked for, and was not here before.
static inline void co_repair_window_came(struct co_repair_window *window)
{
    window->came++;
    if (++window->grown_by >= (window->now < window->careful_from ? 1 : window->now)) {
        window->grown_by = 0;
        window->now += window->now < CO_REPAIR_WINDOW_MOST;
    }
    co_repair_window_judge(window);
}

// So many that were asked for have been lost again; is_cut: not all of those.
static inline void co_repair_window_lost(struct co_repair_window *window, uint32_t count, bool is_cut)
{
    window->lost += count;
    window->cut += is_cut ? count : 0;
    co_repair_window_judge(window);
}

#endif
