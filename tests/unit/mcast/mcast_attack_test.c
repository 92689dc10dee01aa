// SPDX-License-Identifier: BSD-3-Clause
//
// Random jobs against the protocol, by class of what befalls them. The seed of a failure is printed;
// CASTOFF_TEST_SEED=<seed> runs that one alone in every class, CASTOFF_TEST_SEEDS=<count> as many from there (or 1) on.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_schedule.h"

static struct schedule job;

static unsigned number_from(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : (unsigned)strtoul(text, NULL, 10);
}

static void run_seed(const struct schedule_limits *limits, unsigned seed, void (*after)(void))
{
    job.seed = seed;
    schedule_run(&job, seed, limits);
    if (after != NULL) {
        after();
    }
}

static void run_seeds(const struct schedule_limits *limits, unsigned usual, void (*after)(void))
{
    unsigned first = number_from("CASTOFF_TEST_SEED", 0);
    unsigned count = number_from("CASTOFF_TEST_SEEDS", first > 0 ? 1 : usual);
    uint64_t slowest = 0;
    unsigned slowest_seed = 0;
    // So many requests had been lost, or their answers, that nothing more was asked.
    static const unsigned choked[] = {108, 142, 249};
    for (size_t i = 0; i < sizeof(choked) / sizeof(*choked) && first == 0; i++) {
        run_seed(limits, choked[i], after);
    }
    for (unsigned seed = first > 0 ? first : 1; count > 0; seed++, count--) {
        run_seed(limits, seed, after);
        if (job.idle_ns > slowest) {
            slowest = job.idle_ns;
            slowest_seed = seed;
        }
    }
    print_message("slowest: seed %u, %" PRIu64 " ms of virtual time\n", slowest_seed, slowest / 1000000);
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("last seed: %u\n", job.seed);
    return 0;
}

static struct {
    uint64_t sent, expected, fetched;
} total;

static void total_reset(void)
{
    total.sent = co_counter_read(CO_COUNT_DATA_SENT_BYTES);
    total.fetched = co_counter_read(CO_COUNT_RETRANSMITTED);
    total.expected = 0;
}

// Each byte of payload has been multicast once.
static void sent_once(void)
{
    total.expected += job.sent_bytes_expected;
    uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT_BYTES) - total.sent;
    if (sent != total.expected) {
        fail_msg("seed %u: %" PRIu64 " bytes multicast, not %" PRIu64, job.seed, sent, total.expected);
    }
}

// Nothing was lost; what was repaired all the same was late in a queue.
static void assert_repaired_below(unsigned percent)
{
    uint64_t fetched = co_counter_read(CO_COUNT_RETRANSMITTED) - total.fetched;
    print_message("%" PRIu64 " bytes repaired of %" PRIu64 "\n", fetched, total.expected);
    assert_true(fetched * 100 <= total.expected * percent);
}

static void without_faults(void **state)
{
    (void)state;
    total_reset();
    run_seeds(&(struct schedule_limits){0}, 40, sent_once);
    assert_repaired_below(3);
}

static void members_that_stop_or_start_late(void **state)
{
    (void)state;
    total_reset();
    run_seeds(&(struct schedule_limits){.pauses = true}, 40, sent_once);
    assert_repaired_below(5);
}

static void tiny_windows_and_staging(void **state)
{
    (void)state;
    run_seeds(&(struct schedule_limits){.pauses = true, .tiny = true}, 20, NULL);
}

static void receivers_overrun(void **state)
{
    (void)state;
    run_seeds(&(struct schedule_limits){.overruns = true, .tiny = true}, 20, NULL);
}

static void every_fault_at_once(void **state)
{
    (void)state;
    run_seeds(&(struct schedule_limits){.faults = true}, 20, NULL);
    run_seeds(&(struct schedule_limits){.faults = true, .pauses = true, .tiny = true, .overruns = true}, 20, NULL);
}

static void an_attacker_on_the_wire(void **state)
{
    (void)state;
    run_seeds(&(struct schedule_limits){.attacker = true}, 12, NULL);
    run_seeds(&(struct schedule_limits){.attacker = true, .faults = true, .pauses = true}, 12, NULL);
}

static void a_member_dies(void **state)
{
    (void)state;
    run_seeds(&(struct schedule_limits){.death = true}, 20, NULL);
    run_seeds(&(struct schedule_limits){.death = true, .faults = true, .pauses = true, .tiny = true}, 20, NULL);
}

// Buffers are scribbled over as soon as they are given back, and regions read late.
static void over_verbs(void **state)
{
    (void)state;
    total_reset();
    run_seeds(&(struct schedule_limits){.verbs = true}, 12, sent_once);
    run_seeds(&(struct schedule_limits){.verbs = true, .faults = true, .pauses = true, .tiny = true}, 12, NULL);
    run_seeds(&(struct schedule_limits){.verbs = true, .death = true, .faults = true}, 12, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(without_faults, tell_seed),
        cmocka_unit_test_teardown(members_that_stop_or_start_late, tell_seed),
        cmocka_unit_test_teardown(tiny_windows_and_staging, tell_seed),
        cmocka_unit_test_teardown(receivers_overrun, tell_seed),
        cmocka_unit_test_teardown(every_fault_at_once, tell_seed),
        cmocka_unit_test_teardown(an_attacker_on_the_wire, tell_seed),
        cmocka_unit_test_teardown(a_member_dies, tell_seed),
        cmocka_unit_test_teardown(over_verbs, tell_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
