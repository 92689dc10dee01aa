// SPDX-License-Identifier: BSD-3-Clause
//
// One block on a bench, for the tests of its state machine: chunks are taken and requests asked for at given times.
#ifndef CASTOFF_TESTS_RECEIVE_BENCH_H
#define CASTOFF_TESTS_RECEIVE_BENCH_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/repair/loss_detector.h"

#define CHUNKS_MAX 2048
#define ROOM 128
#define BUDGET 128

static const struct co_loss_timing TIMING = {.cutoff_ns = 1000,
                                             .retry_ns = 5000,
                                             .probe_ns = 5000,
                                             .rtt_ns = 500,
                                             .reorder_ns = 100,
                                             .budget = BUDGET,
                                             .is_next = true};

struct bench {
    struct co_receive_block block;
    uint64_t words[CHUNKS_MAX / 64];
    struct co_nack_range ranges[ROOM];
    struct co_nack request;
};

static inline void bench_open(struct bench *bench, uint32_t chunks, uint64_t now_ns)
{
    memset(bench, 0, sizeof(*bench));
    co_receive_block_open(&bench->block, bench->words, 0, (size_t)chunks * 10, chunks, now_ns);
}

static inline bool take(struct bench *bench, uint32_t psn, uint64_t now_ns)
{
    return co_receive_block_accept(&bench->block, psn, false, now_ns);
}

static inline unsigned ask_with(struct bench *bench, const struct co_loss_timing *timing, uint64_t now_ns,
                                unsigned room)
{
    bench->request = (struct co_nack){.ranges = bench->ranges, .room = room};
    return co_loss_detector_find(&bench->block, timing, now_ns, &bench->request);
}

static inline unsigned ask(struct bench *bench, uint64_t now_ns)
{
    return ask_with(bench, &TIMING, now_ns, ROOM);
}

static inline uint64_t due(const struct bench *bench)
{
    return co_loss_detector_due_ns(&bench->block, &TIMING);
}

static inline void assert_range(const struct bench *bench, unsigned index, uint32_t first, uint32_t count)
{
    assert_int_equal(bench->ranges[index].first, first);
    assert_int_equal(bench->ranges[index].count, count);
}

#endif
