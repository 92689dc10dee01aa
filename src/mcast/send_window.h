// SPDX-License-Identifier: BSD-3-Clause
//
// What one source may have in flight in a group: chunks sent and not yet credited by every member. Counts are
// cumulative over operations and wrap (serial.h). Halves when certainly more than two in a hundred chunks were
// repaired, grows back by the window that gets through: loss by overrun shrinks it, sparse random loss does not. Nor
// does dense random loss: when half the window loses no smaller a share, the window was not the cause. A sender that is
// alone waits in its own queue, several meet in the queues before the receivers: each case has a window of its own.
// Pure, hot.
#ifndef CASTOFF_MCAST_SEND_WINDOW_H
#define CASTOFF_MCAST_SEND_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/serial.h"

#define CO_SEND_WINDOW_LEAST 4
#define CO_SEND_WINDOW_JUDGED 64 // chunks: of fewer, loss says little
#define CO_SEND_WINDOW_LOSS 200  // of 10000 chunks

// How many chunks all senders together may have in flight; adapts within [CO_SEND_WINDOW_LEAST, most].
struct co_send_limit {
    uint32_t most, now;
    uint32_t ceiling;     // where there was too much loss the last time
    uint32_t lost_before; // of 10000 chunks, just before it was halved; 0: it was not
    uint32_t borne;       // loss of 10000 chunks that no smaller window has cured
};

struct co_send_window {
    uint32_t sent;               // cumulative chunks handed to the transport
    uint32_t credited;           // cumulative chunks that every member has
    uint32_t judged_at;          // value of `credited` when the loss was last judged
    uint32_t lost;               // since then, by the member that lost most
    struct co_send_limit alone;  // of a lone sender
    struct co_send_limit shared; // of several at once
};

static inline void co_send_limit_open(struct co_send_limit *limit, uint32_t most)
{
    most = most < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : most;
    *limit = (struct co_send_limit){.most = most, .now = most, .ceiling = most};
}

// In chunks; shared_most at most that of a lone one.
static inline void co_send_window_open(struct co_send_window *window, uint32_t most, uint32_t shared_most)
{
    *window = (struct co_send_window){.sent = 0};
    co_send_limit_open(&window->alone, most);
    co_send_limit_open(&window->shared, shared_most < most ? shared_most : most);
}

static inline struct co_send_limit *co_send_window_limit(struct co_send_window *window, uint32_t senders)
{
    return senders > 1 ? &window->shared : &window->alone;
}

// One sender's part of `total` chunks.
static inline uint32_t co_send_window_share(uint32_t total, uint32_t senders)
{
    uint32_t share = total / senders;
    return share < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : share;
}

// Chunks that may leave now when `senders` share the window.
static inline uint32_t co_send_window_room(struct co_send_window *window, uint32_t senders)
{
    uint32_t share = co_send_window_share(co_send_window_limit(window, senders)->now, senders);
    uint32_t in_flight = window->sent - window->credited;
    return in_flight < share ? share - in_flight : 0;
}

// Credit is wanted by quarters of a sender's share. Members know the whole window; of a smaller one they are told the
// binary logarithm of the quarter, plus one. 0: the whole.
static inline uint8_t co_send_window_credit_shift(struct co_send_window *window, uint32_t senders)
{
    const struct co_send_limit *limit = co_send_window_limit(window, senders);
    if (limit->now == limit->most) {
        return 0;
    }
    uint32_t quarter = co_send_window_share(limit->now, senders) / 4;
    return (uint8_t)(quarter > 0 ? 32 - __builtin_clz(quarter) : 1);
}

// Whether `more` chunks are more than `fewer` by what chance hardly does: two deviations of such a count.
static inline bool co_send_window_is_certain(uint64_t more, uint64_t fewer)
{
    return more > fewer && (more - fewer) * (more - fewer) > 4 * more;
}

// Half the window is a cure when it loses a smaller share, or gets clearly more through: of a window that was far too
// large, that is what shows first. `lost` of 10000, as was counted on `judged` chunks.
static inline bool co_send_limit_is_cured(const struct co_send_limit *limit, uint32_t lost, uint64_t judged)
{
    uint64_t passed = 10000 - lost, passed_before = 10000 - limit->lost_before;
    bool is_less = (uint64_t)lost * 4 <= (uint64_t)limit->lost_before * 3 &&
                   co_send_window_is_certain(limit->lost_before * judged / 10000, lost * judged / 10000);
    return limit->lost_before == 0 || is_less || passed * 4 >= passed_before * 5;
}

static inline void co_send_limit_judge(struct co_send_limit *limit, uint64_t lost_chunks, uint64_t judged)
{
    uint32_t lost = lost_chunks < judged ? (uint32_t)(lost_chunks * 10000 / judged) : 10000;
    uint64_t most = (limit->borne + CO_SEND_WINDOW_LOSS) * judged / 10000;
    bool is_too_much = co_send_window_is_certain(lost_chunks, most);
    if (is_too_much && co_send_limit_is_cured(limit, lost, judged)) {
        limit->lost_before = lost;
        limit->ceiling = limit->now;
        limit->now = limit->now / 2 < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : limit->now / 2;
        return;
    }
    uint32_t quarter = limit->ceiling / 4; // around the ceiling it grows with care, beyond it the network has changed
    bool is_near = limit->now + quarter >= limit->ceiling && limit->now <= limit->ceiling + quarter;
    uint32_t grown = limit->now + limit->now / (is_near ? 64 : 4) + 1;
    if (is_too_much) {
        limit->borne = lost;
        limit->ceiling = limit->most;
        grown = limit->now * 2;
    } else if (lost < limit->borne) {
        limit->borne -= (limit->borne - lost + 3) / 4;
    }
    limit->lost_before = 0;
    limit->now = grown > limit->most ? limit->most : grown;
}

// New credit; the window is judged once for each window's worth of it, which is what is returned: losses are counted
// anew then. Members count the losses of all `senders` together, each of whom has sent about as much as we have.
static inline bool co_send_window_credit(struct co_send_window *window, uint32_t credited, uint32_t senders)
{
    credited = co_serial_min(credited, window->sent);
    if (!co_serial_before(window->credited, credited)) {
        return false;
    }
    window->credited = credited;
    struct co_send_limit *limit = co_send_window_limit(window, senders);
    uint32_t judged = credited - window->judged_at;
    if (judged < co_send_window_share(limit->now, senders) || judged < CO_SEND_WINDOW_JUDGED) {
        return false;
    }
    co_send_limit_judge(limit, window->lost, (uint64_t)judged * senders);
    window->judged_at = credited;
    window->lost = 0;
    return true;
}

#endif
