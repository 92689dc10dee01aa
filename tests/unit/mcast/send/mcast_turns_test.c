// SPDX-License-Identifier: BSD-3-Clause
//
// Many members send at once and take turns: short blocks among long ones are in nobody's way, and who is late is waited
// for, but not for ever.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 24, CHUNK = 1400, LONG_BLOCK = 12, SHORT_BLOCK = 3, EARLY = 4, LOSSY_WORLDS = 16, LOSSY_TIMES = 4 };

struct job {
    struct world world;
    struct co_mcast_place places[MEMBERS];
    struct co_mcast_op *ops[MEMBERS];
    size_t bytes;
    unsigned char *buffers;
};

static void open_lossy(struct job *job, unsigned (*chunks_of)(int member), const char *faults)
{
    struct world_options options = world_defaults(MEMBERS);
    options.faults = faults;
    options.eager_bytes = 0;
    options.chunk_bytes = CHUNK;
    options.chains = 0;
    options.window_bytes = options.shared_window_bytes = 1048576; // a block of each
    options.bytes_per_s = options.port_bytes_per_s = 1250000;     // 10 Mbit/s
    options.egress_queue_bytes = options.port_queue_bytes = 65536;
    *job = (struct job){.bytes = 0};
    world_open(&job->world, &options);
    for (int i = 0; i < MEMBERS; i++) {
        job->places[i] = (struct co_mcast_place){.offset = job->bytes, .bytes = (size_t)chunks_of(i) * CHUNK};
        job->bytes += job->places[i].bytes;
    }
    job->buffers = calloc(MEMBERS, job->bytes);
    assert_non_null(job->buffers);
}

static void open(struct job *job, unsigned (*chunks_of)(int member))
{
    open_lossy(job, chunks_of, NULL);
}

static void start(struct job *job, int member)
{
    unsigned char *buffer = job->buffers + (size_t)member * job->bytes;
    pattern_fill(buffer + job->places[member].offset, job->places[member].bytes, (unsigned)member);
    assert_int_equal(co_mcast_allgatherv_start(&job->ops[member], job->world.group[member], buffer, job->places,
                                               co_loopback_now_ns(job->world.hub)),
                     0);
}

static void finish(struct job *job)
{
    world_run(&job->world, job->ops, MEMBERS, 60 * CO_NS_PER_S);
    for (int member = 0; member < MEMBERS; member++) {
        for (int i = 0; i < MEMBERS; i++) {
            assert_true(pattern_matches(job->buffers + (size_t)member * job->bytes + job->places[i].offset,
                                        job->places[i].bytes, (unsigned)i));
        }
        co_mcast_op_release(job->ops[member]);
    }
}

static void close_all(struct job *job)
{
    world_settle(&job->world, 60 * CO_NS_PER_S);
    world_close(&job->world);
    free(job->buffers);
}

static unsigned short_or_long(int member)
{
    return member % 4 == 0 ? LONG_BLOCK : 1;
}

static unsigned all_long(int member)
{
    (void)member;
    return LONG_BLOCK;
}

static unsigned all_short(int member)
{
    (void)member;
    return SHORT_BLOCK;
}

static uint64_t run_once(struct job *job)
{
    uint64_t began_ns = co_loopback_now_ns(job->world.hub);
    for (int member = 0; member < MEMBERS; member++) {
        start(job, member);
    }
    finish(job);
    return co_loopback_now_ns(job->world.hub) - began_ns;
}

// The second time the path is known: all come to a member at the rate of its port.
static void a_short_block_is_in_nobodys_way(void **state)
{
    (void)state;
    struct job job;
    uint64_t stalls = co_counter_read(CO_COUNT_WINDOW_STALLS);
    open(&job, short_or_long);
    for (unsigned time = 0; time < 2; time++) {
        uint64_t took_ns = run_once(&job), limit_ns = job.bytes * CO_NS_PER_S / 1250000;
        print_message("%lu %% of the limit\n", (unsigned long)(100 * took_ns / limit_ns));
        assert_true(took_ns < limit_ns * 5 / 4);
    }
    assert_int_equal(co_counter_read(CO_COUNT_WINDOW_STALLS), stalls); // they wait for turns, not for credit
    close_all(&job);
}

// Of a block that leaves in one turn it is heard when the last member has noticed what it lost: who takes that for the
// time of the path lets the next operations wait for it.
static void what_was_lost_once_costs_later_operations_nothing(void **state)
{
    (void)state;
    uint64_t first_ns = 0, later_ns = 0;
    for (unsigned number = 0; number < LOSSY_WORLDS; number++) {
        struct job job;
        char faults[40];
        snprintf(faults, sizeof(faults), "miss=0.05,seed=%u", number + 1);
        open_lossy(&job, all_short, faults);
        first_ns += run_once(&job);
        for (unsigned time = 1; time < LOSSY_TIMES; time++) {
            later_ns += run_once(&job) / (LOSSY_TIMES - 1);
        }
        close_all(&job);
    }
    print_message("later %lu %% of the first\n", (unsigned long)(100 * later_ns / first_ns));
    assert_true(later_ns * 10 < first_ns * 13);
}

// In the first operation it has to be learned; of each source apart it was learned in three.
static void who_hears_nobody_is_known_after_one_operation(void **state)
{
    (void)state;
    struct job job;
    open(&job, all_short);
    run_once(&job);
    uint64_t before_ns = run_once(&job);
    job.world.transport[1]->ops->leave(job.world.transport[1], 0);
    run_once(&job);
    uint64_t two_ns = run_once(&job) + run_once(&job);
    print_message("%lu %% of the time before\n", (unsigned long)(50 * two_ns / before_ns));
    assert_true(two_ns < 4 * before_ns);
    assert_int_equal(job.world.transport[1]->ops->join(job.world.transport[1], 0), 0);
    for (unsigned time = 0; time < 3; time++) {
        run_once(&job);
    }
    assert_true(run_once(&job) < before_ns * 5 / 4);
    close_all(&job);
}

static void who_is_late_is_waited_for_but_not_for_ever(void **state)
{
    (void)state;
    struct job job;
    open(&job, all_long);
    uint64_t sent = co_counter_read(CO_COUNT_DATA_SENT);
    for (int member = MEMBERS - EARLY; member < MEMBERS; member++) {
        start(&job, member);
    }
    uint64_t end_ns = co_loopback_now_ns(job.world.hub) + 30 * CO_NS_PER_S;
    while (co_loopback_now_ns(job.world.hub) < end_ns) {
        assert_true(world_turn(&job.world));
    }
    assert_int_equal(co_counter_read(CO_COUNT_DATA_SENT) - sent, EARLY * LONG_BLOCK);
    for (int member = 0; member < MEMBERS - EARLY; member++) {
        start(&job, member);
    }
    finish(&job);
    close_all(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_block_is_in_nobodys_way),
        cmocka_unit_test(what_was_lost_once_costs_later_operations_nothing),
        cmocka_unit_test(who_hears_nobody_is_known_after_one_operation),
        cmocka_unit_test(who_is_late_is_waited_for_but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
