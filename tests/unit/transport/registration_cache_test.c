// SPDX-License-Identifier: BSD-3-Clause
//
// What is registered with a device that only counts: used again while the memory is the same and never after, bounded,
// given up for room, and nothing is left registered in the end.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "transport/registration_cache.h"

enum { PAGE = 4096, LEAST = 2 * PAGE, KEPT = 16 * PAGE, BYTES = 128 * PAGE };

static struct co_registration_cache *cache;
static unsigned char *memory;
static int live, most_live, counts[4]; // counts: by what
static size_t seen_start, seen_bytes;

static int make(void *arg, void *start, size_t bytes, void **handle)
{
    (void)arg;
    if (live == most_live) {
        return -ENOMEM;
    }
    live++;
    seen_start = (size_t)((unsigned char *)start - memory);
    seen_bytes = bytes;
    *handle = start;
    return 0;
}

static void unmake(void *arg, void *handle)
{
    (void)arg;
    (void)handle;
    live--;
}

static void count(void *arg, enum co_registration_count what)
{
    (void)arg;
    counts[what]++;
}

static void open_cache(size_t kept_bytes)
{
    struct co_registration_config config = {
        .make = make, .unmake = unmake, .count = count, .least_bytes = LEAST, .kept_bytes = kept_bytes};
    assert_int_equal(co_registration_cache_open(&cache, &config), 0);
}

static int set_up(void **state)
{
    (void)state;
    memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(counts, 0, sizeof counts);
    live = 0;
    most_live = 100;
    open_cache(KEPT);
    return 0;
}

static int take_down(void **state)
{
    (void)state;
    co_registration_cache_close(cache);
    assert_int_equal(live, 0);
    munmap(memory, BYTES);
    return 0;
}

static void need_watch(void)
{
    if (!co_registration_cache_keeps(cache)) {
        skip(); // the kernel tells of no changes
    }
}

static struct co_registration *take(size_t from_page, size_t bytes)
{
    struct co_registration *registration = NULL;
    assert_int_equal(co_registration_take(cache, &registration, memory + from_page * PAGE, bytes), 0);
    return registration;
}

static void use(size_t from_page, size_t bytes)
{
    co_registration_give(cache, take(from_page, bytes));
}

static void renew(size_t from_page, size_t pages)
{
    unsigned char *at = memory + from_page * PAGE;
    assert_ptr_equal(mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
                     at);
}

static void what_is_the_same_is_used_again(void **state)
{
    (void)state;
    need_watch();
    use(2, 4 * PAGE);
    use(2, 4 * PAGE);
    struct co_registration *first = take(3, LEAST), *second = take(2, 3 * PAGE);
    assert_ptr_equal(first, second);
    co_registration_give(cache, first);
    co_registration_give(cache, second);
    assert_int_equal(counts[CO_REGISTRATION_MADE], 1);
    assert_int_equal(counts[CO_REGISTRATION_REUSED], 3);
    use(2, 5 * PAGE); // one more than is registered
    assert_int_equal(counts[CO_REGISTRATION_MADE], 2);
}

static void whole_pages_are_registered(void **state)
{
    (void)state;
    need_watch();
    struct co_registration *registration = NULL;
    assert_int_equal(co_registration_take(cache, &registration, memory + PAGE + 1, LEAST), 0);
    assert_int_equal(seen_start, PAGE);
    assert_int_equal(seen_bytes, 3 * PAGE);
    co_registration_give(cache, registration);
}

static void what_has_changed_is_not(void **state)
{
    (void)state;
    need_watch();
    use(0, 4 * PAGE);
    use(8, 4 * PAGE);
    renew(3, 1);
    use(0, 4 * PAGE);
    assert_int_equal(counts[CO_REGISTRATION_MADE], 3);
    assert_int_equal(counts[CO_REGISTRATION_CHANGED], 1);
    assert_int_equal(live, 2);
    renew(0, 4);
    co_registration_sweep(cache);
    assert_int_equal(live, 1);
}

static void what_changes_in_use_lasts_for_that_use(void **state)
{
    (void)state;
    need_watch();
    struct co_registration *in_use = take(0, 4 * PAGE);
    renew(0, 4);
    struct co_registration *next = take(0, 4 * PAGE);
    assert_ptr_not_equal(in_use, next);
    assert_int_equal(live, 2);
    co_registration_give(cache, in_use);
    co_registration_give(cache, next);
    use(0, 4 * PAGE);
    assert_int_equal(live, 1);
}

static void kept_ones_are_bounded(void **state)
{
    (void)state;
    need_watch();
    for (size_t i = 0; i < 8; i++) {
        use(4 * i, 4 * PAGE);
        assert_true((size_t)live * 4 * PAGE <= KEPT);
    }
    use(28, 4 * PAGE);
    assert_int_equal(counts[CO_REGISTRATION_REUSED], 1);
    use(0, 4 * PAGE); // the eldest went
    assert_int_equal(counts[CO_REGISTRATION_MADE], 9);
}

static void small_ones_are_not_worth_it(void **state)
{
    (void)state;
    struct co_registration *registration = NULL;
    assert_int_equal(co_registration_take(cache, &registration, memory, LEAST - 1), -ENOTSUP);
    assert_null(registration);
}

static void who_cannot_keep_registers_large_ones_for_one_use(void **state)
{
    (void)state;
    struct co_registration *registration = NULL;
    co_registration_cache_close(cache);
    open_cache(0);
    assert_false(co_registration_cache_keeps(cache));
    assert_int_equal(co_registration_take(cache, &registration, memory, CO_REGISTRATION_ONCE * LEAST - 1), -ENOTSUP);
    for (int i = 0; i < 3; i++) {
        use(0, (size_t)CO_REGISTRATION_ONCE * LEAST);
        assert_int_equal(live, 0);
    }
    assert_int_equal(counts[CO_REGISTRATION_MADE], 3);
}

static void what_may_not_be_locked_is_refused_when_nothing_can_make_room(void **state)
{
    (void)state;
    need_watch();
    struct co_registration *registration = NULL;
    most_live = 1;
    use(0, 4 * PAGE);
    use(4, 4 * PAGE); // instead of the other
    assert_int_equal(live, 1);
    struct co_registration *in_use = take(4, 4 * PAGE);
    assert_int_equal(co_registration_take(cache, &registration, memory, 4 * PAGE), -ENOMEM);
    assert_null(registration);
    assert_int_equal(counts[CO_REGISTRATION_REFUSED], 1);
    co_registration_give(cache, in_use);
    use(0, 4 * PAGE);
}

static void a_device_that_goes_away_takes_all(void **state)
{
    (void)state;
    need_watch();
    use(0, 4 * PAGE);
    struct co_registration *in_use = take(4, 4 * PAGE);
    co_registration_drop_all(cache);
    assert_int_equal(live, 0);
    co_registration_give(cache, in_use);
    assert_int_equal(live, 0);
}

static void there_are_only_so_many(void **state)
{
    (void)state;
    struct co_registration *all[CO_REGISTRATIONS_MAX], *one_more = NULL;
    co_registration_cache_close(cache);
    open_cache(0);
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        all[i] = take((size_t)i % 2, (size_t)CO_REGISTRATION_ONCE * LEAST);
    }
    assert_int_equal(co_registration_take(cache, &one_more, memory, CO_REGISTRATION_ONCE * LEAST), -ENOSPC);
    for (int i = 0; i < CO_REGISTRATIONS_MAX; i++) {
        co_registration_give(cache, all[i]);
    }
}

#define WITH_CACHE(test) cmocka_unit_test_setup_teardown(test, set_up, take_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CACHE(what_is_the_same_is_used_again),
        WITH_CACHE(whole_pages_are_registered),
        WITH_CACHE(what_has_changed_is_not),
        WITH_CACHE(what_changes_in_use_lasts_for_that_use),
        WITH_CACHE(kept_ones_are_bounded),
        WITH_CACHE(small_ones_are_not_worth_it),
        WITH_CACHE(who_cannot_keep_registers_large_ones_for_one_use),
        WITH_CACHE(what_may_not_be_locked_is_refused_when_nothing_can_make_room),
        WITH_CACHE(a_device_that_goes_away_takes_all),
        WITH_CACHE(there_are_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
