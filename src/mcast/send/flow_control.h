// SPDX-License-Identifier: BSD-3-Clause
//
// Flow control: what one source may have outstanding in a group, chunks sent and not yet credited by every member, at
// most the window of the settings; and of these, in flight, what the path bears (send_rate.h). Counts are cumulative
// over operations and wrap (serial.h). A sender that is alone waits in its own queue, several meet in the queues before
// the receivers: each case has a window and a rate of its own. Pure, hot.
#ifndef CASTOFF_MCAST_SEND_FLOW_CONTROL_H
#define CASTOFF_MCAST_SEND_FLOW_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "mcast/send/send_rate.h"
#include "mcast/wire/serial.h"

#define CO_SEND_WINDOW_LEAST 4

struct co_send_limit {
    uint32_t most; // chunks outstanding, of all senders together
    struct co_send_rate rate;
};

struct co_send_window {
    uint32_t sent;               // cumulative chunks handed to the transport
    uint32_t credited;           // cumulative chunks that every member has
    uint32_t heard;              // every member has heard this one or a later one
    uint32_t judged_at;          // value of `credited` when the loss was last judged
    uint32_t lost;               // since then, by the member that lost most
    uint32_t sending;            // of several senders, those with more to send, as far as is known here
    uint32_t by_turns;           // chunks that turns let be in flight, whatever the path bears (send_turns.h)
    struct co_send_limit alone;  // of a lone sender
    struct co_send_limit shared; // of several at once
};

// In chunks; shared_most at most that of a lone one. In flight before the path is known: `start`; at `least`, if the
// path bears it, credit from all children is a small part of what it is for. hold_back: as co_send_rate_open.
static inline void co_send_window_open(struct co_send_window *window, uint32_t most, uint32_t shared_most,
                                       uint32_t start, uint32_t least, bool hold_back)
{
    most = most < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : most;
    shared_most = shared_most < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : shared_most;
    *window = (struct co_send_window){.sending = UINT32_MAX};
    window->alone.most = most;
    window->shared.most = shared_most < most ? shared_most : most;
    co_send_rate_open(&window->alone.rate, start, least, most, hold_back);
    co_send_rate_open(&window->shared.rate, start, least, most, hold_back);
}

static inline struct co_send_limit *co_send_window_limit(struct co_send_window *window, uint32_t senders)
{
    return senders > 1 ? &window->shared : &window->alone;
}

static inline uint32_t co_send_window_share(uint32_t total, uint32_t senders)
{
    uint32_t share = total / senders;
    return share < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST : share;
}

// Of `senders`, how many share the path. The memory of members is shared by all of them to the end.
static inline uint32_t co_send_window_sending(const struct co_send_window *window, uint32_t senders)
{
    return window->sending < senders ? window->sending : senders;
}

// A lone sender keeps a small batch under way; of many, each a chunk, or together they were more than a port holds.
static inline uint32_t co_send_window_least(uint32_t senders)
{
    return senders < CO_SEND_WINDOW_LEAST ? CO_SEND_WINDOW_LEAST / senders : 1;
}

// Chunks of one of many `senders` that leave in a turn: a power of two, as members report by those, and so few
// that another turn finds room beside it.
static inline uint32_t co_send_window_turn(const struct co_send_window *window, uint32_t senders)
{
    uint32_t share = co_send_window_share(window->alone.most, senders);
    uint32_t half = co_send_rate_first_turns(window->shared.rate.start) / 2;
    uint32_t most = share < half ? share : half;
    return UINT32_C(1) << (31 - __builtin_clz(most));
}

// What one of `senders` may have in flight.
static inline uint32_t co_send_window_bound(struct co_send_window *window, uint32_t senders)
{
    const struct co_send_limit *limit = co_send_window_limit(window, senders);
    uint32_t share = co_send_window_share(limit->most, senders);
    uint32_t bound = co_send_rate_bound(&limit->rate, co_send_window_sending(window, senders));
    uint32_t least = co_send_window_least(senders);
    bound = bound < share ? bound : share;
    return bound < least ? least : bound;
}

static inline uint32_t co_send_window_in_flight(const struct co_send_window *window)
{
    return window->sent - window->heard;
}

static inline uint64_t co_send_window_rtt_ns(struct co_send_window *window, uint32_t senders)
{
    return co_send_rate_rtt_ns(&co_send_window_limit(window, senders)->rate);
}

static inline uint64_t co_send_window_patience_ns(struct co_send_window *window, uint32_t senders)
{
    return co_send_rate_patience_ns(&co_send_window_limit(window, senders)->rate, senders);
}

static inline uint64_t co_send_window_overdue_ns(struct co_send_window *window, uint32_t senders)
{
    return co_send_rate_overdue_ns(&co_send_window_limit(window, senders)->rate, senders);
}

// Chunks that may leave now when `senders` share the window.
static inline uint32_t co_send_window_room(struct co_send_window *window, uint32_t senders, uint64_t now_ns)
{
    const struct co_send_limit *limit = co_send_window_limit(window, senders);
    uint32_t share = co_send_window_share(limit->most, senders), owed = window->sent - window->credited;
    uint32_t bound = co_send_window_bound(window, senders), in_flight = co_send_window_in_flight(window);
    uint32_t room = owed < share ? share - owed : 0, more = in_flight < bound ? bound - in_flight : 0;
    if (more == 0 && now_ns >= co_send_rate_give_up_ns(&limit->rate, senders)) {
        more = co_send_window_least(senders);
    }
    return more < room ? more : room;
}

// After how many chunks credit is wanted. Members know the part of the whole window; of less they are told the binary
// logarithm, plus one. 0: the whole.
static inline uint8_t co_send_window_credit_shift(struct co_send_window *window, uint32_t senders)
{
    uint32_t bound = co_send_window_bound(window, senders);
    uint32_t part = (bound > window->by_turns ? bound : window->by_turns) / co_send_rate_parts(senders);
    if (bound >= co_send_window_share(co_send_window_limit(window, senders)->most, senders)) {
        return 0;
    }
    return (uint8_t)(part > 0 ? 32 - __builtin_clz(part) : 1);
}

// `count` chunks have left. `delivered`: chunks of the other sources that have come here. is_last: no more for now.
static inline void co_send_window_sent(struct co_send_window *window, uint32_t senders, uint32_t count,
                                       uint32_t delivered, bool is_last, uint64_t now_ns)
{
    struct co_send_rate *rate = &co_send_window_limit(window, senders)->rate;
    bool was_heard = co_send_window_in_flight(window) == 0;
    uint32_t bound = co_send_window_bound(window, senders);
    if (co_send_window_in_flight(window) >= (bound > window->by_turns ? bound : window->by_turns)) { // it is overdue
        co_send_rate_give_up(rate);
    }
    window->sent += count;
    is_last =
        is_last && co_send_window_in_flight(window) < co_send_window_bound(window, senders); // else it is the path
    co_send_rate_sent(rate, co_send_window_sending(window, senders), window->sent, count, was_heard,
                      window->credited + delivered, is_last, now_ns);
    if (is_last) { // whoever sends next has been idle, alone or with others
        co_send_rate_limit(&window->alone.rate, window->sent);
        co_send_rate_limit(&window->shared.rate, window->sent);
    }
}

// A lone sender's program has more, and finds too little room for it: what left last was not the last for now.
static inline void co_send_window_stalled(struct co_send_window *window)
{
    co_send_rate_unlimit(&window->alone.rate, window->sent);
}

// New credit, and up to where every member has heard; the loss is judged once for each window's worth of credit, which
// is what is returned: losses are counted anew then. Members count the losses of all `senders` together, each of whom
// has sent about as much as we have. is_asked: it answers a question, and says nothing of how long the path is.
static inline bool co_send_window_credit(struct co_send_window *window, uint32_t senders, uint32_t credited,
                                         uint32_t heard, uint32_t delivered, bool is_asked, uint64_t now_ns)
{
    struct co_send_rate *rate = &co_send_window_limit(window, senders)->rate;
    window->credited = co_serial_max(window->credited, co_serial_min(credited, window->sent));
    heard = co_serial_min(heard, window->sent);
    if (co_serial_before(window->heard, heard)) {
        window->heard = heard;
        if (senders == 1) {
            co_send_rate_time_flight(rate, heard, now_ns);
            co_send_rate_time_news(rate, now_ns);
        }
        co_send_rate_hear(rate, heard, window->sent, window->credited + delivered, is_asked, now_ns);
    }
    uint32_t judged = window->credited - window->judged_at;
    if (judged < co_send_window_bound(window, senders) || (uint64_t)judged * senders < CO_PATH_QUEUE_JUDGED) {
        return false;
    }
    co_path_queue_judge(&rate->queue, window->lost, (uint64_t)judged * senders);
    window->judged_at = window->credited;
    window->lost = 0;
    return true;
}

#endif
