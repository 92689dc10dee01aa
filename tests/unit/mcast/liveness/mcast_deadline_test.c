// SPDX-License-Identifier: BSD-3-Clause
//
// When silence ends an operation, in virtual time: a source or contributor that had begun and says nothing more is
// given up after the deadline, one that only waits for somebody else, however long, is not.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcast_inside.h"
#include "mcast_world.h"

#define SECOND_NS UINT64_C(1000000000)
#define DEADLINE_NS (2 * SECOND_NS)

enum { BYTES = 40000 }; // 400 chunks, two windows

static void open_with_proof(struct world *world, const struct world_options *options, enum co_liveness_proof proof)
{
    world_open(world, options);
    for (int rank = 0; rank < options->members; rank++) {
        inside_set_deadline(world->mcast[rank], DEADLINE_NS);
        co_mcast_set_liveness_proof(world->mcast[rank], proof);
    }
}

static void open_with_deadline(struct world *world, const struct world_options *options)
{
    open_with_proof(world, options, CO_LIVENESS_PROOF_MEMBERS);
}

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
}

static struct co_mcast_op *start_bcast(struct world *world, int rank, unsigned char *buffer)
{
    struct co_mcast_op *op;
    assert_int_equal(co_mcast_bcast_start(&op, world->group[rank], 0, buffer, BYTES, co_loopback_now_ns(world->hub)),
                     0);
    return op;
}

// Its lateness holds the source back, which has begun: that is not the source's silence.
static void a_late_member_harms_nobody(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.3,seed=5", "blackhole=1"};
    for (size_t plan = 0; plan < sizeof(plans) / sizeof(*plans); plan++) {
        enum { MEMBERS = 4 };
        struct world_options options = world_defaults(MEMBERS);
        options.faults = plans[plan];
        struct world world;
        open_with_deadline(&world, &options);
        struct co_mcast_op *ops[MEMBERS];
        unsigned char *buffers = calloc(MEMBERS, BYTES);
        pattern_fill(buffers, BYTES, 1);
        for (int rank = 0; rank < MEMBERS - 1; rank++) {
            ops[rank] = start_bcast(&world, rank, buffers + rank * BYTES);
        }
        pass(&world, 20 * DEADLINE_NS);
        ops[MEMBERS - 1] = start_bcast(&world, MEMBERS - 1, buffers + (MEMBERS - 1) * BYTES);
        world_run(&world, ops, MEMBERS, 10 * SECOND_NS);
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(co_mcast_op_state(ops[rank]), 1);
            assert_true(pattern_matches(buffers + rank * BYTES, BYTES, 1));
            co_mcast_op_release(ops[rank]);
        }
        world_settle(&world, 30 * SECOND_NS);
        world_close(&world);
        free(buffers);
    }
}

static void a_source_that_stops_is_given_up(void **state)
{
    (void)state;
    enum { MEMBERS = 3 };
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    open_with_deadline(&world, &options);
    struct co_mcast *source = world.mcast[0];
    struct co_mcast_op *ops[MEMBERS];
    unsigned char *buffers = calloc(MEMBERS, BYTES);
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = start_bcast(&world, rank, buffers + rank * BYTES);
    }
    world.mcast[0] = NULL;     // it never moves again
    pass(&world, DEADLINE_NS); // only what was asked in vain counts
    assert_int_equal(co_mcast_op_state(ops[1]), 0);
    world_run(&world, ops + 1, MEMBERS - 1, 2 * DEADLINE_NS);
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), -ETIMEDOUT);
        co_mcast_op_release(ops[rank]);
    }
    world.mcast[0] = source;
    world_close(&world);
    free(buffers);
}

// A host without power says nothing, and has perhaps not even begun. Whatever the others wait for has an end: its
// block, its report, its credit.
static void who_is_gone_ends_what_waits_for_it(void **state)
{
    (void)state;
    enum { MEMBERS = 4, SMALL = 8 };
    for (int gone = 0; gone < MEMBERS; gone++) {
        for (int is_large = 0; is_large < 2; is_large++) {
            struct world_options options = world_defaults(MEMBERS);
            options.eager_bytes = 0; // the caller waits for the handshake, too
            struct world world;
            open_with_deadline(&world, &options);
            struct co_mcast *silent = world.mcast[gone];
            struct co_mcast_op *ops[MEMBERS] = {NULL};
            unsigned char *buffers = calloc(MEMBERS, BYTES);
            world.mcast[gone] = NULL;
            for (int rank = 0; rank < MEMBERS; rank++) {
                if (rank != gone) {
                    assert_int_equal(co_mcast_bcast_start(&ops[rank], world.group[rank], 0, buffers + rank * BYTES,
                                                          is_large ? BYTES : SMALL, co_loopback_now_ns(world.hub)),
                                     0);
                }
            }
            pass(&world, 3 * DEADLINE_NS);
            int failed = 0;
            for (int rank = 0; rank < MEMBERS; rank++) {
                if (rank != gone) {
                    assert_int_not_equal(co_mcast_op_state(ops[rank]), 0);
                    failed += co_mcast_op_state(ops[rank]) == -ETIMEDOUT;
                    co_mcast_group_fail(world.group[rank], -ETIMEDOUT); // what the engine does then
                    co_mcast_op_release(ops[rank]);
                }
            }
            assert_true(failed > 0);
            world.mcast[gone] = silent;
            world_close(&world);
            free(buffers);
        }
    }
}

enum { COLLECTING = 8, UNIT = 450, COLLECTOR = 0x1234567800000007 % COLLECTING, SILENT = 2 };

// All contribute; one stops at once. True: a part of what it gave has arrived, no more and no less.
static bool stops_half_way(struct world *world, struct co_mcast_op *ops[COLLECTING], unsigned char *buffers)
{
    for (int rank = 0; rank < COLLECTING; rank++) {
        assert_int_equal(co_mcast_allgather_start(&ops[rank], world->group[rank],
                                                  buffers + (size_t)rank * COLLECTING * UNIT, UNIT,
                                                  co_loopback_now_ns(world->hub)),
                         0);
    }
    world->mcast[SILENT] = NULL;
    pass(world, DEADLINE_NS / 2);
    return inside_is_half_here(ops[COLLECTOR], SILENT);
}

static void half_a_contribution_is_a_beginning(void **state)
{
    (void)state;
    bool was_half = false;
    unsigned char *buffers = calloc(COLLECTING * COLLECTING, UNIT);
    for (int seed = 1; seed < 20 && !was_half; seed++) {
        char faults[60];
        snprintf(faults, sizeof(faults), "drop=0.5,kind=data,seed=%d", seed);
        struct world_options options = world_defaults(COLLECTING);
        options.collect_bytes = 4000;
        options.faults = faults;
        struct world world;
        open_with_deadline(&world, &options);
        struct co_mcast *silent = world.mcast[SILENT];
        struct co_mcast_op *ops[COLLECTING];
        was_half = stops_half_way(&world, ops, buffers);
        if (was_half) {
            assert_int_equal(co_mcast_op_state(ops[COLLECTOR]), 0);
            world_run(&world, &ops[COLLECTOR], 1, 2 * DEADLINE_NS);
            assert_int_equal(co_mcast_op_state(ops[COLLECTOR]), -ETIMEDOUT);
        }
        world.mcast[SILENT] = silent;
        for (int rank = 0; rank < COLLECTING; rank++) {
            co_mcast_group_fail(world.group[rank], -ETIMEDOUT); // what the engine does then
            co_mcast_op_release(ops[rank]);
        }
        world_close(&world);
    }
    assert_true(was_half);
    free(buffers);
}

// Who has not begun may be as late as it likes, and so may everybody else meanwhile.
static void a_collector_waits_for_who_is_late(void **state)
{
    (void)state;
    struct world_options options = world_defaults(COLLECTING);
    options.collect_bytes = 4000;
    struct world world;
    open_with_deadline(&world, &options);
    struct co_mcast_op *ops[COLLECTING];
    unsigned char *buffers = calloc(COLLECTING * COLLECTING, UNIT);
    for (int turn = 0; turn < 2; turn++) {
        for (int rank = 0; rank < COLLECTING; rank++) {
            if ((rank == SILENT) == (turn == 1)) {
                assert_int_equal(co_mcast_allgather_start(&ops[rank], world.group[rank],
                                                          buffers + (size_t)rank * COLLECTING * UNIT, UNIT,
                                                          co_loopback_now_ns(world.hub)),
                                 0);
            }
        }
        pass(&world, turn == 0 ? 20 * DEADLINE_NS : 0);
    }
    world_run(&world, ops, COLLECTING, 10 * SECOND_NS);
    for (int rank = 0; rank < COLLECTING; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        co_mcast_op_release(ops[rank]);
    }
    world_settle(&world, 30 * SECOND_NS);
    world_close(&world);
    free(buffers);
}

// Three members broadcast, and the fourth computes: it does nothing at all, and its host answers for it. Then that
// falls silent, or the member returns.
static void compute_for_long(bool returns, const char *faults)
{
    enum { MEMBERS = 4, COMPUTES = 2 };
    struct world_options options = world_defaults(MEMBERS);
    options.faults = faults;
    struct world world;
    open_with_proof(&world, &options, CO_LIVENESS_PROOF_HOSTS);
    struct co_mcast *computes = world.mcast[COMPUTES];
    struct co_mcast_op *ops[MEMBERS] = {NULL};
    unsigned char *buffers = calloc(MEMBERS, BYTES);
    pattern_fill(buffers, BYTES, 1);
    world.mcast[COMPUTES] = NULL;
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = rank == COMPUTES ? NULL : start_bcast(&world, rank, buffers + rank * BYTES);
    }
    pass(&world, 20 * DEADLINE_NS);
    assert_int_equal(co_mcast_op_state(ops[0]), 0);
    // Itself now and then, for its host to say when its process is gone.
    assert_true(inside_probed_ns(world.mcast[0], COMPUTES) > co_loopback_now_ns(world.hub) - 3 * DEADLINE_NS);
    if (!returns) {
        co_loopback_silence_host(world.hub, COMPUTES);
    }
    pass(&world, DEADLINE_NS / 2);
    assert_int_equal(co_mcast_op_state(ops[0]), 0);
    world.mcast[COMPUTES] = computes;
    if (returns) {
        ops[COMPUTES] = start_bcast(&world, COMPUTES, buffers + COMPUTES * BYTES);
        world_run(&world, ops, MEMBERS, 10 * SECOND_NS);
    } else {
        world.mcast[COMPUTES] = NULL;
        pass(&world, 2 * DEADLINE_NS);
    }
    assert_int_equal(co_mcast_op_state(ops[0]), returns ? 1 : -ETIMEDOUT);
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (!returns) {
            co_mcast_group_fail(world.group[rank], -ETIMEDOUT); // what the engine does then
        }
        assert_true(!returns || pattern_matches(buffers + rank * BYTES, BYTES, 1));
        if (ops[rank] != NULL) {
            co_mcast_op_release(ops[rank]);
        }
    }
    world.mcast[COMPUTES] = computes;
    world_settle(&world, 30 * SECOND_NS);
    world_close(&world);
    free(buffers);
}

static void a_host_speaks_for_who_computes(void **state)
{
    (void)state;
    compute_for_long(true, NULL);
    compute_for_long(true, "drop=0.3,seed=5");
    compute_for_long(false, NULL);
    compute_for_long(false, "drop=0.3,seed=5");
}

// Who asked, computed for long and comes back has not listened meanwhile: the silence begins now.
static void time_elsewhere_is_no_silence(void **state)
{
    (void)state;
    enum { MEMBERS = 2 };
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    open_with_proof(&world, &options, CO_LIVENESS_PROOF_HOSTS);
    struct co_mcast *source = world.mcast[0], *member = world.mcast[1];
    unsigned char *buffer = calloc(1, BYTES);
    struct co_mcast_op *op = start_bcast(&world, 1, buffer);
    world.mcast[0] = NULL;
    co_loopback_silence_host(world.hub, 0);
    pass(&world, DEADLINE_NS / 2);
    assert_true(inside_suspects(world.group[1]));
    co_loopback_advance(world.hub, co_loopback_now_ns(world.hub) + 10 * DEADLINE_NS);
    assert_true(co_mcast_progress(member, co_loopback_now_ns(world.hub)) >= 0);
    pass(&world, DEADLINE_NS / 2);
    assert_int_equal(co_mcast_op_state(op), 0);
    pass(&world, DEADLINE_NS);
    assert_int_equal(co_mcast_op_state(op), -ETIMEDOUT);
    co_mcast_group_fail(world.group[1], -ETIMEDOUT);
    co_mcast_op_release(op);
    world.mcast[0] = source;
    world_close(&world);
    free(buffer);
}

static int questions_left;

static int ask_while_there_is_room(struct co_transport *transport, int rank)
{
    (void)transport;
    (void)rank;
    return questions_left > 0 ? questions_left-- : 0;
}

static void who_could_not_be_asked_is_not_given_up(void **state)
{
    (void)state;
    static unsigned char buffer[BYTES];
    struct world world;
    struct world_options options = world_defaults(2);
    open_with_proof(&world, &options, CO_LIVENESS_PROOF_HOSTS);
    struct co_mcast *silent = world.mcast[0];
    world.mcast[0] = NULL;
    co_loopback_silence_host(world.hub, 0);
    struct co_mcast_op *op = start_bcast(&world, 1, buffer);
    const struct co_transport_ops *right = world.transport[1]->ops;
    struct co_transport_ops crowded = *right;
    crowded.host_ask = ask_while_there_is_room;
    questions_left = 2;
    world.transport[1]->ops = &crowded;
    pass(&world, 4 * DEADLINE_NS);
    assert_int_equal(questions_left, 0);
    assert_int_equal(co_mcast_op_state(op), 0);
    world.transport[1]->ops = right;
    pass(&world, 2 * DEADLINE_NS);
    assert_int_equal(co_mcast_op_state(op), -ETIMEDOUT);
    co_mcast_group_fail(world.group[1], -ETIMEDOUT);
    co_mcast_op_release(op);
    world.mcast[0] = silent;
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_member_harms_nobody),         cmocka_unit_test(a_source_that_stops_is_given_up),
        cmocka_unit_test(who_is_gone_ends_what_waits_for_it), cmocka_unit_test(half_a_contribution_is_a_beginning),
        cmocka_unit_test(a_collector_waits_for_who_is_late),  cmocka_unit_test(a_host_speaks_for_who_computes),
        cmocka_unit_test(time_elsewhere_is_no_silence),       cmocka_unit_test(who_could_not_be_asked_is_not_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
