// SPDX-License-Identifier: BSD-3-Clause
//
// The directory's lock: members who come together look again for a moment before they sleep, whoever finds it held for
// longer does sleep, and a killed owner is noticed while looking, too.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shm/shm_node.h"

enum { ENTRIES = 4, FOR_EVER = 1000000 };

static int looks_held, found, looks, sleeps, drops;

// Ours stand before the C library's.
int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    (void)mutex;
    looks++;
    return looks <= looks_held ? EBUSY : found;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    (void)mutex;
    sleeps++;
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    (void)mutex;
    drops++;
    return 0;
}

static void join(int held, int then)
{
    struct co_shm_header header = {0};
    struct co_shm_entry entries[ENTRIES] = {0};
    struct co_shm_node node = {.header = &header, .entries = entries, .plan.entries = ENTRIES};

    looks_held = held;
    found = then;
    looks = sleeps = drops = 0;
    int index = co_shm_directory_join(&node, 1, 1);
    assert_in_range(index, 0, ENTRIES - 1);
    assert_int_equal(entries[index].joined, 1);
    assert_int_equal(drops, 1);
}

static void a_lock_held_for_a_moment_puts_nobody_to_sleep(void **state)
{
    (void)state;
    join(0, 0);
    assert_int_equal(sleeps, 0);
    join(20, 0);
    assert_int_equal(sleeps, 0);
    assert_int_equal(looks, 21);
}

static void a_lock_held_for_long_is_slept_for(void **state)
{
    (void)state;
    join(FOR_EVER, 0);
    assert_int_equal(sleeps, 1);
    assert_in_range(looks, 1, 1000);
}

static void a_killed_owner_is_followed(void **state)
{
    (void)state;
    join(3, EOWNERDEAD);
    assert_int_equal(sleeps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_held_for_a_moment_puts_nobody_to_sleep),
        cmocka_unit_test(a_lock_held_for_long_is_slept_for),
        cmocka_unit_test(a_killed_owner_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
