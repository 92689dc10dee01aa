// SPDX-License-Identifier: BSD-3-Clause
//
// Blocks of messages against the list oracle. Lanes are coroutines; a seeded scheduler runs one at a time from marked
// step to marked step (match_steps.h), so a failing seed is found again. The small space is enumerated completely, with
// several schedules for each case; larger ones are drawn. CASTOFF_TEST_SEEDS sets how many.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "match_oracle.h"

#define CO_MATCH_STEPS
#include "matching/match_lane.c" // with steps: the library's object, which has none, is left out

enum { LANES = CO_MATCH_LANES_MAX, RECEIVES = 64, STACK = 64 << 10, PLACES = 128, BINS = 4 };

static uint64_t dice;

static unsigned roll(unsigned below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((dice >> 33) % below);
}

// Coroutines.
static ucontext_t scheduler, lane_context[LANES];
static char stacks[LANES][STACK];
static bool has_ended[LANES];
static struct co_match_batch *running;
static uint64_t steps;

void co_match_step(struct co_match_batch *block, unsigned lane)
{
    (void)block;
    steps++;
    swapcontext(&lane_context[lane], &scheduler);
}

static void pause_lane(void *arg, unsigned lane)
{
    (void)arg;
    swapcontext(&lane_context[lane], &scheduler);
}

static void lane_main(unsigned lane)
{
    co_match_lane_run(running, lane);
    has_ended[lane] = true;
    swapcontext(&lane_context[lane], &scheduler);
}

// The lane that goes on: by chance, or one that hogs until it waits, late lanes first.
static unsigned choose(unsigned count, int manner, unsigned last)
{
    if (manner == 1 && !has_ended[last] && roll(8) != 0) {
        return last;
    }
    unsigned lane = manner == 2 && roll(4) != 0 ? count - 1 : roll(count);
    while (has_ended[lane]) {
        lane = (lane + 1) % count;
    }
    return lane;
}

static void open_lane(unsigned lane)
{
    has_ended[lane] = false;
    getcontext(&lane_context[lane]);
    lane_context[lane].uc_stack.ss_sp = stacks[lane];
    lane_context[lane].uc_stack.ss_size = STACK;
    lane_context[lane].uc_link = NULL;
    makecontext(&lane_context[lane], (void (*)(void))lane_main, 1, lane);
}

static void run_lanes(struct co_match_batch *block, int manner)
{
    running = block;
    for (unsigned i = 0; i < block->count; i++) {
        open_lane(i);
    }
    unsigned last = 0;
    for (;;) {
        unsigned left = 0;
        for (unsigned i = 0; i < block->count; i++) {
            left += !has_ended[i];
        }
        if (left == 0) {
            return;
        }
        last = choose(block->count, manner, last);
        swapcontext(&scheduler, &lane_context[last]);
    }
}

// One matcher beside the oracle; blocks of messages come, receives are posted and cancelled in between.
struct bench {
    void *memory;
    struct co_matcher *matcher;
    struct oracle oracle;
    struct co_match_node receives[RECEIVES * 64], messages[LANES * 64];
    int posted, arrived;
};

static struct bench bench;

static void bench_open(uint32_t places)
{
    static const size_t ROOM = 1 << 20;
    struct co_matcher_config config = {.receives = places, .messages = PLACES, .bins = BINS};
    if (bench.memory == NULL) {
        bench.memory = aligned_alloc(CO_LINE_PAIR, ROOM);
    }
    assert_true(co_matcher_bytes(&config) <= ROOM);
    memset(bench.memory, 0, co_matcher_bytes(&config));
    bench.matcher = co_matcher_open(bench.memory, &config);
    bench.oracle.receive_count = bench.oracle.message_count = 0;
    bench.posted = bench.arrived = 0;
}

static void post(int32_t source, int32_t tag)
{
    struct co_match_node *receive = &bench.receives[bench.posted];
    *receive = (struct co_match_node){.source = source, .tag = tag};
    struct co_match_node *message = co_matcher_post(bench.matcher, receive);
    int expected = oracle_post(&bench.oracle, bench.posted++, source, tag);
    assert_int_equal(message == NULL ? ORACLE_NONE : (int)(message - bench.messages), expected);
}

struct block_key {
    int32_t source, tag;
};

static void block_of(const struct block_key *keys, unsigned count, bool early_check, int manner)
{
    static struct co_match_batch block;
    block.matcher = bench.matcher;
    block.count = count;
    block.early_check = early_check;
    block.pause = pause_lane;
    block.faults = 0;
    int first = bench.arrived;
    for (unsigned i = 0; i < count; i++) {
        struct co_match_node *message = &bench.messages[bench.arrived++];
        *message = (struct co_match_node){.source = keys[i].source, .tag = keys[i].tag};
        block.messages[i] = message;
        block.hashes[i] = co_match_hashes_of(keys[i].source, keys[i].tag);
    }
    if (co_match_batch_begin(&block)) {
        run_lanes(&block, manner);
        assert_int_equal(block.faults, 0);
        co_match_batch_end(&block);
    }
    for (unsigned i = 0; i < count; i++) {
        int expected = oracle_arrive(&bench.oracle, first + (int)i, keys[i].source, keys[i].tag);
        struct co_match_node *receive = block.receives[i];
        assert_int_equal(receive == NULL ? ORACLE_NONE : (int)(receive - bench.receives), expected);
    }
}

// What was left waiting must be found by wildcards in the order in which it came.
static void drain(void)
{
    while (bench.oracle.message_count > 0) {
        int before = bench.oracle.message_count;
        post(CO_MATCH_ANY, CO_MATCH_ANY);
        assert_true(bench.oracle.message_count < before);
    }
}

static int32_t key_of(unsigned digit)
{
    return digit == 2 ? CO_MATCH_ANY : (int32_t)digit;
}

static void enumerate(unsigned lanes, unsigned receives, int schedules)
{
    unsigned receive_cases = 1, message_cases = 1;
    for (unsigned i = 0; i < receives; i++) {
        receive_cases *= 9;
    }
    for (unsigned i = 0; i < lanes; i++) {
        message_cases *= 4;
    }
    for (unsigned r = 0; r < receive_cases; r++) {
        for (unsigned m = 0; m < message_cases; m++) {
            for (int schedule = 0; schedule < schedules; schedule++) {
                dice = (uint64_t)r * 1000003 + m * 101 + (unsigned)schedule;
                bench_open(PLACES);
                for (unsigned i = 0, code = r; i < receives; i++, code /= 9) {
                    post(key_of(code % 3), key_of(code / 3 % 3));
                }
                struct block_key keys[LANES];
                for (unsigned i = 0, code = m; i < lanes; i++, code /= 4) {
                    keys[i] = (struct block_key){(int32_t)(code & 1), (int32_t)(code >> 1 & 1)};
                }
                block_of(keys, lanes, schedule % 2, schedule % 3);
                drain();
            }
        }
    }
}

static void the_small_space_completely(void **state)
{
    (void)state;
    enumerate(2, 2, 6);
    enumerate(2, 3, 3);
    enumerate(3, 3, 2);
}

// Runs of equal receives, where lanes meet: one key, or two, with runs that are shorter than the block, and cancels
// that leave holes in them.
static void stream_with(uint64_t seed, unsigned lanes)
{
    dice = seed;
    bench_open(roll(8) == 0 ? 8 : PLACES);
    unsigned keys = 1 + roll(3);
    for (int round = 0; round < 12; round++) {
        for (unsigned left = roll(RECEIVES / 2); left > 0;) {
            int32_t source = roll(3) ? (int32_t)roll(keys) : CO_MATCH_ANY, tag = roll(4) ? 0 : CO_MATCH_ANY;
            for (unsigned run = 1 + roll(lanes + 2); run > 0 && left > 0; run--, left--) {
                post(source, tag);
            }
        }
        for (unsigned cancels = roll(4); cancels > 0 && bench.posted > 0; cancels--) {
            int id = (int)roll((unsigned)bench.posted);
            assert_int_equal(co_matcher_cancel(bench.matcher, &bench.receives[id]), oracle_cancel(&bench.oracle, id));
        }
        struct block_key messages[LANES];
        unsigned count = roll(3) ? lanes : 1 + roll(lanes);
        for (unsigned i = 0; i < count; i++) {
            messages[i] = (struct block_key){(int32_t)roll(keys), roll(12) == 0 ? 1 : 0};
        }
        block_of(messages, count, roll(2), (int)roll(3));
    }
    drain();
}

static int seeds(void)
{
    const char *text = getenv("CASTOFF_TEST_SEEDS");
    return text == NULL ? 600 : atoi(text);
}

static void any_stream_of_blocks(void **state)
{
    (void)state;
    static const unsigned lanes[] = {2, 3, 4, 8, 32};
    for (int seed = 1; seed <= seeds(); seed++) {
        stream_with((uint64_t)seed, lanes[seed % 5]);
    }
}

// The paths are taken where they should be: all lanes on one run of receives go by the fast one.
static void a_run_goes_by_the_fast_path(void **state)
{
    (void)state;
    dice = 5;
    bench_open(PLACES);
    struct block_key keys[8] = {{0, 0}};
    for (int i = 0; i < 8; i++) {
        post(CO_MATCH_ANY, 0);
    }
    struct co_matcher_state now;
    block_of(keys, 8, false, 2);
    co_matcher_state(bench.matcher, &now);
    assert_int_equal(now.free_path + now.fast_path + now.slow_path, 8);
    assert_int_equal(now.free_path, 1);
    assert_true(now.fast_path > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_small_space_completely),
        cmocka_unit_test(any_stream_of_blocks),
        cmocka_unit_test(a_run_goes_by_the_fast_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
