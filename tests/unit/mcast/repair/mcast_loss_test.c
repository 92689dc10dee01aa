// SPDX-License-Identifier: BSD-3-Clause
//
// What loss costs, in virtual time and so the same on every machine: time to repair one chunk, goodput at 1 % loss,
// bytes fetched for bytes lost, time of a large Bcast against the link, bytes that an allgather sends.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { TIMES = 6, SEEDS = 4 };

static struct world_options lab(uint64_t bytes_per_s)
{
    struct world_options options = world_defaults(8);
    options.chunk_bytes = 1432;
    options.window_bytes = 512 << 10;
    options.staging_bytes = 4 << 20;
    options.eager_bytes = 8192;
    options.bytes_per_s = bytes_per_s;
    return options;
}

struct cost {
    uint64_t ns, fetched, sent, wire_lost;
};

// `times` operations of one kind one after the other in a fresh job.
static struct cost run(const struct world_options *options, bool is_bcast, size_t bytes, int times)
{
    struct world world;
    struct cost cost = {.fetched = co_counter_read(CO_COUNT_RETRANSMITTED),
                        .sent = co_counter_read(CO_COUNT_DATA_SENT_BYTES),
                        .wire_lost = co_counter_read(CO_COUNT_FAULTS_INJECTED)};
    world_open(&world, options);
    cost.ns = co_loopback_now_ns(world.hub);
    for (int i = 0; i < times; i++) {
        if (is_bcast) {
            world_bcast(&world, i % options->members, bytes, (unsigned)i);
        } else {
            world_allgather(&world, bytes, (unsigned)i);
        }
    }
    cost.ns = co_loopback_now_ns(world.hub) - cost.ns;
    cost.fetched = co_counter_read(CO_COUNT_RETRANSMITTED) - cost.fetched;
    cost.sent = co_counter_read(CO_COUNT_DATA_SENT_BYTES) - cost.sent;
    cost.wire_lost = co_counter_read(CO_COUNT_FAULTS_INJECTED) - cost.wire_lost;
    world_close(&world);
    return cost;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void one_lost_chunk(void **state)
{
    (void)state; // half a second, a second and 50 ms elsewhere
    enum { CHUNKS = (262144 + 1431) / 1432, TRIED = (CHUNKS + 3) / 4 };
    struct world_options options = lab(12500000);
    uint64_t whole = run(&options, true, 262144, 1).ns, over[TRIED];
    for (int lost = 0; lost < CHUNKS; lost += 4) {
        char plan[60];
        snprintf(plan, sizeof(plan), "script=%d,kind=data", lost);
        options.faults = plan;
        uint64_t ns = run(&options, true, 262144, 1).ns;
        over[lost / 4] = ns > whole ? ns - whole : 0;
    }
    qsort(over, TRIED, sizeof(*over), by_size);
    print_message("one lost chunk costs: median %" PRIu64 " us, p99 %" PRIu64 " us, most %" PRIu64 " us over %" PRIu64
                  " us\n",
                  over[TRIED / 2] / 1000, over[TRIED * 99 / 100] / 1000, over[TRIED - 1] / 1000, whole / 1000);
    assert_true(over[TRIED / 2] <= 1000000);
    assert_true(over[TRIED * 99 / 100] <= 5000000);
    assert_true(over[TRIED - 1] <= 100000000);
}

// Once for each of some seeds: one alone says what happened to it.
static struct cost run_seeds(struct world_options *options, bool is_bcast, size_t bytes, const char *faults)
{
    struct cost sum = {0};
    for (int seed = 1; seed <= SEEDS; seed++) {
        char plan[80];
        snprintf(plan, sizeof(plan), "%s,seed=%d", faults, seed);
        options->faults = plan;
        struct cost cost = run(options, is_bcast, bytes, TIMES);
        sum = (struct cost){sum.ns + cost.ns, sum.fetched + cost.fetched, sum.sent + cost.sent,
                            sum.wire_lost + cost.wire_lost};
    }
    options->faults = NULL;
    return sum;
}

// Loss of data alone is counted byte for byte; loss of everything is what a network does.
static void loss_of(bool is_bcast, size_t bytes, const char *what)
{
    static const char *const percent[] = {"0.01", "0.02", "0.05"};
    struct world_options options = lab(25000000);
    struct cost clean = run(&options, is_bcast, bytes, TIMES * SEEDS);
    assert_int_equal(clean.fetched, 0);
    for (int i = 0; i < 3; i++) {
        char data_plan[60], plan[60];
        snprintf(data_plan, sizeof(data_plan), "drop=%s,kind=data", percent[i]);
        snprintf(plan, sizeof(plan), "drop=%s", percent[i]);
        struct cost data = run_seeds(&options, is_bcast, bytes, data_plan),
                    all = run_seeds(&options, is_bcast, bytes, plan);
        double goodput_data = (double)clean.ns / (double)data.ns, goodput = (double)clean.ns / (double)all.ns;
        double refetched = (double)data.fetched / ((double)data.wire_lost * 1432.0 * 7.0);
        print_message("%s, loss %s: goodput %.3f (data only %.3f), fetched over lost %.3f\n", what, percent[i], goodput,
                      goodput_data, refetched);
        if (i == 0) {
            assert_true((is_bcast ? goodput : goodput_data) >= 0.8);
            assert_true(goodput >=
                        0.5); // an allgather at the full rate of all is over before a lost request is noticed
        }
        assert_true(refetched <= 1.10);
        assert_true(!is_bcast || goodput_data >= 0.95);
    }
}

static void one_percent_of_a_bcast(void **state)
{
    (void)state;
    loss_of(true, 1 << 20, "Bcast 1 MiB");
}

static void one_percent_of_an_allgather(void **state)
{
    (void)state;
    loss_of(false, 256 << 10, "Allgather 256 KiB");
}

static void close_to_the_link(void **state)
{
    (void)state;
    struct world_options options = lab(25000000);
    uint64_t bcast = run(&options, true, 1 << 20, 10).ns / 10, gather = run(&options, false, 256 << 10, 5).ns / 5;
    double bcast_limit = (1 << 20) / 25e6 * 1e9, gather_limit = 8 * (256 << 10) / 25e6 * 1e9;
    print_message("Bcast 1 MiB %.2f x the link, Allgather 256 KiB at once %.2f x one sender's share\n",
                  (double)bcast / bcast_limit, (double)gather / (gather_limit / 8));
    assert_true((double)bcast <= 1.09 * bcast_limit);
}

static void an_allgather_sends_each_byte_once(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "dup=1", "dup=1,reorder=0.3,seed=3"};
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct world_options options = lab(25000000);
        options.faults = plans[i];
        assert_int_equal(run(&options, false, 100001, 3).sent, 3 * 8 * 100001);
        assert_int_equal(run(&options, true, 100001, 3).sent, 3 * 100001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_lost_chunk),
        cmocka_unit_test(one_percent_of_a_bcast),
        cmocka_unit_test(one_percent_of_an_allgather),
        cmocka_unit_test(close_to_the_link),
        cmocka_unit_test(an_allgather_sends_each_byte_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
