// SPDX-License-Identifier: BSD-3-Clause
//
// What is made of the times that shm_measure.c takes: what is still to be copied, and from which size on the straight
// copy is faster. Without a clock and without the other process, so that a test can give it the times of any machine.
// Whatever disturbs a copy makes it longer, never shorter. So the faster of two may be faster still, and the slower one
// is as slow as it seems where its time comes again. Where it does not, what is right on most machines holds. Cold.
#ifndef CASTOFF_SHM_JUDGE_H
#define CASTOFF_SHM_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/copy_trials.h"

// What is copied: a message from one to the other; a block that both copy a half of; a block of each to the other.
enum co_shm_pattern { CO_SHM_PATTERN_MESSAGE, CO_SHM_PATTERN_BCAST, CO_SHM_PATTERN_ALLGATHER, CO_SHM_PATTERNS };
// Programs write their buffers anew or do not: half of the copies each.
enum co_shm_source { CO_SHM_REWRITTEN, CO_SHM_KEPT, CO_SHM_SOURCES };

#define CO_SHM_MEASURED_SIZES 3 // 16, 64 and 256 KiB
#define CO_SHM_MEASURED_LEAST ((size_t)16 << 10)
#define CO_SHM_PAIRS (CO_SHM_PATTERNS * CO_SHM_MEASURED_SIZES) // of copies that are compared: a pattern and a size

struct co_shm_samples {
    uint64_t least_ns, second_ns; // of the copies that nothing disturbed; 0: none
};

struct co_shm_pair {
    struct co_shm_samples samples[CO_COPY_PATHS][CO_SHM_SOURCES];
    unsigned rounds; // begun: a copy each
};

struct co_shm_evidence {
    struct co_shm_pair pairs[CO_SHM_PATTERNS][CO_SHM_MEASURED_SIZES];
};

struct co_shm_measured {
    // Of each pattern, the size from which on the straight copy is faster: between the last size at which it is not and
    // the next one, nearer to that where the two differ less; the smallest if it is faster at all, SIZE_MAX if it is
    // not at the largest. 0: nothing was measured.
    uint64_t from[CO_SHM_PATTERNS];
    uint32_t certain; // pairs; of the others the usual holds
    uint32_t rounds;  // of all pairs, that were begun
};

static inline size_t co_shm_measured_size(unsigned index)
{
    return CO_SHM_MEASURED_LEAST << (2 * index);
}

// A copy took so long; one of the two lost its processor meanwhile, or none.
static inline void co_shm_samples_add(struct co_shm_samples *samples, uint64_t took_ns, bool is_disturbed)
{
    if (is_disturbed) {
        return;
    }
    if (samples->least_ns == 0 || took_ns < samples->least_ns) {
        samples->second_ns = samples->least_ns;
        samples->least_ns = took_ns;
    } else if (samples->second_ns == 0 || took_ns < samples->second_ns) {
        samples->second_ns = took_ns;
    }
}

// Which pair is copied next: pattern * CO_SHM_MEASURED_SIZES + size. -1: more would tell nothing.
int co_shm_evidence_next(const struct co_shm_evidence *evidence);

void co_shm_evidence_judge(const struct co_shm_evidence *evidence, struct co_shm_measured *measured);

#endif
