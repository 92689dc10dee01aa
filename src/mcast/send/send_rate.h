// SPDX-License-Identifier: BSD-3-Clause
//
// What a sender knows of the path to the slowest member: the rate at which chunks arrive there, from all who send, and
// the least time in which its own are heard (the model of BBR, draft-ietf-ccwg-bbr; one-to-many as in TFMCC, RFC 4654:
// the slowest member is the path). It spaces what leaves by that rate, and bounds what is in flight: sent, and no later
// chunk heard yet (the pipe of RFC 6675). So queues hold a few milliseconds and not whatever they can, and what was
// lost is in nobody's way. How much may queue is learned from loss (path_queue.h). Chunks, counted cumulatively
// (serial.h). What is asked for each batch stands here, what is learned of the path in send_rate.c. Pure, hot.
#ifndef CASTOFF_MCAST_SEND_SEND_RATE_H
#define CASTOFF_MCAST_SEND_SEND_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "mcast/send/path_queue.h"
#include "mcast/send/usual_time.h"

#define CO_SEND_RATE_MARKS 16
#define CO_SEND_RATE_ROUNDS 8          // the best rate counts for so many, and as many more at most
#define CO_SEND_RATE_START_BYTES 65536 // in flight before anything is known
#define CO_SEND_RATE_BURST_LEAST 8     // chunks
#define CO_SEND_RATE_FAST 4            // of the window, where links drop what is too much
#define CO_SEND_RATE_UNTOLD 8          // flights in a row, and the rate is not known any more
#define CO_SEND_RATE_FLAT 3            // rounds without growth end the start
#define CO_SEND_RATE_STARTING 23       // eighths of the rate: 2 / ln 2, which doubles it in each round
#define CO_SEND_RATE_PART 4            // of a round trip may queue
#define CO_SEND_RATE_FAIR 2            // of a share: a lead that counts, and what it costs at most
#define CO_SEND_RATE_UNKNOWN_NS (UINT64_C(10) * CO_NS_PER_MS) // for the first word of a path
#define CO_SEND_RATE_RTT_MOST_NS CO_NS_PER_S                  // no path is longer (RFC 6298: the first timeout)
#define CO_SEND_RATE_GIVEN_UP_MOST 3                          // doublings
#define CO_SEND_RATE_GIVEN_UP_UNKNOWN 6                       // before a rate is known
#define CO_SEND_RATE_GIVEN_UP_BY_TIME 2                       // times, then not as long as those of others come here
#define CO_SEND_RATE_GIVEN_UP_MOST_NS (8 * CO_SEND_RATE_RTT_MOST_NS)
#define CO_SEND_RATE_MANY 16  // senders: of more a turn takes longer than loss is noticed in
#define CO_SEND_RATE_TURNS 65 // hundredths of the start, of all who take turns
#define CO_SEND_RATE_LATE_NS (UINT64_C(2) * CO_NS_PER_MS) // of members' reports, by their timers

// Up to where something was sent, and what had been delivered at the latest news then.
struct co_send_mark {
    uint32_t sent, senders, delivered;
    uint32_t at_once;                      // what of it may have been let through at once, after an idle time
    uint64_t sent_ns, heard_ns, before_ns; // before_ns: when what had been heard last was sent
    bool is_limited;                       // by the program: says nothing of the path but "at least"
    bool is_first;                         // says nothing at all of the rate
    bool is_given_up;                      // with all that was in flight
};

struct co_send_rate {
    struct co_send_mark marks[CO_SEND_RATE_MARKS];
    unsigned first, count;
    uint32_t start;   // chunks in flight before anything is known
    uint32_t least;   // and later, as long as that is not too much for the path
    uint32_t window;  // more is never in flight
    uint32_t fast;    // a path is fast that carries so many while it may queue
    uint64_t best[2]; // chunks a second: of these rounds and of those before
    unsigned rounds;
    uint32_t round_end;   // chunk that ends the round, a window sent and heard
    bool is_growing;      // the last round was faster by a quarter
    uint64_t grown_to;    // when a round was last faster by a quarter than at this
    unsigned flat_rounds; // since then
    uint32_t turns;       // of many who take turns: chunks that all may have under way, grows as long as the rate does
    uint64_t turns_grown; // to this rate, with it
    uint64_t least_rtt_ns;
    uint64_t far_ns;           // the way there and back alone, at the least; 0: not known
    uint64_t flight_ns;        // when the first was sent after all had been heard; 0: it has been timed
    uint32_t flight;           // which one that was
    uint32_t first_heard;      // of the flight, with its first word
    uint64_t first_heard_ns;   // 0: none yet
    struct co_usual_time rtts; // as they are, queues and others' turns included
    struct co_path_queue queue;
    uint32_t delivered;         // at the latest news
    uint64_t heard_ns, sent_ns; // latest
    uint64_t busy_ns;           // when a chunk of others came here last
    uint64_t heard_sent_ns;     // when what was heard last was sent
    uint32_t begun;             // where it began after nothing was in flight
    uint64_t begun_ns;          // and when
    uint32_t at_once;           // chunks that who counts tokens may let through then; until something is heard
    unsigned untold;            // flights in a row that told of no rate, but were heard sooner than it allows
    uint32_t limited_until;     // what left up to there was all that the program had
    uint32_t limited_before;    // as long as nobody came with more: what this was before
    uint64_t next_ns;           // the pace is kept up to then
    unsigned given_up;          // times that what was in flight was, since anything was heard
    int32_t lead;               // chunks that have arrived more than of the others who send, on average
};

// Of all who take turns, before anything is known: the one whose turn it is, and the next.
static inline uint32_t co_send_rate_first_turns(uint32_t start)
{
    uint32_t turns = start * CO_SEND_RATE_TURNS / 100;
    return turns > 2 ? turns : 2;
}

// In chunks. Links that hold_back a sender, and drop nothing for being too much, are fast until something is lost.
static inline void co_send_rate_open(struct co_send_rate *rate, uint32_t start, uint32_t least, uint32_t window,
                                     bool hold_back)
{
    *rate = (struct co_send_rate){.start = start,
                                  .least = least < start ? least : start,
                                  .window = window,
                                  .turns = co_send_rate_first_turns(start),
                                  .fast = hold_back ? 0 : window / CO_SEND_RATE_FAST};
    co_path_queue_open(&rate->queue);
}

static inline uint64_t co_send_rate_now(const struct co_send_rate *rate)
{
    return rate->best[0] > rate->best[1] ? rate->best[0] : rate->best[1];
}

// What is sent is longer on its way than it may queue.
static inline bool co_send_rate_is_long(const struct co_send_rate *rate)
{
    return rate->far_ns > CO_PATH_QUEUE_MOST * CO_NS_PER_US;
}

// Is the processor the limit, and not the path? Then a rate would describe whose turn it was: nothing is paced, as long
// as no queue is found for which the window is too much. Of a path whose round trips are longer than queues may be,
// that is not known: what left at once would meet a port at once, a round trip before the first word of it.
static inline bool co_send_rate_is_fast(const struct co_send_rate *rate)
{
    uint64_t queued = co_send_rate_now(rate) * CO_PATH_QUEUE_MOST / (CO_NS_PER_S / CO_NS_PER_US);
    return co_path_queue_is_untouched(&rate->queue) && queued >= rate->fast &&
           !(rate->fast > 0 && co_send_rate_is_long(rate));
}

// On a long way the rate would grow by little in each round. It has not stopped to grow yet, and nothing is lost: then
// it doubles (BBR's startup).
static inline bool co_send_rate_is_starting(const struct co_send_rate *rate)
{
    return rate->flat_rounds < CO_SEND_RATE_FLAT && co_path_queue_is_untouched(&rate->queue) &&
           co_send_rate_is_long(rate);
}

// What may queue. On a long way also a part of what is on it, as long as nothing shows that this is too much: members'
// words come late by parts of that.
static inline uint64_t co_send_rate_queue_ns(const struct co_send_rate *rate)
{
    uint64_t queue_ns = rate->queue.now * CO_NS_PER_US;
    uint64_t part_ns = co_send_rate_is_starting(rate) ? 2 * rate->far_ns : rate->far_ns / CO_SEND_RATE_PART;
    bool is_free = co_send_rate_is_long(rate) && co_path_queue_is_untouched(&rate->queue);
    return is_free && part_ns > queue_ns ? part_ns : queue_ns;
}

// Who is ahead of the others by more than what is in flight explains has less of it, and who is behind more, so that
// all end at the same time: a rate and a round trip are measured by each for itself, and small differences would add
// up.
static inline uint32_t co_send_rate_fair(const struct co_send_rate *rate, uint32_t share)
{
    int64_t part = share / CO_SEND_RATE_FAIR, lead = rate->lead;
    int64_t more = lead > part ? lead - part : lead < -part ? lead + part : 0;
    return (uint32_t)(share - (more > part ? part : more < -part ? -part : more));
}

// Chunks that one of `senders` may have in flight.
static inline uint32_t co_send_rate_bound(const struct co_send_rate *rate, uint32_t senders)
{
    if (co_send_rate_is_fast(rate)) {
        return rate->window / senders;
    }
    uint64_t now = co_send_rate_now(rate);
    uint64_t bridge_ns = rate->least_rtt_ns + co_send_rate_queue_ns(rate);
    uint64_t bound = now == 0 ? rate->start : now * (bridge_ns / CO_NS_PER_US) / (CO_NS_PER_S / CO_NS_PER_US);
    uint64_t least = co_path_queue_part(&rate->queue, rate->least);
    bound = bound < least ? least : bound > rate->window ? rate->window : bound;
    return senders > 1 ? co_send_rate_fair(rate, (uint32_t)(bound / senders)) : (uint32_t)bound;
}

// Members report by quarters of what may be in flight, by halves where several senders want reports.
static inline uint32_t co_send_rate_parts(uint32_t senders)
{
    return senders > 1 ? 2 : 4;
}

// Of one of `senders`: a little more than the path has given, to see whether it gives more; the bound holds it back if
// not. 0: not known, or none.
static inline uint64_t co_send_rate_pace(const struct co_send_rate *rate, uint32_t senders)
{
    unsigned eighths = co_send_rate_is_starting(rate) ? CO_SEND_RATE_STARTING : rate->is_growing ? 16 : 9;
    uint64_t now = co_send_rate_now(rate), more = now * eighths / 8;
    more = now > 0 && more == now ? now + 1 : more; // or a few chunks a second would be so for ever
    return co_send_rate_is_fast(rate) ? 0 : more / senders;
}

// How much of the pace may be made up for at once. A sender that waits its turn for the processor is behind through no
// fault of the path, which has emptied its queues meanwhile; one that was idle begins with little.
static inline uint64_t co_send_rate_burst_ns(const struct co_send_rate *rate, uint64_t pace, bool was_idle)
{
    uint64_t start = co_path_queue_part(&rate->queue, rate->least);
    uint64_t least = (start > CO_SEND_RATE_BURST_LEAST ? start : CO_SEND_RATE_BURST_LEAST) * CO_NS_PER_S / pace + 1;
    uint64_t burst = was_idle ? co_path_queue_ahead(&rate->queue) * CO_NS_PER_US : rate->queue.now * CO_NS_PER_US;
    return least > burst ? least : burst;
}

// How many may leave now by the pace.
static inline uint32_t co_send_rate_allows(const struct co_send_rate *rate, uint32_t senders, bool was_idle,
                                           uint64_t now_ns)
{
    uint64_t pace = co_send_rate_pace(rate, senders);
    if (pace == 0) {
        return UINT32_MAX;
    }
    uint64_t burst_ns = co_send_rate_burst_ns(rate, pace, was_idle);
    uint64_t then_ns = now_ns + co_path_queue_ahead(&rate->queue) * CO_NS_PER_US;
    uint64_t since = then_ns < rate->next_ns ? 0 : then_ns - rate->next_ns;
    return (uint32_t)((since < burst_ns ? since : burst_ns) * pace / CO_NS_PER_S);
}

// When so many may leave, where not even they may now.
static inline uint64_t co_send_rate_due_ns(const struct co_send_rate *rate, uint32_t senders, uint32_t chunks)
{
    uint64_t ahead_ns = co_path_queue_ahead(&rate->queue) * CO_NS_PER_US;
    uint64_t due_ns = rate->next_ns + chunks * CO_NS_PER_S / co_send_rate_pace(rate, senders) + 1;
    return due_ns > ahead_ns ? due_ns - ahead_ns : 0;
}

// In which what has been sent can be heard of at the soonest.
uint64_t co_send_rate_rtt_ns(const struct co_send_rate *rate);
// The time in which what has been sent should be heard of. Of several senders it stands behind what the others have in
// the same queues, and how long that takes is what it usually took: many wait for what was lost, and others' questions
// bring that, too.
uint64_t co_send_rate_patience_ns(const struct co_send_rate *rate, uint32_t senders);
// Then nobody seems to hear. Of many, before a rate is known, not as long as the chunks of others come here: the word
// on ours stands behind what stands in this member's port, and so would the answer to a question. For a second at most:
// others may send for ever.
uint64_t co_send_rate_overdue_ns(const struct co_send_rate *rate, uint32_t senders);
// Then what is in flight is given up (RFC 8985, tail loss probes): a few more chunks show what has come. Given up again
// with nothing heard in between it has twice the time (RFC 6298, 5.5) where there are several: all who do so would fill
// a queue that they know nothing of. The third time, before a rate is known, not before the others' have come here:
// what waits in this member's port waits in all.
uint64_t co_send_rate_give_up_ns(const struct co_send_rate *rate, uint32_t senders);
// `count` chunks have left, `sent` in all and all before them `was_heard`; `delivered` says how many chunks have
// arrived from whomever; is_last: there are no more for now.
void co_send_rate_sent(struct co_send_rate *rate, uint32_t senders, uint32_t sent, uint32_t count, bool was_heard,
                       uint32_t delivered, bool is_last, uint64_t now_ns);
// What left up to `sent` was all that the program had; it comes with more before that is heard, and finds no room.
void co_send_rate_limit(struct co_send_rate *rate, uint32_t sent);
void co_send_rate_unlimit(struct co_send_rate *rate, uint32_t sent);
// All that is in flight: when it is heard of now tells how long that was waited for, not how long the path is.
void co_send_rate_give_up(struct co_send_rate *rate);
// A round trip is the way and the time that what was sent takes to come out of it at the end: on a slow link it is this
// alone. The second word of a flight, about as many chunks again, tells the one from the other.
void co_send_rate_time_flight(struct co_send_rate *rate, uint32_t heard, uint64_t now_ns);
// Now news comes to a sender that is alone: how late is it? Of several it would be the others whom it has waited for.
void co_send_rate_time_news(struct co_send_rate *rate, uint64_t now_ns);
// Every member has heard a chunk at or after `heard` of those `sent`. is_asked: that answers a question.
void co_send_rate_hear(struct co_send_rate *rate, uint32_t heard, uint32_t sent, uint32_t delivered, bool is_asked,
                       uint64_t now_ns);

#endif
