// SPDX-License-Identifier: BSD-3-Clause
//
// Staging, where a member is behind by so many operations that several share a queue of early chunks: each gets its
// own, at once, and nothing is asked for again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/receive/early_chunks.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define BYTES 50
#define OPERATIONS 200
#define SECOND_NS UINT64_C(1000000000)

struct broadcasts {
    struct world world;
    unsigned char data[2][OPERATIONS][BYTES];
    struct co_mcast_op *ops[2][OPERATIONS];
    int begun[2];
};

static void begin(struct broadcasts *all, int rank, int before)
{
    for (int i = all->begun[rank]; i < before; i++) {
        if (rank == 0) {
            pattern_fill(all->data[0][i], BYTES, (unsigned)i);
        }
        assert_int_equal(co_mcast_bcast_start(&all->ops[rank][i], all->world.group[rank], 0, all->data[rank][i], BYTES,
                                              co_loopback_now_ns(all->world.hub)),
                         0);
    }
    all->begun[rank] = before;
}

static void pass(struct broadcasts *all)
{
    uint64_t end = co_loopback_now_ns(all->world.hub) + SECOND_NS / 1000;
    while (co_loopback_now_ns(all->world.hub) < end && world_turn(&all->world)) {
    }
}

static void who_is_far_behind_finds_all_in_its_place(void **state)
{
    (void)state;
    static struct broadcasts all;
    const int queues = inside_early_queues();
    assert_true(OPERATIONS > 3 * queues);
    struct world_options options = world_defaults(2);
    world_open(&all.world, &options);
    uint64_t asked = co_counter_read(CO_COUNT_NACKS_SENT);
    begin(&all, 0, OPERATIONS - 1); // number n, n + queues, ... stand in one queue
    pass(&all);
    assert_int_equal(inside_staged(all.world.mcast[1]), OPERATIONS - 1);
    begin(&all, 1, queues);
    assert_int_equal(inside_staged(all.world.mcast[1]), OPERATIONS - 1 - queues);
    begin(&all, 0, OPERATIONS); // behind what is left in its queue
    pass(&all);
    begin(&all, 1, OPERATIONS);
    assert_int_equal(inside_staged(all.world.mcast[1]), 0);
    for (int i = 0; i < OPERATIONS; i++) {
        assert_int_equal(co_mcast_op_state(all.ops[1][i]), 1);
        assert_true(pattern_matches(all.data[1][i], BYTES, (unsigned)i));
    }
    assert_int_equal(co_counter_read(CO_COUNT_NACKS_SENT), asked);
    world_run(&all.world, all.ops[0], OPERATIONS, SECOND_NS);
    for (int i = 0; i < OPERATIONS; i++) {
        co_mcast_op_release(all.ops[0][i]);
        co_mcast_op_release(all.ops[1][i]);
    }
    world_close(&all.world);
}

static void keep(struct co_mcast_group *group, uint32_t operation, uint32_t psn)
{
    struct co_chunk chunk = {.operation = operation, .psn = psn, .source = 0};
    assert_true(co_early_keep(group, &chunk, (const uint8_t *)"x", 1));
}

// The one that was taken stood at the end of the queue: what comes next is kept behind what is left.
static void a_late_chunk_may_stand_behind_those_of_a_later_operation(void **state)
{
    (void)state;
    struct world_options options = world_defaults(2);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_group *group = world.group[1];
    const uint32_t queues = (uint32_t)inside_early_queues();
    keep(group, 0, 0);
    keep(group, queues, 0);
    keep(group, 0, 1);
    struct co_early_chunk *taken = co_early_take(group, 0);
    assert_int_equal(taken->chunk.psn, 0);
    assert_int_equal(taken->next->chunk.psn, 1);
    assert_null(taken->next->next);
    co_early_give(taken->next);
    co_early_give(taken);
    keep(group, 2 * queues, 0);
    keep(group, queues, 1);
    taken = co_early_take(group, queues);
    assert_int_equal(taken->chunk.psn, 0);
    assert_int_equal(taken->next->chunk.psn, 1);
    assert_null(taken->next->next);
    co_early_give(taken->next);
    co_early_give(taken);
    taken = co_early_take(group, 2 * queues);
    assert_non_null(taken);
    assert_null(taken->next);
    co_early_give(taken);
    assert_int_equal(inside_staged(world.mcast[1]), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_far_behind_finds_all_in_its_place),
        cmocka_unit_test(a_late_chunk_may_stand_behind_those_of_a_later_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
