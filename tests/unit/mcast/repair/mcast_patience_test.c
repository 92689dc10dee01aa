// SPDX-License-Identifier: BSD-3-Clause
//
// What waiting costs: as much for each member whether they are few or many, and whether one operation is outstanding or
// many; and where no multicast arrives any more, every block is asked for about once.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { LATE = 1, BYTES = 500, OPERATIONS_MAX = 64, MEMBERS_MAX = 128 };
#define SECOND_NS UINT64_C(1000000000)

struct job {
    struct world world;
    int members, operations;
    struct co_mcast_op *ops[OPERATIONS_MAX][MEMBERS_MAX];
    unsigned char *data[OPERATIONS_MAX][MEMBERS_MAX];
    uint64_t control, requests, fetched; // counters at the last look
};

static struct job job;

static unsigned pattern_of(int operation, int rank)
{
    return (unsigned)(operation * MEMBERS_MAX + rank);
}

static void begin(int operation, int rank)
{
    unsigned char *data = job.data[operation][rank] = calloc((size_t)job.members, BYTES);
    pattern_fill(data + rank * BYTES, BYTES, pattern_of(operation, rank));
    assert_int_equal(co_mcast_allgather_start(&job.ops[operation][rank], job.world.group[rank], data, BYTES,
                                              co_loopback_now_ns(job.world.hub)),
                     0);
}

static void open_job(const struct world_options *options, int operations, bool is_deaf)
{
    world_open(&job.world, options);
    job.members = options->members;
    job.operations = operations;
    for (int i = 0; i < 4; i++) {
        world_allgather(&job.world, BYTES, (unsigned)i);
    }
    for (int rank = 0; rank < job.members && is_deaf; rank++) {
        job.world.transport[rank]->ops->leave(job.world.transport[rank], 0);
    }
}

static void begin_all(bool is_late)
{
    for (int operation = 0; operation < job.operations; operation++) {
        for (int rank = 0; rank < job.members; rank++) {
            if ((rank == LATE) == is_late) {
                begin(operation, rank);
            }
        }
    }
}

static void pass(uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(job.world.hub) + ns;
    while (co_loopback_now_ns(job.world.hub) < end) {
        assert_true(world_turn(&job.world));
    }
}

static void look(void)
{
    job.control = co_counter_read(CO_COUNT_CONTROL_SENT);
    job.requests = co_counter_read(CO_COUNT_NACKS_SENT);
    job.fetched = co_counter_read(CO_COUNT_RETRANSMITTED);
}

static void finish(void)
{
    for (int operation = 0; operation < job.operations; operation++) {
        world_run(&job.world, job.ops[operation], job.members, SECOND_NS);
        for (int rank = 0; rank < job.members; rank++) {
            assert_int_equal(co_mcast_op_state(job.ops[operation][rank]), 1);
            for (int source = 0; source < job.members; source++) {
                assert_true(
                    pattern_matches(job.data[operation][rank] + source * BYTES, BYTES, pattern_of(operation, source)));
            }
            co_mcast_op_release(job.ops[operation][rank]);
            free(job.data[operation][rank]);
        }
    }
    world_close(&job.world);
}

struct rate {
    uint64_t control, requests;
};

// A second of a job in which one member is late, after the first two.
static struct rate wait_for_one(const struct world_options *options, int operations, bool is_deaf)
{
    open_job(options, operations, is_deaf);
    begin_all(false);
    pass(2 * SECOND_NS);
    look();
    pass(4 * SECOND_NS);
    struct rate rate = {(co_counter_read(CO_COUNT_CONTROL_SENT) - job.control) / 4,
                        (co_counter_read(CO_COUNT_NACKS_SENT) - job.requests) / 4};
    print_message("%d members, %d outstanding%s: %" PRIu64 " messages and %" PRIu64 " requests in a second\n",
                  job.members, operations, is_deaf ? ", deaf" : "", rate.control, rate.requests);
    begin_all(true);
    finish();
    return rate;
}

static void each_member_waits_at_the_same_cost(void **state)
{
    (void)state; // 35, 107, 263 and 581 messages a member
    for (int members = 4; members <= 32; members *= 2) {
        struct world_options options = world_defaults(members);
        options.chains = 1; // nobody after the late one sends
        assert_true(wait_for_one(&options, 1, false).control <= (uint64_t)members * 25);
    }
}

static void many_operations_have_one_patience(void **state)
{
    (void)state; // 25000 requests with 64 outstanding, 74 with one
    struct world_options options = world_defaults(8);
    for (int is_deaf = 0; is_deaf < 2; is_deaf++) {
        for (unsigned chains = 0; chains < 2; chains++) {
            options.chains = chains;
            uint64_t one = wait_for_one(&options, 1, is_deaf).requests;
            assert_true(wait_for_one(&options, OPERATIONS_MAX, is_deaf).requests <= one + one / 4);
        }
    }
}

static void when_multicast_dies_blocks_are_asked_for_once(void **state)
{
    (void)state; // 40 times, and each came three times: requests and answers overflowed the queues on their way
    static const size_t chunk_bytes[] = {100, 1432};
    for (int i = 0; i < 2; i++) {
        struct world_options options = world_defaults(8);
        options.chunk_bytes = chunk_bytes[i];
        options.window_bytes = 200 * chunk_bytes[i];
        open_job(&options, OPERATIONS_MAX, true);
        look();
        begin_all(false);
        begin_all(true);
        finish();
        uint64_t blocks = OPERATIONS_MAX * 8 * 7, requests = co_counter_read(CO_COUNT_NACKS_SENT) - job.requests;
        uint64_t fetched = co_counter_read(CO_COUNT_RETRANSMITTED) - job.fetched;
        print_message("%" PRIu64 " requests for %" PRIu64 " blocks, %" PRIu64 " bytes fetched of %" PRIu64 "\n",
                      requests, blocks, fetched, blocks * BYTES);
        assert_true(requests <= blocks * 3 / 2);
        assert_true(fetched <= blocks * BYTES * 5 / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_member_waits_at_the_same_cost),
        cmocka_unit_test(many_operations_have_one_patience),
        cmocka_unit_test(when_multicast_dies_blocks_are_asked_for_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
