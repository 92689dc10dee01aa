// SPDX-License-Identifier: BSD-3-Clause
//
// What is learned of a path by what was sent and what is heard of it, and how long to wait for that, see send_rate.h.
// Pure, hot.
#include "mcast/send/send_rate.h"

#include "mcast/wire/serial.h"

// What such a part takes. 0: not known.
static uint64_t rate_part_ns(const struct co_send_rate *rate, uint32_t senders)
{
    uint64_t now = co_send_rate_now(rate);
    return now == 0 ? 0 : co_send_rate_bound(rate, 1) * (CO_NS_PER_S / co_send_rate_parts(senders)) / now;
}

// Each of several has a chunk under way, however little the path bears: what that takes.
static uint64_t rate_turn_ns(const struct co_send_rate *rate, uint32_t senders)
{
    uint64_t now = co_send_rate_now(rate);
    return now == 0 || senders == 1 ? 0 : senders * CO_NS_PER_S / now;
}

uint64_t co_send_rate_rtt_ns(const struct co_send_rate *rate)
{
    uint64_t rtt_ns = rate->least_rtt_ns;
    return rtt_ns == 0                         ? CO_SEND_RATE_UNKNOWN_NS
           : rtt_ns < CO_SEND_RATE_RTT_MOST_NS ? rtt_ns
                                               : CO_SEND_RATE_RTT_MOST_NS;
}

uint64_t co_send_rate_patience_ns(const struct co_send_rate *rate, uint32_t senders)
{
    uint64_t part_ns = rate_part_ns(rate, senders), turn_ns = rate_turn_ns(rate, senders);
    uint64_t soon_ns = 2 * co_send_rate_rtt_ns(rate) + (part_ns > turn_ns ? part_ns : turn_ns) + CO_SEND_RATE_LATE_NS;
    return senders == 1 ? soon_ns : co_usual_time_limit_ns(&rate->rtts, soon_ns, soon_ns + CO_SEND_RATE_RTT_MOST_NS);
}

static uint64_t rate_latest_ns(const struct co_send_rate *rate)
{
    return rate->heard_ns > rate->sent_ns ? rate->heard_ns : rate->sent_ns;
}

uint64_t co_send_rate_overdue_ns(const struct co_send_rate *rate, uint32_t senders)
{
    uint64_t own_ns = rate_latest_ns(rate), patience_ns = co_send_rate_patience_ns(rate, senders);
    uint64_t due_ns = own_ns + patience_ns;
    if (senders <= CO_SEND_RATE_MANY || co_send_rate_now(rate) > 0) {
        return due_ns;
    }
    uint64_t others_ns = rate->busy_ns + patience_ns, most_ns = own_ns + CO_SEND_RATE_RTT_MOST_NS;
    others_ns = others_ns < most_ns ? others_ns : most_ns;
    return others_ns > due_ns ? others_ns : due_ns;
}

uint64_t co_send_rate_give_up_ns(const struct co_send_rate *rate, uint32_t senders)
{
    uint64_t patience_ns = co_send_rate_patience_ns(rate, senders);
    uint64_t longer_ns = patience_ns << (senders > 1 ? rate->given_up : 0);
    uint64_t most_ns = patience_ns > CO_SEND_RATE_GIVEN_UP_MOST_NS ? patience_ns : CO_SEND_RATE_GIVEN_UP_MOST_NS;
    bool is_by_others = senders > 1 && co_send_rate_now(rate) == 0 && rate->given_up >= CO_SEND_RATE_GIVEN_UP_BY_TIME;
    uint64_t own_ns = rate_latest_ns(rate), latest_ns = own_ns;
    latest_ns = is_by_others && rate->busy_ns > latest_ns ? rate->busy_ns : latest_ns;
    uint64_t due_ns = latest_ns + (longer_ns < most_ns ? longer_ns : most_ns);
    return due_ns < own_ns + most_ns ? due_ns : own_ns + most_ns; // others may send for ever
}

void co_send_rate_limit(struct co_send_rate *rate, uint32_t sent)
{
    if (rate->limited_until != sent) {
        rate->limited_before = rate->limited_until;
        rate->limited_until = sent;
    }
}

void co_send_rate_unlimit(struct co_send_rate *rate, uint32_t sent)
{
    if (rate->limited_until != sent || rate->count == 0) {
        return;
    }
    rate->limited_until = rate->limited_before;
    rate->marks[(rate->first + rate->count - 1) % CO_SEND_RATE_MARKS].is_limited = false;
}

void co_send_rate_sent(struct co_send_rate *rate, uint32_t senders, uint32_t sent, uint32_t count, bool was_heard,
                       uint32_t delivered, bool is_last, uint64_t now_ns)
{
    uint64_t pace = co_send_rate_pace(rate, senders);
    if (pace > 0) {
        uint64_t burst_ns = co_send_rate_burst_ns(rate, pace, was_heard);
        rate->next_ns = rate->next_ns + burst_ns > now_ns ? rate->next_ns : now_ns - burst_ns;
        rate->next_ns += count * CO_NS_PER_S / pace;
    }
    rate->sent_ns = now_ns;
    if (was_heard || rate->heard_ns == 0) {
        rate->heard_ns = rate->heard_sent_ns = rate->flight_ns = now_ns;
        rate->flight = sent - count;
        rate->first_heard_ns = 0;
        rate->delivered = delivered;
        if (rate->limited_until == sent - count) { // it was the program
            rate->begun = sent - count;
            rate->at_once = senders > 1 ? rate->start : 0;
            rate->begun_ns = now_ns;
        }
    }
    bool is_limited = is_last || co_serial_before(sent - count, rate->limited_until);
    if (is_last) {
        co_send_rate_limit(rate, sent);
    }
    // What leaves first after an idle time is let through at once by whoever counts tokens, and says nothing of the
    // rate.
    bool is_first = (uint64_t)(sent - rate->begun) * senders <= rate->start;
    if (rate->count < CO_SEND_RATE_MARKS) {
        rate->marks[(rate->first + rate->count++) % CO_SEND_RATE_MARKS] = (struct co_send_mark){
            sent,     senders, rate->delivered, rate->at_once, now_ns, rate->heard_ns, rate->heard_sent_ns, is_limited,
            is_first, false};
    }
}

void co_send_rate_give_up(struct co_send_rate *rate)
{
    unsigned most = co_send_rate_now(rate) == 0 ? CO_SEND_RATE_GIVEN_UP_UNKNOWN : CO_SEND_RATE_GIVEN_UP_MOST;
    rate->given_up += rate->given_up < most;
    for (unsigned i = 0; i < rate->count; i++) {
        rate->marks[(rate->first + i) % CO_SEND_RATE_MARKS].is_given_up = true;
    }
}

static void rate_end_round(struct co_send_rate *rate, uint32_t sent, uint64_t before, uint64_t sample, bool is_limited)
{
    rate->round_end = sent;
    rate->is_growing = co_send_rate_now(rate) * 4 >= before * 5;
    if (co_send_rate_now(rate) * 4 >= rate->grown_to * 5) {
        rate->grown_to = co_send_rate_now(rate);
        rate->flat_rounds = 0;
    } else {
        rate->flat_rounds += !is_limited && rate->flat_rounds < CO_SEND_RATE_FLAT;
    }
    uint64_t now = co_send_rate_now(rate);
    if (now > 0 && now * 8 >= rate->turns_grown * 9 && rate->turns < rate->window) {
        rate->turns += rate->turns / 2 + 1;
        rate->turns_grown = now;
    }
    if (!is_limited && ++rate->rounds % CO_SEND_RATE_ROUNDS == 0) {
        rate->best[1] = rate->best[0];
        rate->best[0] = sample;
    }
}

// What was sent last of all that is `heard` now, and leaves the list; the least round trip goes by all of it. is_asked:
// the word answers a question. sent_ns 0: none.
static struct co_send_mark rate_take(struct co_send_rate *rate, uint32_t heard, bool is_asked, uint64_t now_ns)
{
    struct co_send_mark mark = {.sent_ns = 0};
    while (rate->count > 0 && !co_serial_before(heard, rate->marks[rate->first].sent)) {
        mark = rate->marks[rate->first];
        rate->first = (rate->first + 1) % CO_SEND_RATE_MARKS;
        rate->count--;
        uint64_t rtt_ns = now_ns > mark.sent_ns ? now_ns - mark.sent_ns : 1;
        rate->least_rtt_ns = rate->least_rtt_ns == 0 || rtt_ns < rate->least_rtt_ns ? rtt_ns : rate->least_rtt_ns;
        bool is_repair = is_asked || mark.is_given_up; // then it is the time of a repair (Karn)
        if (!is_repair) {
            co_usual_time_sample(&rate->rtts, rtt_ns);
        }
        if (!is_repair || mark.senders == 1) {
            co_path_queue_stand(&rate->queue, (rtt_ns - rate->least_rtt_ns) / CO_NS_PER_US);
        }
    }
    return mark;
}

void co_send_rate_time_flight(struct co_send_rate *rate, uint32_t heard, uint64_t now_ns)
{
    if (rate->flight_ns == 0) {
        return;
    }
    if (rate->first_heard_ns == 0) {
        rate->first_heard = heard;
        rate->first_heard_ns = now_ns;
        return;
    }
    uint64_t first = rate->first_heard - rate->flight, more = heard - rate->first_heard;
    if (first == 0 || more < first) {
        return;
    }
    uint64_t out_ns = (now_ns - rate->first_heard_ns) * first / more, took_ns = rate->first_heard_ns - rate->flight_ns;
    uint64_t far_ns = took_ns > out_ns ? took_ns - out_ns : 1;
    rate->far_ns = rate->far_ns == 0 || far_ns < rate->far_ns ? far_ns : rate->far_ns;
    rate->flight_ns = 0;
}

// Since the mark. News may come in a bunch: not faster than it was sent.
static uint64_t rate_sampled_ns(const struct co_send_mark *mark, uint64_t now_ns)
{
    uint64_t heard_in_ns = now_ns - mark->heard_ns, sent_in_ns = mark->sent_ns - mark->before_ns;
    uint64_t in_ns = heard_in_ns > sent_in_ns ? heard_in_ns : sent_in_ns;
    return in_ns > 0 ? in_ns : 1;
}

// Operations too short to tell the rate would be paced for ever by what a slow beginning, or a path that was another
// one, told. But no path brings a flight sooner than its rate allows: so many in a row that were heard sooner by a
// quarter, and the rate begins anew, as that of who was idle for long (RFC 5681, 4.1). Otherwise it holds: without it
// they would overrun the ports that it was learned from. One by which nothing is paced may stay: what is too fast shows
// by loss. `mark`: of what leaves first.
static void rate_doubt(struct co_send_rate *rate, const struct co_send_mark *mark, uint32_t delivered, uint64_t now_ns)
{
    if (mark->heard_ns != rate->begun_ns) { // not the first word of the flight: the rest was paced
        return;
    }
    uint64_t needs = (delivered - mark->delivered) * CO_NS_PER_S, in_ns = rate_sampled_ns(mark, now_ns);
    rate->untold = needs / in_ns * 4 > co_send_rate_now(rate) * 5 ? rate->untold + 1 : 0;
    if (rate->untold < CO_SEND_RATE_UNTOLD || co_send_rate_is_fast(rate)) {
        return;
    }
    rate->untold = 0;
    rate->best[0] = rate->best[1] = rate->grown_to = 0;
    rate->flat_rounds = 0;
}

// Chunks a second from the mark to now. What was let through at once does not make a path faster than it was thought to
// be, nor what was not make it slower.
static uint64_t rate_sample(const struct co_send_mark *mark, uint32_t delivered, uint64_t before, uint64_t now_ns)
{
    uint64_t in_ns = rate_sampled_ns(mark, now_ns);
    uint32_t chunks = delivered - mark->delivered, sure = chunks > mark->at_once ? chunks - mark->at_once : 0;
    uint64_t most = chunks * CO_NS_PER_S / in_ns, least = sure * CO_NS_PER_S / in_ns;
    return before == 0 || before > most ? most : before < least ? least : before;
}

void co_send_rate_time_news(struct co_send_rate *rate, uint64_t now_ns)
{
    uint64_t gap_ns = now_ns - rate->heard_ns, part_ns = rate_part_ns(rate, 1);
    co_path_queue_late(&rate->queue, gap_ns > part_ns ? (gap_ns - part_ns) / CO_NS_PER_US : 0);
}

void co_send_rate_hear(struct co_send_rate *rate, uint32_t heard, uint32_t sent, uint32_t delivered, bool is_asked,
                       uint64_t now_ns)
{
    struct co_send_mark mark = rate_take(rate, heard, is_asked, now_ns);
    uint64_t before = co_send_rate_now(rate);
    rate->delivered = delivered;
    rate->heard_ns = now_ns;
    rate->at_once = 0;
    rate->given_up = 0;
    if (mark.sent_ns == 0) {
        return;
    }
    rate->heard_sent_ns = mark.sent_ns;
    if (mark.is_first) {
        rate_doubt(rate, &mark, delivered, now_ns);
        return;
    }
    rate->untold = 0;
    uint64_t sample = rate_sample(&mark, delivered, before, now_ns);
    if (sample > rate->best[0] && (!mark.is_limited || (before > 0 && sample > before))) {
        rate->best[0] = sample;
    }
    if (!co_serial_before(heard, rate->round_end)) {
        rate_end_round(rate, sent, before, sample, mark.is_limited);
    }
}
