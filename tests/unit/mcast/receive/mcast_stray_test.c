// SPDX-License-Identifier: BSD-3-Clause
//
// Control messages that are authentic, and yet cannot come from the member that sent them: whoever is confused, or
// pretends to be, neither makes others send what they have not got nor keeps them from asking.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 8, COLLECTOR = 0x1234567800000007 % MEMBERS, LATE = 3, BYTES = 40 };
#define SECOND_NS UINT64_C(1000000000)

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
}

static uint64_t strays(void)
{
    return co_counter_read(CO_COUNT_DROP_STRAY);
}

static void gather(struct world *world, struct co_mcast_op **op, int rank, unsigned char *data)
{
    pattern_fill(data + rank * BYTES, BYTES, (unsigned)rank);
    assert_int_equal(co_mcast_allgather_start(op, world->group[rank], data, BYTES, co_loopback_now_ns(world->hub)), 0);
}

// All but one have begun an allgather; somebody is told that it is his turn; then the late one begins, too.
static void activate(const struct world_options *options, int from, int to, bool is_stray)
{
    struct world world;
    struct co_mcast_op *ops[MEMBERS] = {NULL};
    static unsigned char data[MEMBERS][MEMBERS * BYTES];
    world_open(&world, options);
    uint64_t before = strays();
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (rank != LATE) {
            gather(&world, &ops[rank], rank, data[rank]);
        }
    }
    pass(&world, 10000000);
    inside_send_control(world.group[from], to, CO_CONTROL_TOKEN, ops[to]->number, 0, NULL, 0);
    pass(&world, 10000000);
    assert_int_equal(strays() - before, is_stray);
    gather(&world, &ops[LATE], LATE, data[LATE]);
    world_run(&world, ops, MEMBERS, SECOND_NS);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        for (int source = 0; source < MEMBERS; source++) {
            assert_true(pattern_matches(data[rank] + source * BYTES, BYTES, (unsigned)source));
        }
        co_mcast_op_release(ops[rank]);
    }
    world_close(&world);
}

static void a_collector_sends_nothing_that_has_yet_to_reach_it(void **state)
{
    (void)state; // it broadcast the zeros that stood where the late block was to come
    struct world_options options = world_defaults(MEMBERS);
    options.collect_bytes = 4000;
    options.chains = 1; // the member before the collector may hand a turn on, in an allgather of another kind
    activate(&options, COLLECTOR - 1, COLLECTOR, false);
    options.chains = 0;
    activate(&options, COLLECTOR - 1, COLLECTOR, true);
}

static void a_turn_comes_along_the_chain(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    options.chains = 1;
    activate(&options, LATE - 1, LATE + 1, true);
    activate(&options, LATE + 2, LATE + 1, true);
    options.chains = 2;
    activate(&options, MEMBERS / 2 - 1, MEMBERS / 2, true); // the head of the second chain has none before it
}

// The first chunks of a bcast are lost to all; until member 2 asks its left neighbour for them, which is late.
static struct co_mcast_op *ask_in_vain(struct world *world, struct co_mcast_op **ops, unsigned char (*data)[300])
{
    for (int rank = 0; rank < 4; rank++) {
        if (rank != 1) {
            assert_int_equal(co_mcast_bcast_start(&ops[rank], world->group[rank], 0, data[rank], sizeof(data[rank]),
                                                  co_loopback_now_ns(world->hub)),
                             0);
        }
    }
    uint64_t requests = world->group[2]->requests;
    while (world->group[2]->requests == requests) {
        assert_true(world_turn(world));
    }
    return ops[2];
}

static void who_was_not_asked_has_parked_nothing(void **state)
{
    (void)state;
    struct world_options options = world_defaults(4);
    options.faults = "script=0:1,kind=data";
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[4] = {NULL};
    unsigned char data[4][300] = {{0}};
    pattern_fill(data[0], sizeof(data[0]), 1);
    struct co_mcast_op *op = ask_in_vain(&world, ops, data);
    struct co_mcast_group *group = world.group[2];
    uint8_t body[sizeof(struct co_nack_body)];
    struct co_nack_body deferred = {.source = 0, .label = co_wire_nack_label(group->requests)};
    size_t bytes = co_wire_nack_encode(body, &deferred, NULL, 0);
    uint64_t before = strays();
    uint32_t answered = group->answered;
    struct co_mcast *neighbour = world.mcast[1];
    world.mcast[1] = NULL; // does not answer either
    inside_send_control(world.group[3], 2, CO_CONTROL_NACK_DEFERRED, op->number, 0, body, bytes);
    pass(&world, 100000);
    assert_int_equal(strays() - before, 1);
    assert_false(op->blocks[0].is_deferred);
    assert_int_equal(group->answered, answered);
    inside_send_control(world.group[0], 2, CO_CONTROL_NACK_DEFERRED, op->number, 0, body, bytes); // its own block's
    pass(&world, 100000);
    assert_int_equal(strays() - before, 1);
    assert_int_equal(group->answered, answered); // but requests are numbered for the neighbour
    world.mcast[1] = neighbour;
    assert_int_equal(
        co_mcast_bcast_start(&ops[1], world.group[1], 0, data[1], sizeof(data[1]), co_loopback_now_ns(world.hub)), 0);
    world_run(&world, ops, 4, SECOND_NS);
    for (int rank = 0; rank < 4; rank++) {
        assert_true(pattern_matches(data[rank], sizeof(data[rank]), 1));
        co_mcast_op_release(ops[rank]);
    }
    world_close(&world);
}

static void strangers_are_not_served(void **state)
{
    (void)state;
    struct world_options options = world_defaults(4);
    options.eager_bytes = 0;
    struct world world;
    world_open(&world, &options);
    struct co_mcast_op *ops[4] = {NULL};
    unsigned char data[4][300] = {{0}};
    pattern_fill(data[0], sizeof(data[0]), 1);
    for (int rank = 0; rank < 3; rank++) { // member 3 is late: 2 waits for it
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world.group[rank], 0, data[rank], sizeof(data[rank]),
                                              co_loopback_now_ns(world.hub)),
                         0);
    }
    pass(&world, 1000000);
    uint8_t body[CO_CONTROL_MAX];
    struct co_nack_body nack = {.source = 0, .why = CO_NACK_LOST};
    struct co_nack_range range = {0, 3};
    size_t bytes = co_wire_nack_encode(body, &nack, &range, 1);
    uint64_t before = strays(), served = co_counter_read(CO_COUNT_NACKS_ANSWERED);
    inside_send_control(world.group[1], 2, CO_CONTROL_NACK, ops[2]->number, 1, body, bytes); // its left neighbour
    pass(&world, 1000000);
    assert_int_equal(strays() - before, 1);
    assert_int_equal(co_counter_read(CO_COUNT_NACKS_ANSWERED), served);
    inside_send_control(world.group[3], 2, CO_CONTROL_NACK, ops[2]->number, 1, body, bytes); // its right one
    inside_send_control(world.group[2], 0, CO_CONTROL_NACK, ops[0]->number, 1, body, bytes); // whose block it is
    pass(&world, 1000000);
    assert_int_equal(strays() - before, 1);
    assert_true(co_counter_read(CO_COUNT_NACKS_ANSWERED) > served);
    assert_int_equal(
        co_mcast_bcast_start(&ops[3], world.group[3], 0, data[3], sizeof(data[3]), co_loopback_now_ns(world.hub)), 0);
    world_run(&world, ops, 4, SECOND_NS);
    for (int rank = 0; rank < 4; rank++) {
        assert_true(pattern_matches(data[rank], sizeof(data[rank]), 1));
        co_mcast_op_release(ops[rank]);
    }
    world_close(&world);
}

static void say_progress(struct world *world, int from, uint32_t done_before, int source, uint32_t received)
{
    uint8_t body[CO_CONTROL_MAX];
    struct co_ack_body progress = {.done_before = done_before};
    struct co_credit_entry entry = {.source = (uint16_t)source, .received = received};
    size_t bytes = co_wire_ack_encode(body, &progress, &entry, 1);
    inside_send_control(world->group[from], 0, CO_CONTROL_ACK, 0, 1, body, bytes);
    pass(world, 1000000);
}

// Credit comes from a child in the source's tree, and the handshake from the right neighbour.
static void reports_are_for_who_waits_for_them(void **state)
{
    enum { RADIX = 3 };
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    uint32_t received[MEMBERS], heard[MEMBERS];
    options.ack_radix = RADIX;
    world_open(&world, &options);
    struct co_mcast_group *group = world.group[0]; // children for its own chunks: 1, 2 and 4
    assert_int_equal(group->tree.children_most, RADIX);
    memcpy(received, group->child_received, sizeof received);
    memcpy(heard, group->child_heard, sizeof heard);
    say_progress(&world, 5, 50, 0, 1000);       // a child of 4
    say_progress(&world, 2, 50, 1, 1000);       // of source 1 it is no child of ours
    say_progress(&world, 1, 0, 1, 1000);        // nobody reports to others what he has himself
    say_progress(&world, 1, 0, MEMBERS, 1000);  // there is no such source
    say_progress(&world, 2, 50, UINT16_MAX, 1); // nor such
    assert_memory_equal(group->child_received, received, sizeof received);
    assert_memory_equal(group->child_heard, heard, sizeof heard);
    assert_int_equal(group->right_done_before, 0);
    say_progress(&world, 1, 3, 0, 1); // a child, and the right neighbour
    assert_memory_not_equal(group->child_received, received, sizeof received);
    assert_int_equal(group->right_done_before, 3);
    world_close(&world);
}

// What was said to one member, sent on to another by somebody who heard it.
static void what_was_said_to_another_is_not_taken(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    uint64_t team = world.group[0]->team_id, forged = co_counter_read(CO_COUNT_DROP_FORGED);
    uint8_t data[CO_WIRE_HEAD_BYTES + CO_AUTH_TAG_MAX], nonce[CO_AUTH_NONCE_BYTES];
    struct co_control control = {.type = CO_CONTROL_ABORT, .team = (uint32_t)team, .sequence = 1000};
    size_t bytes = CO_WIRE_HEAD_BYTES + world.mcast[2]->tag_bytes;
    co_wire_control_encode(data, &control, 0);
    co_wire_control_nonce(nonce, &control, 1);
    co_auth_seal(world.auth[0], CO_AUTH_CONTROL, 0, team, nonce, data, CO_WIRE_HEAD_BYTES, NULL, 0,
                 data + CO_WIRE_HEAD_BYTES);
    struct co_arrival arrival = {.data = data, .bytes = bytes};
    inside_deliver(world.mcast[2], &arrival, 1);
    assert_int_equal(world.group[2]->broken, 0);
    assert_int_equal(co_counter_read(CO_COUNT_DROP_FORGED) - forged, 1);
    inside_deliver(world.mcast[1], &arrival, 1);
    assert_true(world.group[1]->broken != 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collector_sends_nothing_that_has_yet_to_reach_it),
        cmocka_unit_test(a_turn_comes_along_the_chain),
        cmocka_unit_test(who_was_not_asked_has_parked_nothing),
        cmocka_unit_test(strangers_are_not_served),
        cmocka_unit_test(reports_are_for_who_waits_for_them),
        cmocka_unit_test(what_was_said_to_another_is_not_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
