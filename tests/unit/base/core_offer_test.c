// SPDX-License-Identifier: BSD-3-Clause
//
// Offers of the core: by yields while somebody takes them, by sleeps while nobody does, and each is found out anew.
// Yields, sleeps and the kernel's count of them are the test's.
#define _GNU_SOURCE // RUSAGE_THREAD
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "base/core_offer.h"

static bool is_wanted; // somebody takes the core of who yields
static long switches, yields, sleeps;

// Ours stand before the C library's.
int sched_yield(void)
{
    yields++;
    switches += is_wanted;
    return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    assert_true(time->tv_sec == 0 && time->tv_nsec > 0 && time->tv_nsec < 1000000);
    assert_null(left);
    sleeps++;
    return 0;
}

int getrusage(__rusage_who_t who, struct rusage *usage)
{
    assert_int_equal(who, RUSAGE_THREAD);
    memset(usage, 0, sizeof *usage);
    usage->ru_nivcsw = switches;
    return 0;
}

static void offer_often(struct co_core_offer *offer, int times)
{
    yields = sleeps = 0;
    for (int i = 0; i < times; i++) {
        co_core_offer(offer);
    }
}

static void who_is_taken_yields(void **state)
{
    struct co_core_offer offer = {0};

    (void)state;
    is_wanted = true;
    offer_often(&offer, 1000);
    assert_int_equal(yields, 1000);
    assert_int_equal(sleeps, 0);
}

static void who_is_not_taken_sleeps(void **state)
{
    struct co_core_offer offer = {0};

    (void)state;
    is_wanted = false;
    offer_often(&offer, 1000);
    assert_int_equal(yields + sleeps, 1000);
    assert_in_range(yields, 1, 100); // the tries
}

static void what_has_changed_is_found_out(void **state)
{
    struct co_core_offer offer = {0};

    (void)state;
    is_wanted = false;
    offer_often(&offer, 1000);
    is_wanted = true;
    offer_often(&offer, 1000);
    assert_in_range(sleeps, 0, 100);
    offer_often(&offer, 1000);
    assert_int_equal(sleeps, 0);
    is_wanted = false;
    offer_often(&offer, 1000);
    assert_in_range(sleeps, 800, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_taken_yields),
        cmocka_unit_test(who_is_not_taken_sleeps),
        cmocka_unit_test(what_has_changed_is_found_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
