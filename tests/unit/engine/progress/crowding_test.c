// SPDX-License-Identifier: BSD-3-Clause
//
// Whether worker threads have cores: judged by what the kernel says of them, on fast networks alone, and tried again
// ever more rarely.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "engine/progress/crowding.h"

#define SPELL_NS (10 * CO_NS_PER_MS)
#define FAST (1 << 20) // bytes in a millisecond
#define SLOW (1 << 14)

struct job {
    struct co_crowding crowding;
    struct co_processor_time time;
    uint64_t now_ns;
    size_t bytes;       // in a millisecond
    unsigned waits_of8; // eighths of their time for which threads wait
};

// One operation of a millisecond, of which the threads' part is as much. Was it judged?
static bool operation(struct job *job)
{
    job->now_ns += CO_NS_PER_MS;
    if (!job->crowding.is_crowded) {
        job->time.ran_ns += CO_NS_PER_MS * (8 - job->waits_of8) / 8;
        job->time.waited_ns += CO_NS_PER_MS * job->waits_of8 / 8;
    }
    if (!co_crowding_ended(&job->crowding, job->bytes, CO_NS_PER_MS, job->now_ns)) {
        return false;
    }
    co_crowding_judge(&job->crowding, job->time, job->now_ns);
    return true;
}

static unsigned operations_until_judged(struct job *job)
{
    unsigned count = 1;
    while (!operation(job)) {
        count++;
    }
    return count;
}

static void threads_with_cores_work(void **state)
{
    (void)state;
    struct job job = {.bytes = FAST, .waits_of8 = 1};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(operations_until_judged(&job), SPELL_NS / CO_NS_PER_MS);
        assert_false(job.crowding.is_crowded);
    }
}

static void threads_that_wait_rest_and_try_again_ever_more_rarely(void **state)
{
    (void)state;
    struct job job = {.bytes = FAST, .waits_of8 = 4};
    for (unsigned rest_s = 1; rest_s <= 256; rest_s *= 2) {
        assert_int_equal(operations_until_judged(&job), SPELL_NS / CO_NS_PER_MS);
        assert_true(job.crowding.is_crowded);
        assert_int_equal(operations_until_judged(&job), (rest_s < 64 ? rest_s : 64) * 1000);
        assert_false(job.crowding.is_crowded);
    }
    job.waits_of8 = 0; // the cores are theirs again
    for (int i = 0; i < 10; i++) {
        operations_until_judged(&job);
        assert_false(job.crowding.is_crowded);
    }
    job.waits_of8 = 4;
    operations_until_judged(&job);
    assert_in_range(operations_until_judged(&job), 1000, 2000);
}

static void where_the_network_is_the_limit_they_work(void **state)
{
    (void)state;
    struct job job = {.bytes = SLOW, .waits_of8 = 7};
    for (int i = 0; i < 10; i++) {
        operations_until_judged(&job);
        assert_false(job.crowding.is_crowded);
    }
}

// One operation takes a second: the rest is long compared with that.
static void a_rest_is_longer_than_what_showed_that_it_is_needed(void **state)
{
    (void)state;
    struct job job = {.time = {.ran_ns = CO_NS_PER_S / 2, .waited_ns = CO_NS_PER_S / 2}, .now_ns = CO_NS_PER_S};
    assert_true(co_crowding_ended(&job.crowding, 1 << 30, CO_NS_PER_S, job.now_ns));
    co_crowding_judge(&job.crowding, job.time, job.now_ns);
    assert_true(job.crowding.is_crowded);
    assert_false(co_crowding_ended(&job.crowding, 1, 1, job.now_ns + 15 * CO_NS_PER_S));
    assert_true(co_crowding_ended(&job.crowding, 1, 1, job.now_ns + 16 * CO_NS_PER_S));
}

// What the file says itself, read without castoff.
static uint64_t ran_by_the_file(void)
{
    unsigned long long ran_ns = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    assert_int_equal(file ? fscanf(file, "%llu", &ran_ns) : 1, 1);
    if (file) {
        fclose(file);
    }
    return ran_ns;
}

// Some kernels bring these counters up to date only at a tick, which may be a second away, and some have none.
static void the_kernel_tells_of_this_thread_and_of_no_other(void **state)
{
    (void)state;
    struct co_processor_time time = {0};
    if (access("/proc/thread-self/schedstat", R_OK) != 0) {
        skip();
    }
    assert_true(co_processor_time_add(&time, getpid()));
    uint64_t ran_ns = time.ran_ns, by_the_file_ns = ran_by_the_file();
    clock_t until = clock() + 5 * CLOCKS_PER_SEC;
    while (ran_by_the_file() == by_the_file_ns) {
        if (clock() > until) {
            print_message("this kernel does not count what a thread has run\n");
            skip();
        }
    }
    time = (struct co_processor_time){0};
    assert_true(co_processor_time_add(&time, getpid()));
    assert_true(time.ran_ns > ran_ns);
    assert_false(co_processor_time_add(&time, 1 << 30));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_with_cores_work),
        cmocka_unit_test(threads_that_wait_rest_and_try_again_ever_more_rarely),
        cmocka_unit_test(where_the_network_is_the_limit_they_work),
        cmocka_unit_test(a_rest_is_longer_than_what_showed_that_it_is_needed),
        cmocka_unit_test(the_kernel_tells_of_this_thread_and_of_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
