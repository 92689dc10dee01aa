// SPDX-License-Identifier: BSD-3-Clause
//
// One member starts seconds after the others: they neither ask without end for what he is to send or pass on, nor wait
// for him with what somebody else has.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

enum { MEMBERS = 8, LATE = 1, OPERATIONS = 4, BYTES = 500 };
#define SECOND_NS UINT64_C(1000000000)

struct job {
    struct world world;
    struct co_mcast_op *ops[OPERATIONS][MEMBERS];
    unsigned char data[OPERATIONS][MEMBERS][MEMBERS * BYTES];
};

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end) {
        assert_true(world_turn(world));
    }
}

static void allgather(struct job *job, int operation, int rank)
{
    unsigned char *data = job->data[operation][rank];
    pattern_fill(data + rank * BYTES, BYTES, (unsigned)(operation * MEMBERS + rank));
    assert_int_equal(co_mcast_allgather_start(&job->ops[operation][rank], job->world.group[rank], data, BYTES,
                                              co_loopback_now_ns(job->world.hub)),
                     0);
}

static void bcast(struct job *job, int operation, int rank)
{
    unsigned char *data = job->data[operation][rank];
    if (rank == 0) {
        pattern_fill(data, BYTES, (unsigned)operation);
    }
    assert_int_equal(co_mcast_bcast_start(&job->ops[operation][rank], job->world.group[rank], 0, data, BYTES,
                                          co_loopback_now_ns(job->world.hub)),
                     0);
}

static void start(struct job *job, bool is_late, void (*begin)(struct job *job, int operation, int rank))
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int rank = 0; rank < MEMBERS; rank++) {
            if ((rank == LATE) == is_late) {
                begin(job, operation, rank);
            }
        }
    }
}

static void finish(struct job *job)
{
    for (int operation = 0; operation < OPERATIONS; operation++) {
        world_run(&job->world, job->ops[operation], MEMBERS, SECOND_NS);
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(co_mcast_op_state(job->ops[operation][rank]), 1);
            co_mcast_op_release(job->ops[operation][rank]);
        }
    }
    world_settle(&job->world, SECOND_NS);
}

static void who_is_late_is_not_asked_without_end(void **state)
{
    (void)state; // answers that all is parked made room for the next questions: 43000 of them in each second
    static struct job job;
    struct world_options options = world_defaults(MEMBERS);
    options.chains = 1; // nobody after him in the chain sends either
    world_open(&job.world, &options);
    start(&job, false, allgather);
    pass(&job.world, 2 * SECOND_NS);
    uint64_t asked = co_counter_read(CO_COUNT_NACKS_SENT);
    pass(&job.world, 4 * SECOND_NS);
    asked = co_counter_read(CO_COUNT_NACKS_SENT) - asked;
    print_message("%" PRIu64 " requests in a second\n", asked / 4);
    assert_true(asked / 4 <= (MEMBERS - 1) * 20); // by each that waits
    start(&job, true, allgather);
    finish(&job);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int rank = 0; rank < MEMBERS; rank++) {
            for (int source = 0; source < MEMBERS; source++) {
                assert_true(pattern_matches(job.data[operation][rank] + source * BYTES, BYTES,
                                            (unsigned)(operation * MEMBERS + source)));
            }
        }
    }
    world_close(&job.world);
}

static void the_source_is_asked_when_the_neighbour_is_late(void **state)
{
    (void)state;
    static struct job job;
    struct world_options options = world_defaults(MEMBERS);
    world_open(&job.world, &options);
    struct co_transport *deaf = job.world.transport[LATE + 1]; // what he lacks his neighbour lacks too
    deaf->ops->leave(deaf, 0);
    start(&job, false, bcast);
    pass(&job.world, SECOND_NS);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        assert_true(pattern_matches(job.data[operation][LATE + 1], BYTES, (unsigned)operation));
    }
    assert_int_equal(deaf->ops->join(deaf, 0), 0);
    start(&job, true, bcast);
    finish(&job);
    world_close(&job.world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_late_is_not_asked_without_end),
        cmocka_unit_test(the_source_is_asked_when_the_neighbour_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
