// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks received straight to their place, by a transport that writes there whatever comes: which ones are, and that
// nothing it has written is left.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

#define MEMBERS 4
#define CHUNKS 200
#define NOT_WORTH_IT 7 // the last ones of a block
#define LIMIT_NS UINT64_C(60000000000)

static struct world_options landing(void)
{
    struct world_options options = world_defaults(MEMBERS);
    options.form = CO_AUTH_HEAD;
    return options;
}

static uint64_t landed_in(const struct world_options *options, size_t chunks)
{
    struct world world;
    uint64_t before = co_counter_read(CO_COUNT_DATA_LANDED);
    world_open(&world, options);
    for (int root = 0; root < MEMBERS; root++) {
        world_bcast(&world, root, chunks * options->chunk_bytes, (unsigned)root + 1);
        world_bcast(&world, root, chunks * options->chunk_bytes - 13, (unsigned)root + 7);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
    return co_counter_read(CO_COUNT_DATA_LANDED) - before;
}

static void what_comes_in_order_lands(void **state)
{
    (void)state;
    struct world_options options = landing();
    assert_int_equal(landed_in(&options, CHUNKS), 2 * MEMBERS * (MEMBERS - 1) * (CHUNKS - NOT_WORTH_IT));
}

static void a_few_chunks_do_not(void **state)
{
    (void)state;
    struct world_options options = landing();
    assert_int_equal(landed_in(&options, NOT_WORTH_IT), 0);
}

// A tag over the payload can be verified only where all stands together; and of several groups none is the next.
static void only_where_it_is_known_what_comes(void **state)
{
    (void)state;
    struct world_options options = landing();
    options.form = CO_AUTH_CHECK;
    assert_int_equal(landed_in(&options, CHUNKS), 0);
    options = landing();
    options.subgroups = 2;
    assert_int_equal(landed_in(&options, CHUNKS), 0);
    options = landing();
    options.faults = "miss=0.01,seed=3"; // which are missed is known above the transport
    assert_int_equal(landed_in(&options, CHUNKS), 0);
}

static void whatever_else_comes(void **state)
{
    (void)state;
    static const char *const plans[] = {"drop=0.01,seed=1",
                                        "drop=0.2,seed=2",
                                        "dup=1,seed=3",
                                        "reorder=0.3,seed=4",
                                        "truncate=0.1,seed=5",
                                        "delay=0.1:3ms,seed=6",
                                        "drop=0.1,dup=0.3,reorder=0.3,seed=7"};
    for (size_t i = 0; i < sizeof(plans) / sizeof(*plans); i++) {
        struct world_options options = landing();
        options.faults = plans[i];
        uint64_t landed = landed_in(&options, CHUNKS);
        assert_true(landed > 0);
    }
}

// The operations of which chunks come next change places.
static void several_at_once(void **state)
{
    (void)state;
    enum { OPERATIONS = 6 };
    struct world_options options = landing();
    options.faults = "drop=0.05,reorder=0.2,seed=9";
    size_t bytes = CHUNKS * options.chunk_bytes;
    struct world world;
    struct co_mcast_op *ops[OPERATIONS * MEMBERS];
    unsigned char *data[OPERATIONS * MEMBERS];
    world_open(&world, &options);
    for (int i = 0; i < OPERATIONS * MEMBERS; i++) {
        int number = i / MEMBERS, rank = i % MEMBERS, root = number % MEMBERS;
        data[i] = calloc(1, bytes);
        assert_non_null(data[i]);
        if (rank == root) {
            pattern_fill(data[i], bytes, (unsigned)number);
        }
        assert_int_equal(co_mcast_bcast_start(&ops[i], world.group[rank], root, data[i], bytes, 0), 0);
    }
    world_run(&world, ops, OPERATIONS * MEMBERS, LIMIT_NS);
    for (int i = 0; i < OPERATIONS * MEMBERS; i++) {
        assert_true(pattern_matches(data[i], bytes, (unsigned)(i / MEMBERS)));
        co_mcast_op_release(ops[i]);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
    for (int i = 0; i < OPERATIONS * MEMBERS; i++) {
        free(data[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_in_order_lands),
        cmocka_unit_test(a_few_chunks_do_not),
        cmocka_unit_test(only_where_it_is_known_what_comes),
        cmocka_unit_test(whatever_else_comes),
        cmocka_unit_test(several_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
