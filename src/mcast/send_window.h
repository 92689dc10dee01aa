// SPDX-License-Identifier: BSD-3-Clause
//
// What one source may have in flight in a group: chunks sent and not yet credited by every member. Counts are
// cumulative over operations and wrap (serial.h). Halves when more than a tenth of a window had to be repaired, grows
// back by the window that gets through: loss by overrun shrinks it, sparse random loss does not. Nor does dense random
// loss: when half the window gets no larger a share through, the window was not the cause. Pure, hot.
#ifndef CASTOFF_MCAST_SEND_WINDOW_H
#define CASTOFF_MCAST_SEND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/serial.h"

#define CO_SEND_WINDOW_LEAST 4
#define CO_SEND_WINDOW_JUDGED 32 // chunks: of fewer, loss says little
#define CO_SEND_WINDOW_LOSS 1000 // of 10000 chunks

struct co_send_window {
    uint32_t sent;              // cumulative chunks handed to the transport
    uint32_t credited;          // cumulative chunks that every member has
    uint32_t most, now;         // chunks; `now` adapts within [CO_SEND_WINDOW_LEAST, most]
    uint32_t shared;            // all that several senders may have in flight together; 0: as a lone one
    uint32_t judged_at;         // value of `credited` when the loss was last judged
    uint32_t lost, lost_judged; // largest sum of lost chunks reported, and its value then
    uint32_t passed_before;     // of 10000 chunks, how many got through just before it was halved; 0: it was not
    uint32_t borne;             // loss of 10000 chunks that no smaller window has cured
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

// Credit is wanted by quarters of a sender's share. Members know the whole window; of a smaller one they are told the
// binary logarithm of the quarter, plus one. 0: the whole.
static inline uint8_t co_send_window_credit_shift(const struct co_send_window *window, uint32_t senders)
{
    if (window->now == window->most) {
        return 0;
    }
    uint32_t quarter = co_send_window_share(window, window->now, senders) / 4;
    return (uint8_t)(quarter > 0 ? 32 - __builtin_clz(quarter) : 1);
}

// Half the window that loses by overrun gets twice the share through; a quarter more is proof enough.
static inline void co_send_window_judge(struct co_send_window *window, uint32_t lost)
{
    uint32_t passed = 10000 - lost;
    bool is_cured = window->passed_before == 0 || (uint64_t)passed * 4 >= (uint64_t)window->passed_before * 5;
    uint32_t grown = window->now + window->now / 4 + 1;
    if (lost > window->borne + CO_SEND_WINDOW_LOSS && is_cured) {
        window->passed_before = passed > 0 ? passed : 1;
        window->now = window->now / 2 < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : window->now / 2;
        return;
    }
    if (lost > window->borne + CO_SEND_WINDOW_LOSS) {
        window->borne = lost;
        grown = window->now * 2;
    } else if (lost < window->borne) {
        window->borne -= (window->borne - lost + 3) / 4;
    }
    window->passed_before = 0;
    window->now = grown > window->most ? window->most : grown;
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
    if (judged < window->now || judged < CO_SEND_WINDOW_JUDGED) {
        return;
    }
    uint64_t lost = (uint64_t)(window->lost - window->lost_judged) * 10000 / ((uint64_t)judged * senders);
    co_send_window_judge(window, lost < 10000 ? (uint32_t)lost : 10000);
    window->judged_at = credited;
    window->lost_judged = window->lost;
}

#endif
