// SPDX-License-Identifier: BSD-3-Clause
//
// The judge of shm_judge.h.
#include "shm/shm_judge.h"

#define ROUNDS_MOST 8    // of a pair; who is not certain then will not be
#define STEADY_PARTS 4   // a time comes again where the second is longer by no more than a part of so many
#define AS_LONG_AS 1000u // the ring's time below

// The straight copy's time over the ring's, in thousandths, for what is not certain; as much longer as it is for what
// is. The MPI below copies straight from
// 4 KiB on, so who does likewise is hardly slower than it anywhere. By ring an Intel Emerald Rapids takes up to 2.5
// times as long, an AMD EPYC is up to 1.5 times as fast with messages and as fast with blocks of 256 KiB.
static const unsigned usual[CO_SHM_PATTERNS][CO_SHM_MEASURED_SIZES] = {
    [CO_SHM_PATTERN_MESSAGE] = {900, 600, 600},
    [CO_SHM_PATTERN_BCAST] = {1150, 950, 700},
    [CO_SHM_PATTERN_ALLGATHER] = {1100, 900, 800},
};

// By ring each line goes from one core's cache to the other's and back, which on a virtual machine took up to five
// times as long at some times as at others; a straight copy of a block that the program keeps took at most half as long
// again. What is measured here may be of other times than the job. All are tried again in use (base/copy_trials.h), but
// most communicators have few broadcasts: these begin by ring from 64 KiB on only where that is twice as fast.
static unsigned ring_counts(int pattern, unsigned size)
{
    return pattern == CO_SHM_PATTERN_BCAST && size > 0 ? 2 : 1;
}

// Of both sources together. False: one of them was not copied.
static bool sum(const struct co_shm_samples samples[CO_SHM_SOURCES], uint64_t *least_ns, bool *is_steady)
{
    uint64_t second_ns = 0;
    bool is_whole = true, has_two = true;
    *least_ns = 0;
    for (int source = 0; source < CO_SHM_SOURCES; source++) {
        is_whole = is_whole && samples[source].least_ns != 0;
        has_two = has_two && samples[source].second_ns != 0;
        *least_ns += samples[source].least_ns;
        second_ns += samples[source].second_ns;
    }
    *is_steady = has_two && second_ns - *least_ns <= *least_ns / STEADY_PARTS;
    return is_whole;
}

// Its times, if they are certain.
static bool has_times(const struct co_shm_pair *pair, uint64_t times[CO_COPY_PATHS])
{
    bool are_steady[CO_COPY_PATHS], are_whole = true;
    for (int copy = 0; copy < CO_COPY_PATHS; copy++) {
        are_whole = sum(pair->samples[copy], &times[copy], &are_steady[copy]) && are_whole;
    }
    int slower = times[CO_COPY_BY_RING] > times[CO_COPY_STRAIGHT] ? CO_COPY_BY_RING : CO_COPY_STRAIGHT;
    return are_whole && are_steady[slower];
}

// How much slower the straight copy is here than usual, in thousandths: the mean of all pairs that are certain.
static uint64_t than_usual(const struct co_shm_evidence *evidence)
{
    uint64_t all = 0, count = 0, times[CO_COPY_PATHS];
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        for (int size = 0; size < CO_SHM_MEASURED_SIZES; size++) {
            if (has_times(&evidence->pairs[pattern][size], times)) {
                uint64_t here = AS_LONG_AS * times[CO_COPY_STRAIGHT] / times[CO_COPY_BY_RING];
                all += AS_LONG_AS * here / usual[pattern][size];
                count++;
            }
        }
    }
    return count == 0 ? AS_LONG_AS : all / count;
}

// The larger sizes first, for their copies differ most, and then in turns: who is disturbed now is not a moment later.
int co_shm_evidence_next(const struct co_shm_evidence *evidence)
{
    unsigned least = ROUNDS_MOST;
    int next = -1;
    for (unsigned size = CO_SHM_MEASURED_SIZES; size-- > 0;) {
        for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
            unsigned rounds = evidence->pairs[pattern][size].rounds;
            uint64_t times[CO_COPY_PATHS];
            if (rounds < least && !has_times(&evidence->pairs[pattern][size], times)) {
                least = rounds;
                next = pattern * CO_SHM_MEASURED_SIZES + (int)size;
            }
        }
    }
    return next;
}

static size_t straight_from(const struct co_shm_evidence *evidence, int pattern, uint32_t *certain)
{
    size_t from = 0;       // once it is known
    double gain_above = 0; // of the straight copy at the size above, as a part of its time
    for (unsigned i = CO_SHM_MEASURED_SIZES; i-- > 0;) {
        uint64_t times[CO_COPY_PATHS];
        if (has_times(&evidence->pairs[pattern][i], times)) {
            (*certain)++;
        } else {
            times[CO_COPY_BY_RING] = AS_LONG_AS;
            times[CO_COPY_STRAIGHT] = usual[pattern][i] * than_usual(evidence) / AS_LONG_AS;
        }
        double ring = (double)times[CO_COPY_BY_RING] * ring_counts(pattern, i),
               straight = (double)times[CO_COPY_STRAIGHT];
        if (from != 0) {
            continue;
        }
        if (straight < ring) {
            gain_above = (ring - straight) / straight;
        } else if (i + 1 == CO_SHM_MEASURED_SIZES) {
            from = SIZE_MAX;
        } else {
            double loss = (straight - ring) / ring;
            double gap = (double)(co_shm_measured_size(i + 1) - co_shm_measured_size(i));
            from = co_shm_measured_size(i) + (size_t)(gap * loss / (loss + gain_above));
        }
    }
    return from == 0 ? co_shm_measured_size(0) : from;
}

void co_shm_evidence_judge(const struct co_shm_evidence *evidence, struct co_shm_measured *measured)
{
    measured->certain = measured->rounds = 0;
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        measured->from[pattern] = straight_from(evidence, pattern, &measured->certain);
        for (int size = 0; size < CO_SHM_MEASURED_SIZES; size++) {
            measured->rounds += evidence->pairs[pattern][size].rounds;
        }
    }
}
