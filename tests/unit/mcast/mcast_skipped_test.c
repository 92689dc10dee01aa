// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts that some members let go another way, for the length that they were called with, and others wait for, in
// virtual time: who waits is told by the root, whatever is lost and whoever is late, nobody takes what comes later for
// it, and all number what follows alike, whatever is agreed on in between.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 5, BYTES = 3000, STEPS = 1200, TURNS_MOST = 2000000 };
enum { LONGEST = 40000 }; // more than a window: credit must be whole

#define SECOND_NS UINT64_C(1000000000)

enum kind { SHORT, UNEQUAL, LONG, ALLGATHER, KINDS };

struct member {
    unsigned at; // step
    bool has_begun;
    uint32_t skipped;
    struct co_mcast_op *op;
    unsigned char buffer[BYTES];
};

static struct member members[MEMBERS];
static unsigned canceled, program;

static unsigned draw(unsigned of, unsigned step, unsigned what)
{
    uint64_t state = ((uint64_t)program << 40 | (uint64_t)step << 8 | what) * UINT64_C(0x9e3779b97f4a7c15);
    state = (state ^ state >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (unsigned)((state >> 32) % of);
}

static enum kind kind_of(unsigned step)
{
    return (enum kind)draw(KINDS, step, 0);
}

// Of several classes, each of which has its trials of the two ways.
static size_t block_of(unsigned step)
{
    return (size_t)2 << draw(6, step, 8);
}

static int root_of(unsigned step)
{
    return (int)draw(MEMBERS, step, 1);
}

// Whether this member's own length says that the step goes another way.
static bool lets_go(int rank, unsigned step)
{
    bool is_short = rank == root_of(step) || draw(3, step, 2 + (unsigned)rank) == 0;
    return kind_of(step) == SHORT || (kind_of(step) == UNEQUAL && is_short);
}

static void let_go(struct world *world, int rank)
{
    co_mcast_seed_skip(inside_seed(world->group[rank]));
}

static void begin(struct world *world, int rank)
{
    struct member *member = &members[rank];
    struct co_mcast_group *group = world->group[rank];
    uint64_t now_ns = co_loopback_now_ns(world->hub);
    if (!co_mcast_group_skip_to(group, member->skipped) || !co_mcast_group_may_start(group)) {
        return;
    }
    memset(member->buffer, 0x5a, BYTES);
    int status;
    if (kind_of(member->at) == ALLGATHER) {
        size_t block = block_of(member->at);
        pattern_fill(member->buffer + (size_t)rank * block, block, member->at + (unsigned)rank);
        status = co_mcast_allgather_start(&member->op, group, member->buffer, block, now_ns);
    } else {
        if (rank == root_of(member->at)) {
            pattern_fill(member->buffer, BYTES, member->at);
        }
        status = co_mcast_bcast_start(&member->op, group, root_of(member->at), member->buffer, BYTES, now_ns);
    }
    assert_int_equal(status, 0);
    member->has_begun = true;
}

static void end(int rank)
{
    struct member *member = &members[rank];
    bool is_vain = kind_of(member->at) == UNEQUAL;
    assert_int_equal(co_mcast_op_state(member->op), is_vain ? -ECANCELED : 1);
    for (int i = 0; i < MEMBERS && kind_of(member->at) == ALLGATHER; i++) {
        size_t block = block_of(member->at);
        assert_true(pattern_matches(member->buffer + (size_t)i * block, block, member->at + (unsigned)i));
    }
    if (kind_of(member->at) == LONG) {
        assert_true(pattern_matches(member->buffer, BYTES, member->at));
    }
    canceled += is_vain;
    co_mcast_op_release(member->op);
    member->op = NULL;
    member->has_begun = false;
    member->at++;
}

// The program as far as this member can go.
static void go_on(struct world *world, int rank)
{
    struct member *member = &members[rank];
    if (member->has_begun) {
        if (co_mcast_op_state(member->op) == 0) {
            return;
        }
        end(rank);
    }
    for (; member->at < STEPS && lets_go(rank, member->at); member->at++) {
        let_go(world, rank);
        member->skipped++;
    }
    if (member->at < STEPS) {
        begin(world, rank);
    }
}

static void run(const struct world_options *options)
{
    struct world world;
    memset(members, 0, sizeof members);
    world_open(&world, options);
    int left = MEMBERS;
    for (unsigned turn = 0; left > 0; turn++) {
        assert_true(turn < TURNS_MOST);
        world_turn(&world);
        left = 0;
        for (int rank = 0; rank < MEMBERS; rank++) {
            left += members[rank].at < STEPS;
            if (members[rank].at < STEPS && draw(7, turn, 20 + (unsigned)rank) < 2 + (unsigned)rank) {
                go_on(&world, rank);
            }
        }
    }
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(inside_group_error(world.group[rank]), 0);
        assert_true(co_mcast_group_skip_to(world.group[rank], members[rank].skipped));
    }
    for (int root = 0; root < MEMBERS; root++) {
        world_bcast(&world, root, LONGEST, (unsigned)root);
    }
    world_settle(&world, 20 * SECOND_NS);
    world_close(&world);
}

static void who_waits_in_vain_is_told(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.2,seed=1", "drop=0.1,dup=0.3,reorder=0.3,seed=2", "blackhole=1"};
    for (program = 1; program <= 12; program++) {
        struct world_options options = world_defaults(MEMBERS);
        options.faults = plans[program % 4];
        options.subgroups = 1 + program % 3;
        options.eager_bytes = program % 2 ? 0 : 5000;
        options.collect_bytes = program % 5 == 0 ? 0 : 4000;
        unsigned before = canceled;
        run(&options);
        assert_true(canceled > before);
    }
}

// All but the first member, in a broadcast of that one's.
static void wait_for_the_first(struct world *world, struct co_mcast_op *ops[MEMBERS])
{
    ops[0] = NULL;
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world->group[rank], 0, members[rank].buffer, BYTES,
                                              co_loopback_now_ns(world->hub)),
                         0);
    }
}

static void expect_told(struct world *world, struct co_mcast_op *ops[MEMBERS])
{
    world_run(world, ops, MEMBERS, SECOND_NS);
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), -ECANCELED);
        co_mcast_op_release(ops[rank]);
    }
}

// A root that computes, and has called nothing since, answers as well.
static void it_is_told_before_the_root_calls_again(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    world_open(&world, &options);
    world_bcast(&world, 0, BYTES, 1);
    let_go(&world, 0);
    wait_for_the_first(&world, ops);
    expect_told(&world, ops);
    assert_true(co_mcast_group_skip_to(world.group[0], 1));
    world_bcast(&world, 0, BYTES, 2);
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

// While a broadcast that was called before it is yet to start, nobody knows which number it took, and nothing is said;
// then it is.
static void it_is_told_once_it_is_known(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    memset(members, 0, sizeof members);
    world_open(&world, &options);
    assert_int_equal(co_mcast_group_call(world.group[0]), 0);
    let_go(&world, 0);
    wait_for_the_first(&world, ops);
    uint64_t until_ns = co_loopback_now_ns(world.hub) + SECOND_NS;
    while (co_loopback_now_ns(world.hub) < until_ns && world_turn(&world)) {
    }
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 0);
    }
    pattern_fill(members[0].buffer, BYTES, 3);
    assert_int_equal(
        co_mcast_bcast_start(&ops[0], world.group[0], 0, members[0].buffer, BYTES, co_loopback_now_ns(world.hub)), 0);
    co_mcast_group_call_begun(world.group[0]);
    world_run(&world, ops, MEMBERS, SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        assert_true(pattern_matches(members[rank].buffer, BYTES, 3));
        co_mcast_op_release(ops[rank]);
    }
    wait_for_the_first(&world, ops);
    expect_told(&world, ops);
    assert_true(co_mcast_group_skip_to(world.group[0], 1));
    world_bcast(&world, 1, BYTES, 4);
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

// One that is refused has not been made.
static void what_was_refused_takes_no_number(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    let_go(&world, 2);
    co_mcast_seed_unskip(inside_seed(world.group[2]));
    assert_int_equal(co_mcast_group_call(world.group[2]), 0);
    world_bcast(&world, 2, BYTES, 1);
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

// Its short broadcasts end without the others, and it skips one between any two.
static void a_root_far_ahead_knows_all_of_them(void **state)
{
    enum { CALLS = 1000 };
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    options.staging_bytes = (size_t)CALLS * 400;
    options.window_bytes = options.shared_window_bytes = (size_t)CALLS * 200;
    struct world world;
    memset(members, 0, sizeof members);
    world_open(&world, &options);
    unsigned at[MEMBERS] = {0};
    unsigned char data[MEMBERS][8];
    struct co_mcast_op *ops[MEMBERS] = {NULL};
    for (int left = MEMBERS, turn = 0; left > 0; turn++) {
        assert_true(turn < TURNS_MOST);
        world_turn(&world);
        left = 0;
        for (int rank = 0; rank < MEMBERS; rank++) {
            struct co_mcast_group *group = world.group[rank];
            if (ops[rank] != NULL && co_mcast_op_state(ops[rank]) != 0) {
                bool is_vain = at[rank] % 2 == 0;
                assert_int_equal(co_mcast_op_state(ops[rank]), is_vain ? -ECANCELED : 1);
                assert_true(is_vain || data[rank][0] == (unsigned char)at[rank]);
                co_mcast_op_release(ops[rank]);
                ops[rank] = NULL;
                at[rank]++;
            }
            left += at[rank] < 2 * CALLS;
            if (at[rank] == 2 * CALLS || ops[rank] != NULL || (rank > 0 && at[0] < CALLS)) {
                continue;
            }
            if (rank == 0 && at[rank] % 2 == 0) {
                let_go(&world, rank);
                at[rank]++;
                continue;
            }
            data[rank][0] = rank == 0 ? (unsigned char)at[rank] : 0;
            assert_true(co_mcast_group_skip_to(group, rank == 0 ? at[rank] / 2 + 1 : 0));
            assert_int_equal(co_mcast_bcast_start(&ops[rank], group, 0, data[rank], sizeof data[rank],
                                                  co_loopback_now_ns(world.hub)),
                             0);
        }
    }
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits_in_vain_is_told),          cmocka_unit_test(it_is_told_before_the_root_calls_again),
        cmocka_unit_test(it_is_told_once_it_is_known),        cmocka_unit_test(what_was_refused_takes_no_number),
        cmocka_unit_test(a_root_far_ahead_knows_all_of_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
