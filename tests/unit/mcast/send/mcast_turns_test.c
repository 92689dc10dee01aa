// SPDX-License-Identifier: BSD-3-Clause
//
// Many members send at once and take turns: short blocks among long ones are in nobody's way, and who is late is waited
// for, but not for ever.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 24, CHUNK = 1400, LONG_BLOCK = 12, EARLY = 4 };

struct job {
    struct world world;
    struct co_mcast_place places[MEMBERS];
    struct co_mcast_op *ops[MEMBERS];
    size_t bytes;
    unsigned char *buffers;
};

static void open(struct job *job, unsigned (*chunks_of)(int member))
{
    struct world_options options = world_defaults(MEMBERS);
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

// The second time the path is known: all come to a member at the rate of its port.
static void a_short_block_is_in_nobodys_way(void **state)
{
    (void)state;
    struct job job;
    open(&job, short_or_long);
    for (unsigned time = 0; time < 2; time++) {
        uint64_t began_ns = co_loopback_now_ns(job.world.hub), limit_ns = job.bytes * CO_NS_PER_S / 1250000;
        for (int member = 0; member < MEMBERS; member++) {
            start(&job, member);
        }
        finish(&job);
        uint64_t took_ns = co_loopback_now_ns(job.world.hub) - began_ns;
        print_message("%lu %% of the limit\n", (unsigned long)(100 * took_ns / limit_ns));
        assert_true(took_ns < limit_ns * 5 / 4);
    }
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
        cmocka_unit_test(who_is_late_is_waited_for_but_not_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
