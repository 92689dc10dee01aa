// SPDX-License-Identifier: BSD-3-Clause
//
// How long something usually takes, where some of the samples are of waits for what was lost. A mean and four
// deviations (rtt.h) do not bear that: let a share f of the samples be as long as the limit L that they set, and
// the others short, then the next limit is f (9 - 8 f) L, which grows without end once an eighth is lost. The median
// does not move before half of it is. Nanoseconds. Pure, warm.
#ifndef CASTOFF_MCAST_SEND_USUAL_TIME_H
#define CASTOFF_MCAST_SEND_USUAL_TIME_H

#include <stdint.h>

#define CO_USUAL_TIME_SAMPLES 8

struct co_usual_time {
    uint64_t latest_ns[CO_USUAL_TIME_SAMPLES]; // a ring
    uint64_t sorted_ns[CO_USUAL_TIME_SAMPLES]; // the same
    unsigned count, next;
};

static inline void co_usual_time_sample(struct co_usual_time *time, uint64_t sample_ns)
{
    unsigned at = time->count;
    if (time->count < CO_USUAL_TIME_SAMPLES) {
        time->count++;
    } else {
        for (at = 0; time->sorted_ns[at] != time->latest_ns[time->next]; at++) {
        }
    }
    time->latest_ns[time->next] = sample_ns;
    time->next = (time->next + 1) % CO_USUAL_TIME_SAMPLES;
    for (; at > 0 && time->sorted_ns[at - 1] > sample_ns; at--) {
        time->sorted_ns[at] = time->sorted_ns[at - 1];
    }
    for (; at + 1 < time->count && time->sorted_ns[at + 1] < sample_ns; at++) {
        time->sorted_ns[at] = time->sorted_ns[at + 1];
    }
    time->sorted_ns[at] = sample_ns;
}

// Twice what half of the latest took at most, within [least_ns, most_ns]: what takes longer is overdue.
static inline uint64_t co_usual_time_limit_ns(const struct co_usual_time *time, uint64_t least_ns, uint64_t most_ns)
{
    uint64_t limit_ns = time->count == 0 ? 0 : 2 * time->sorted_ns[(time->count - 1) / 2];
    return limit_ns < least_ns ? least_ns : limit_ns > most_ns ? most_ns : limit_ns;
}

#endif
