// SPDX-License-Identifier: BSD-3-Clause
//
// What one source may have in flight in a group: chunks sent and not yet credited by every member. Counts are
// cumulative over operations and wrap (serial.h). Halves when more than a tenth of a window had to be repaired, grows
// back by the window that gets through: loss by overrun shrinks it, sparse random loss does not. Pure, hot.
#ifndef CASTOFF_MCAST_SEND_WINDOW_H
#define CASTOFF_MCAST_SEND_WINDOW_H

#include <stdint.h>

#include "mcast/serial.h"

#define CO_SEND_WINDOW_LEAST 4

struct co_send_window {
    uint32_t sent;              // cumulative chunks handed to the transport
    uint32_t credited;          // cumulative chunks that every member has
    uint32_t most, now;         // chunks; `now` adapts within [CO_SEND_WINDOW_LEAST, most]
    uint32_t shared;            // all that several senders may have in flight together; 0: as a lone one
    uint32_t judged_at;         // value of `credited` when the loss was last judged
    uint32_t lost, lost_judged; // largest sum of lost chunks reported, and its value then
};

static inline void co_send_window_open(struct co_send_window *window, uint32_t most)
{
    *window = (struct co_send_window){.most = most, .now = most};
}

// One sender's part of a window of `total` chunks. Several at once meet in the queues before the receivers, where a
// lone one waits in his own.
static inline uint32_t co_send_window_share(const struct co_send_window *window, uint32_t total, uint32_t senders)
{
    if (senders > 1 && window->shared != 0 && total > window->shared) {
        total = window->shared;
    }
    uint32_t share = total / senders;
    return share < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : share;
}

// Chunks that may leave now when `senders` share the window.
static inline uint32_t co_send_window_room(const struct co_send_window *window, uint32_t senders)
{
    uint32_t share = co_send_window_share(window, window->now, senders);
    uint32_t in_flight = window->sent - window->credited;
    return in_flight < share ? share - in_flight : 0;
}

// New credit and the members' loss count; the window is judged once for each window's worth of credit. Members count
// the losses of all `senders` together, each of whom has sent about as much as we have.
static inline void co_send_window_credit(struct co_send_window *window, uint32_t credited, uint32_t senders)
{
    credited = co_serial_min(credited, window->sent);
    if (!co_serial_before(window->credited, credited)) {
        return;
    }
    window->credited = credited;
    uint32_t judged = credited - window->judged_at;
    if (judged < window->now) {
        return;
    }
    uint32_t lost = window->lost - window->lost_judged;
    if ((uint64_t)lost * 10 > (uint64_t)judged * senders) {
        window->now = window->now / 2 < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : window->now / 2;
    } else {
        uint32_t grown = window->now + window->now / 4 + 1;
        window->now = grown > window->most ? window->most : grown;
    }
    window->judged_at = credited;
    window->lost_judged = window->lost;
}

#endif
