// SPDX-License-Identifier: BSD-3-Clause
//
// What is made of times by ring and straight: where the two cross, and what is not believed. Times of quiet and of busy
// machines as they were measured; no clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shm/shm_judge.h"

// The same time twice, half of it from memory just written.
static void add_steady(struct co_shm_pair *pair, int copy, uint64_t both_ns)
{
    for (int time = 0; time < 2 && both_ns > 0; time++) {
        co_shm_samples_add(&pair->samples[copy][CO_SHM_REWRITTEN], both_ns - both_ns / 2, false);
        co_shm_samples_add(&pair->samples[copy][CO_SHM_KEPT], both_ns / 2, false);
    }
}

static size_t kib(size_t from)
{
    return from == SIZE_MAX ? 0 : from >> 10;
}

static unsigned certain(const struct co_shm_evidence *evidence)
{
    struct co_shm_measured measured;
    co_shm_evidence_judge(evidence, &measured);
    return measured.certain;
}

static size_t straight_from(const struct co_shm_evidence *evidence, int pattern)
{
    struct co_shm_measured measured;
    co_shm_evidence_judge(evidence, &measured);
    return (size_t)measured.from[pattern];
}

// What nothing was measured of.
static void usual_of(size_t from[CO_SHM_PATTERNS])
{
    struct co_shm_evidence none = {0};
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        from[pattern] = straight_from(&none, pattern);
    }
}

// By ring, for it to count so long: broadcasts from 64 KiB on count twice.
static uint64_t ring_ns(int pattern, int size, uint64_t counts_ns)
{
    return pattern == CO_SHM_PATTERN_BCAST && size > 0 ? counts_ns / 2 : counts_ns;
}

static void it_is_faster_from_where_the_two_cross(void **state)
{
    (void)state;
    static const struct {
        uint64_t times[CO_SHM_MEASURED_SIZES][CO_COPY_PATHS];
        size_t from; // KiB; 0: never
    } cases[] = {
        {{{10, 5}, {40, 20}, {160, 80}}, 16},       // always
        {{{10, 10}, {40, 39}, {160, 80}}, 16},      // as fast at the least
        {{{100, 110}, {330, 300}, {900, 500}}, 40}, // as much slower at 16 KiB as faster at 64
        {{{10, 9}, {400, 404}, {2000, 1000}}, 65},  // hardly slower at 64 KiB, twice as fast at 256
        {{{10, 9}, {100, 200}, {1010, 1000}}, 254}, // the other way round
        {{{10, 5}, {40, 20}, {160, 160}}, 0},       // not at the largest
    };
    assert_int_equal(co_shm_measured_size(0), 16 << 10);
    assert_int_equal(co_shm_measured_size(CO_SHM_MEASURED_SIZES - 1), 256 << 10);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct co_shm_evidence evidence = {0};
        for (int pair = 0; pair < CO_SHM_PAIRS; pair++) {
            int pattern = pair / CO_SHM_MEASURED_SIZES, size = pair % CO_SHM_MEASURED_SIZES;
            uint64_t ring = ring_ns(pattern, size, 1000 * cases[i].times[size][CO_COPY_BY_RING]);
            add_steady(&evidence.pairs[pattern][size], CO_COPY_BY_RING, ring);
            add_steady(&evidence.pairs[pattern][size], CO_COPY_STRAIGHT, 1000 * cases[i].times[size][CO_COPY_STRAIGHT]);
        }
        assert_int_equal(certain(&evidence), CO_SHM_PAIRS);
        assert_int_equal(co_shm_evidence_next(&evidence), -1);
        for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
            assert_int_equal(kib(straight_from(&evidence, pattern)), cases[i].from);
        }
    }
}

// Nobody is slower than the MPI below for want of a measurement: large blocks and messages go straight.
static void without_times_large_ones_go_straight(void **state)
{
    (void)state;
    size_t from[CO_SHM_PATTERNS];
    usual_of(from);
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        assert_in_range(from[pattern], co_shm_measured_size(0), co_shm_measured_size(1) * 2);
    }
}

static void a_disturbed_copy_does_not_count(void **state)
{
    (void)state;
    struct co_shm_samples samples = {0};
    co_shm_samples_add(&samples, 4000, false);
    co_shm_samples_add(&samples, 10, true);
    assert_int_equal(samples.least_ns, 4000);
    assert_int_equal(samples.second_ns, 0);
    co_shm_samples_add(&samples, 5000, false);
    co_shm_samples_add(&samples, 6000, false);
    assert_int_equal(samples.least_ns, 4000);
    assert_int_equal(samples.second_ns, 5000);
    co_shm_samples_add(&samples, 3000, false);
    assert_int_equal(samples.least_ns, 3000);
    assert_int_equal(samples.second_ns, 4000);
}

// Of the slower one the time has to come again, of the faster one it need not: it can only be faster still.
static void only_the_slower_one_has_to_be_steady(void **state)
{
    (void)state;
    for (int slower = 0; slower < CO_COPY_PATHS; slower++) {
        struct co_shm_evidence evidence = {0};
        struct co_shm_pair *pair = &evidence.pairs[CO_SHM_PATTERN_ALLGATHER][2];
        for (int source = 0; source < CO_SHM_SOURCES; source++) {
            co_shm_samples_add(&pair->samples[slower][source], 40000, false);
            co_shm_samples_add(&pair->samples[1 - slower][source], 20000, false);
        }
        assert_int_equal(certain(&evidence), 0); // once
        for (int source = 0; source < CO_SHM_SOURCES; source++) {
            co_shm_samples_add(&pair->samples[slower][source], 60000, false);
            co_shm_samples_add(&pair->samples[1 - slower][source], 90000, false);
        }
        assert_int_equal(certain(&evidence), 0); // twice, but with another time
        for (int source = 0; source < CO_SHM_SOURCES; source++) {
            co_shm_samples_add(&pair->samples[slower][source], 44000, false);
        }
        assert_int_equal(certain(&evidence), 1);
        size_t from = straight_from(&evidence, CO_SHM_PATTERN_ALLGATHER);
        assert_int_equal(from == SIZE_MAX, slower == CO_COPY_STRAIGHT);
    }
}

static void half_a_measurement_is_none(void **state)
{
    (void)state;
    struct co_shm_evidence evidence = {0};
    struct co_shm_pair *pair = &evidence.pairs[CO_SHM_PATTERN_ALLGATHER][2];
    add_steady(pair, CO_COPY_STRAIGHT, 200000);
    assert_int_equal(certain(&evidence), 0);
    for (int time = 0; time < 3; time++) { // by ring only from memory that stays
        co_shm_samples_add(&pair->samples[CO_COPY_BY_RING][CO_SHM_KEPT], 1000, false);
    }
    assert_int_equal(certain(&evidence), 0);
    assert_int_not_equal(kib(straight_from(&evidence, CO_SHM_PATTERN_ALLGATHER)), 0);
}

// The largest first, then what has had the fewest turns, and only what is not certain yet; at last nothing.
static void turns_are_taken_by_what_is_uncertain(void **state)
{
    (void)state;
    struct co_shm_evidence evidence = {0};
    add_steady(&evidence.pairs[CO_SHM_PATTERN_BCAST][1], CO_COPY_BY_RING, 100000);
    add_steady(&evidence.pairs[CO_SHM_PATTERN_BCAST][1], CO_COPY_STRAIGHT, 50000);
    unsigned turns[CO_SHM_PAIRS] = {0}, all = 0;
    for (int next; (next = co_shm_evidence_next(&evidence)) >= 0; all++) {
        int pattern = next / CO_SHM_MEASURED_SIZES, size = next % CO_SHM_MEASURED_SIZES;
        assert_true(all >= 3 || size == CO_SHM_MEASURED_SIZES - 1);
        assert_false(pattern == CO_SHM_PATTERN_BCAST && size == 1);
        assert_in_range(turns[next], all / (CO_SHM_PAIRS - 1), all / (CO_SHM_PAIRS - 1));
        turns[next]++;
        evidence.pairs[pattern][size].rounds++;
        assert_true(all < 1000);
    }
    assert_true(all > 2 * CO_SHM_PAIRS);
}

// Nanoseconds on an Intel Emerald Rapids of two cores beside three endless loops and other work (load 20): of each pair
// by ring and straight, from memory just written and from the same again, in two rounds. Nothing was disturbed.
static const uint64_t busy[CO_SHM_PAIRS][CO_COPY_PATHS][CO_SHM_SOURCES][2] = {
    {{{3034, 2835}, {3026, 3450}}, {{3444, 3572}, {1524, 1516}}},
    {{{8500, 8472}, {10234, 10946}}, {{11690, 9758}, {3743, 3612}}},
    {{{31760, 29458}, {33301, 32041}}, {{42647, 26299}, {21449, 12603}}},
    {{{1584, 1479}, {1838, 1946}}, {{3518, 3518}, {1475, 1587}}},
    {{{4512, 4461}, {4504, 4448}}, {{6687, 4532}, {7580, 4547}}},
    {{{32873, 19449}, {25362, 24366}}, {{20191, 12865}, {14161, 12926}}},
    {{{3826, 3894}, {4467, 4614}}, {{3588, 3722}, {1667, 1735}}},
    {{{13082, 14270}, {13676, 17442}}, {{6901, 6913}, {3843, 4022}}},
    {{{64811, 53904}, {58810, 57360}}, {{37756, 25669}, {22583, 12473}}},
};

// A start of the same kind: the second rank lost its processor when it read 256 KiB.
#define LOST_NS 168938

static void replay(struct co_shm_evidence *evidence, int pair, int copy, int times, bool is_disturbed)
{
    struct co_shm_pair *to = &evidence->pairs[pair / CO_SHM_MEASURED_SIZES][pair % CO_SHM_MEASURED_SIZES];
    for (int source = 0; source < CO_SHM_SOURCES; source++) {
        for (int time = 0; time < times; time++) {
            uint64_t took_ns = busy[pair][copy][source][time] + (is_disturbed ? LOST_NS : 0);
            co_shm_samples_add(&to->samples[copy][source], took_ns, is_disturbed);
        }
    }
}

// What two rounds of it tell; one round of it, which is not believed; and two of which every straight copy was
// disturbed, so that by ring everything seems to be faster.
static void a_busy_machine_is_judged_like_a_quiet_one(void **state)
{
    (void)state;
    struct co_shm_evidence two = {0}, one = {0}, disturbed = {0};
    for (int pair = 0; pair < CO_SHM_PAIRS; pair++) {
        for (int copy = 0; copy < CO_COPY_PATHS; copy++) {
            replay(&two, pair, copy, 2, false);
            replay(&one, pair, copy, 1, false);
            replay(&disturbed, pair, copy, 2, copy == CO_COPY_STRAIGHT);
        }
    }
    assert_int_equal(certain(&two), 7);
    assert_int_equal(kib(straight_from(&two, CO_SHM_PATTERN_MESSAGE)), 16);
    assert_in_range(kib(straight_from(&two, CO_SHM_PATTERN_BCAST)), 20, 35);
    assert_int_equal(kib(straight_from(&two, CO_SHM_PATTERN_ALLGATHER)), 16);
    size_t usual[CO_SHM_PATTERNS];
    usual_of(usual);
    assert_int_equal(certain(&one), 0);
    assert_int_equal(certain(&disturbed), 0);
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        assert_int_equal(straight_from(&one, pattern), usual[pattern]);
        assert_int_equal(straight_from(&disturbed, pattern), usual[pattern]);
    }
}

// Which are not tried in use, while a ring may take longer then than when it was measured: the ring has to be twice as
// fast.
static void broadcasts_go_by_ring_where_that_is_certain_to_pay(void **state)
{
    (void)state;
    for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
        for (int is_twice = 0; is_twice < 2; is_twice++) {
            struct co_shm_evidence evidence = {0};
            for (int size = 0; size < CO_SHM_MEASURED_SIZES; size++) {
                add_steady(&evidence.pairs[pattern][size], CO_COPY_BY_RING, 100000);
                add_steady(&evidence.pairs[pattern][size], CO_COPY_STRAIGHT, is_twice ? 210000 : 190000);
            }
            assert_int_equal(certain(&evidence), CO_SHM_MEASURED_SIZES);
            size_t from = straight_from(&evidence, pattern);
            bool is_ring = pattern != CO_SHM_PATTERN_BCAST || is_twice;
            assert_int_equal(from == SIZE_MAX, is_ring);
            assert_true(is_ring || (from > co_shm_measured_size(0) && from <= co_shm_measured_size(1)));
        }
    }
}

// A start that was disturbed but for messages of 64 KiB, which go faster by ring: so do all others here, though most
// machines copy them straight. And where those go straight as ever, nothing changes.
static void what_is_uncertain_stands_as_what_is_certain(void **state)
{
    (void)state;
    size_t usual[CO_SHM_PATTERNS];
    usual_of(usual);
    for (int is_other = 0; is_other < 2; is_other++) {
        struct co_shm_evidence evidence = {0};
        add_steady(&evidence.pairs[CO_SHM_PATTERN_MESSAGE][1], CO_COPY_BY_RING, 10000);
        add_steady(&evidence.pairs[CO_SHM_PATTERN_MESSAGE][1], CO_COPY_STRAIGHT, is_other ? 20000 : 6000);
        assert_int_equal(certain(&evidence), 1);
        for (int pattern = 0; pattern < CO_SHM_PATTERNS; pattern++) {
            assert_int_equal(straight_from(&evidence, pattern), is_other ? SIZE_MAX : usual[pattern]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_faster_from_where_the_two_cross),
        cmocka_unit_test(without_times_large_ones_go_straight),
        cmocka_unit_test(a_disturbed_copy_does_not_count),
        cmocka_unit_test(only_the_slower_one_has_to_be_steady),
        cmocka_unit_test(half_a_measurement_is_none),
        cmocka_unit_test(turns_are_taken_by_what_is_uncertain),
        cmocka_unit_test(a_busy_machine_is_judged_like_a_quiet_one),
        cmocka_unit_test(broadcasts_go_by_ring_where_that_is_certain_to_pay),
        cmocka_unit_test(what_is_uncertain_stands_as_what_is_certain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
