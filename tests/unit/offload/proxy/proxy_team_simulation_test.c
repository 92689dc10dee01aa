// SPDX-License-Identifier: BSD-3-Clause
//
// Random collective calls against the core of proxies, by class of what befalls them, compared with a naive executor.
// The seed of a failure is printed; CASTOFF_TEST_SEED=<seed> runs that one alone in every class,
// CASTOFF_TEST_SEEDS=<count> as many from there (or 1) on.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proxy_team_simulation.h"

static struct team_simulation job;

static unsigned number_from(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text == NULL || *text == '\0' ? otherwise : (unsigned)strtoul(text, NULL, 10);
}

static void run_seeds(const struct team_limits *limits, unsigned usual)
{
    unsigned first = number_from("CASTOFF_TEST_SEED", 0);
    unsigned count = number_from("CASTOFF_TEST_SEEDS", first > 0 ? 1 : usual);
    uint64_t calls = 0, cached = 0, errors = 0;

    for (unsigned seed = first > 0 ? first : 1; count > 0; seed++, count--) {
        team_simulation_run(&job, seed, limits);
        calls += job.calls;
        cached += job.cached_calls;
        errors += job.errors;
    }
    print_message("%" PRIu64 " calls, %" PRIu64 " of them cached; %" PRIu64 " errors\n", calls, cached, errors);
}

static void random_calls(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){0}, 150);
}

static void windows_that_stage(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){.stage = true}, 100);
}

static void numbers_past_what_16_and_32_bits_hold(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){.first_max = UINT64_C(1) << 16}, 20);
    run_seeds(&(struct team_limits){.first_max = UINT64_C(1) << 32}, 20);
}

static void broadcasts_into_rooms_of_other_lengths(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){.rooms = true, .stage = true}, 100);
}

static void ranks_and_proxies_that_die(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){.deaths = true, .stage = true}, 150);
    run_seeds(&(struct team_limits){.deaths = true, .rooms = true}, 50);
}

static void calls_that_fail(void **state)
{
    (void)state;
    run_seeds(&(struct team_limits){.faults = true, .stage = true}, 150);
    run_seeds(&(struct team_limits){.faults = true, .rooms = true}, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_calls),
        cmocka_unit_test(windows_that_stage),
        cmocka_unit_test(numbers_past_what_16_and_32_bits_hold),
        cmocka_unit_test(broadcasts_into_rooms_of_other_lengths),
        cmocka_unit_test(ranks_and_proxies_that_die),
        cmocka_unit_test(calls_that_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
