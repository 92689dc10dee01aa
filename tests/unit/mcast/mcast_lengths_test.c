// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts whose members were called with other lengths than the root, in virtual time: everyone ends with the root's
// bytes, repairs for its neighbours, and the group goes on. And one member that has no memory for the root's length:
// it fails alone, and credit stays whole. Allgathers whose members disagree who gives how much end on all of them.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 4, LONGEST = 40000 }; // more than a window of 200 chunks

#define SECOND_NS UINT64_C(1000000000)

static bool has_memory = true;

void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_calloc(size_t count, size_t bytes)
{
    return has_memory ? __real_calloc(count, bytes) : NULL;
}

struct member {
    struct co_mcast_op *op;
    size_t room;
    unsigned char buffer[LONGEST];
};

static struct member members[MEMBERS];

static void start(struct world *world, int rank, int root, size_t room, unsigned seed)
{
    struct member *member = &members[rank];
    member->room = room;
    for (size_t i = 0; i < LONGEST; i++) {
        member->buffer[i] = 0x5a;
    }
    if (rank == root) {
        pattern_fill(member->buffer, room, seed);
    }
    assert_int_equal(co_mcast_bcast_start(&member->op, world->group[rank], root, member->buffer, room,
                                          co_loopback_now_ns(world->hub)),
                     0);
}

// The root's bytes, in the buffer or where there was room; nothing beyond.
static void finish(int rank, size_t given, unsigned seed)
{
    struct member *member = &members[rank];
    assert_int_equal(co_mcast_op_state(member->op), 1);
    size_t bytes;
    unsigned char *whole = co_mcast_op_take_whole(member->op, &bytes);
    assert_int_equal(bytes, given);
    assert_int_equal(whole != NULL, given > member->room);
    assert_true(pattern_matches(whole != NULL ? whole : member->buffer, given, seed));
    for (size_t i = whole != NULL ? 0 : given; i < LONGEST; i++) {
        assert_int_equal(member->buffer[i], 0x5a);
    }
    free(whole);
    co_mcast_op_release(member->op);
    member->op = NULL;
}

static void pass(struct world *world, uint64_t ns)
{
    uint64_t until = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < until && world_turn(world)) {
    }
}

static void broadcast(struct world *world, int root, size_t given, const size_t rooms[MEMBERS], unsigned seed)
{
    struct co_mcast_op *ops[MEMBERS];
    for (int rank = 0; rank < MEMBERS; rank++) {
        start(world, rank, root, rank == root ? given : rooms[rank], seed);
        ops[rank] = members[rank].op;
    }
    world_run(world, ops, MEMBERS, 20 * SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        finish(rank, given, seed);
    }
}

static void all_end_with_the_roots_bytes(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.3,seed=1", "drop=0.2,dup=0.3,reorder=0.3,seed=2", "blackhole=1"};
    static const size_t lengths[] = {1, 99, 100, 101, 1000, 6000, LONGEST};
    for (size_t plan = 0; plan < sizeof(plans) / sizeof(*plans); plan++) {
        struct world_options options = world_defaults(MEMBERS);
        options.faults = plans[plan];
        options.eager_bytes = plan % 2 ? 0 : 5000;
        options.subgroups = 1 + (unsigned)plan;
        struct world world;
        world_open(&world, &options);
        for (unsigned turn = 0; turn < 49; turn++) {
            size_t given = lengths[turn % 7], other = lengths[turn / 7];
            size_t rooms[MEMBERS] = {other, given, other, lengths[(turn + 3) % 7]};
            broadcast(&world, (int)turn % MEMBERS, given, rooms, turn);
            world_bcast(&world, (int)turn % 3, other, turn);
        }
        world_allgather(&world, 300, 7);
        world_settle(&world, 20 * SECOND_NS);
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(inside_bitmap_bytes(world.mcast[rank]), 0);
        }
        world_close(&world);
    }
}

// Staged chunks, for a member that comes late, tell it too.
static void who_comes_late_learns_it_from_what_was_staged(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    static const size_t rooms[] = {700, 300, 2000, 700};
    for (int rank = 0; rank < MEMBERS - 1; rank++) {
        start(&world, rank, 0, rooms[rank], 3);
    }
    pass(&world, SECOND_NS / 100);
    start(&world, MEMBERS - 1, 0, 50, 3);
    struct co_mcast_op *ops[MEMBERS];
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = members[rank].op;
    }
    world_run(&world, ops, MEMBERS, SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        finish(rank, 700, 3);
    }
    world_settle(&world, SECOND_NS);
    world_close(&world);
}

static void an_operation_that_fails_alone_leaves_credit_whole(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[MEMBERS];
    for (int rank = 0; rank < MEMBERS; rank++) {
        start(&world, rank, 0, rank == 1 ? 1000 : LONGEST, 1);
        ops[rank] = members[rank].op;
    }
    has_memory = false;
    world_run(&world, ops + 1, 1, SECOND_NS);
    has_memory = true;
    assert_int_equal(co_mcast_op_state(ops[1]), -ENOMEM);
    co_mcast_op_release(ops[1]);
    ops[1] = NULL;
    world_run(&world, ops, MEMBERS, SECOND_NS); // the others are not held back
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (rank != 1) {
            finish(rank, LONGEST, 1);
        }
    }
    world_bcast(&world, 0, LONGEST, 1);
    world_allgather(&world, LONGEST, 2);
    pass(&world, SECOND_NS); // what is owed of credit
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_true(inside_is_credited(world.group[rank]));
    }
    world_close(&world);
}

// Gives back what has ended, and the group, where it has failed, as the engine does. How many failed since; *open: are
// left.
static int give_back(struct world *world, struct co_mcast_op **ops, int count, int *open)
{
    int failed = 0;
    *open = 0;
    for (int rank = 0; rank < count; rank++) {
        int state = ops[rank] == NULL ? 0 : co_mcast_op_state(ops[rank]);
        assert_true(state == 0 || state == 1 || state == -EMSGSIZE || state == -ECONNRESET);
        failed += state < 0;
        *open += ops[rank] != NULL && state == 0;
        if (state < 0) {
            co_mcast_group_fail(world->group[rank], state);
        }
        if (state != 0) {
            co_mcast_op_release(ops[rank]);
            ops[rank] = NULL;
        }
    }
    return failed;
}

// Lengths of the blocks as each member has them. All end, somebody with an error.
static void disagree(int count, const size_t *views, const struct world_options *options)
{
    struct world world;
    struct co_mcast_op *ops[WORLD_MAX] = {NULL};
    unsigned char *buffers[8];
    int failed = 0, open = count;
    world_open(&world, options);
    for (int rank = 0; rank < count; rank++) {
        struct co_mcast_place places[8];
        size_t at = 0;
        for (int of = 0; of < count; of++) {
            places[of] = (struct co_mcast_place){at, views[rank * count + of]};
            at += places[of].bytes;
        }
        buffers[rank] = calloc(1, at);
        assert_int_equal(co_mcast_allgatherv_start(&ops[rank], world.group[rank], buffers[rank], places,
                                                   co_loopback_now_ns(world.hub)),
                         0);
    }
    while (open > 0) {
        assert_true(world_turn(&world) && co_loopback_now_ns(world.hub) < 20 * SECOND_NS);
        failed += give_back(&world, ops, count, &open);
    }
    assert_true(failed > 0);
    world_close(&world);
    for (int rank = 0; rank < count; rank++) {
        free(buffers[rank]);
    }
}

static void disagree_by_all_ways(int count, const size_t *views, size_t collect_bytes)
{
    static const char *const plans[] = {NULL, "drop=0.2,seed=3", "dup=0.3,reorder=0.3,seed=4"};
    for (size_t plan = 0; plan < sizeof plans / sizeof *plans; plan++) {
        struct world_options options = world_defaults(count);
        options.faults = plans[plan];
        options.collect_bytes = collect_bytes;
        disagree(count, views, &options);
    }
}

static void a_block_that_nobody_sends_is_not_waited_for(void **state)
{
    (void)state;
    static const size_t gives_nothing[] = {500, 500, 500, 500, 0, 500, 500, 500, 500};
    static const size_t none_of_the_last[] = {500, 500, 0, 500, 500, 0, 500, 500, 500};
    static const size_t one_alone[] = {500, 500, 500, 500, 0, 0, 500, 500, 500};
    disagree_by_all_ways(3, gives_nothing, 0);
    disagree_by_all_ways(3, none_of_the_last, 0);
    disagree_by_all_ways(3, one_alone, 0);
}

// The first one's operation is over when the second one's block comes, which is longer than its window.
static void a_block_of_what_is_over_is_noticed(void **state)
{
    (void)state;
    static const size_t views[] = {8, 0, 8, LONGEST};
    struct world_options options = world_defaults(2);
    disagree(2, views, &options);
}

// What that one multicasts is lost, it is over for it, and nobody else expects anything of it.
static void one_gives_all(int count, size_t *views, int other)
{
    struct world_options options = world_defaults(count);
    options.faults = "drop=1,kind=data";
    options.collect_bytes = 4000;
    for (int of = 0; of < count; of++) {
        views[other * count + of] = of == other ? 40 : 0;
    }
    disagree(count, views, &options);
}

// By the id of the world's team.
static void a_collector_does_not_wait_for_who_gives_nothing(void **state)
{
    (void)state;
    enum { SEVEN = 7, COLLECTOR = 0x1234567800000007 % SEVEN };
    size_t views[SEVEN * SEVEN];
    for (int other = 0; other < SEVEN; other++) {
        for (int i = 0; i < SEVEN * SEVEN; i++) {
            views[i] = 40;
        }
        views[other * SEVEN + other] = 0;
        disagree_by_all_ways(SEVEN, views, 4000);
        for (int of = 0; of < SEVEN; of++) {
            views[other * SEVEN + of] = of == COLLECTOR ? 40 : 0;
        }
        disagree_by_all_ways(SEVEN, views, 4000);
        one_gives_all(SEVEN, views, other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_end_with_the_roots_bytes),
        cmocka_unit_test(who_comes_late_learns_it_from_what_was_staged),
        cmocka_unit_test(an_operation_that_fails_alone_leaves_credit_whole),
        cmocka_unit_test(a_block_that_nobody_sends_is_not_waited_for),
        cmocka_unit_test(a_block_of_what_is_over_is_noticed),
        cmocka_unit_test(a_collector_does_not_wait_for_who_gives_nothing),
    };
    int failed = cmocka_run_group_tests_name("datagrams", tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("like verbs", tests, NULL, NULL);
}
