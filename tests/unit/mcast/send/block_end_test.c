// SPDX-License-Identifier: BSD-3-Clause
//
// The word that a block has left: the next block says it where blocks follow each other and nothing is lost, and it is
// said where none follows, or where something was lost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/state/operation.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define BYTES 1000 // ten chunks
#define QUIET 64   // blocks without a loss, from which on the word is kept back
#define MS UINT64_C(1000000)

static struct co_transport_ops ops_counted;
static const struct co_transport_ops *real_ops;
static const struct co_transport *root;
static unsigned ends, lost_chunks; // that were said; of the next block, to be lost

static bool is_end(const struct co_tx_datagram *datagram)
{
    struct co_control control;
    return datagram->payload_bytes == 0 &&
           co_wire_control_decode(&control, datagram->head, datagram->head_bytes) >= 0 &&
           control.type == CO_CONTROL_END_OF_BLOCK;
}

static int send_counted(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                        unsigned count)
{
    bool is_chunks = transport == root && to.kind == CO_TO_GROUP && batch[0].payload_bytes > 0;
    ends += transport == root && to.kind == CO_TO_GROUP && is_end(&batch[0]);
    if (!is_chunks || lost_chunks == 0) {
        return real_ops->send(transport, to, batch, count);
    }
    unsigned fewer = lost_chunks < count ? lost_chunks : count;
    lost_chunks -= fewer;
    int sent = count > fewer ? real_ops->send(transport, to, batch, count - fewer) : 0;
    return sent < 0 ? sent : (int)count;
}

static void open_world(struct world *world)
{
    struct world_options options = world_defaults(3);
    options.eager_bytes = 10 * BYTES;
    world_open(world, &options);
    real_ops = world->transport[0]->ops;
    root = world->transport[0];
    ops_counted = *real_ops;
    ops_counted.send = send_counted;
    world->transport[0]->ops = &ops_counted;
    ends = lost_chunks = 0;
}

static void pass(struct world *world, uint64_t ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + ns;
    while (co_loopback_now_ns(world->hub) < end && world_turn(world)) {
    }
}

// Blocks that follow each other: each begins when the members have the one before.
static unsigned ends_of(struct world *world, unsigned blocks)
{
    ends = 0;
    for (unsigned i = 0; i < blocks; i++) {
        world_bcast(world, 0, BYTES, i);
    }
    return ends;
}

static void the_next_block_says_it(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    assert_int_equal(ends_of(&world, QUIET), QUIET);
    assert_int_equal(ends_of(&world, 30), 0);
    world_close(&world);
}

static void what_follows_late_says_nothing(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    ends_of(&world, QUIET + 1);
    assert_int_equal(ends, QUIET);
    pass(&world, 10 * MS);
    assert_int_equal(ends_of(&world, 1), 1);
    world_close(&world);
}

// Its last chunks are lost, and nothing follows: the word comes once the source has been silent for as long as tells
// that, and long before silence tells the members of a long block.
static void a_word_that_was_kept_back_is_said_when_nothing_follows(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    ends_of(&world, QUIET + 1);
    ends = 0;
    lost_chunks = 3;
    uint64_t before_ns = co_loopback_now_ns(world.hub);
    world_bcast(&world, 0, BYTES, 5);
    assert_int_equal(ends, 1);
    assert_in_range(co_loopback_now_ns(world.hub) - before_ns, 0, 2 * MS);
    world_close(&world);
}

static void after_a_loss_each_block_has_its_word(void **state)
{
    (void)state;
    struct world world;
    open_world(&world);
    ends_of(&world, QUIET + 1);
    lost_chunks = 3;
    world_bcast(&world, 0, BYTES, 5);
    world_settle(&world, 1000 * MS); // the report of the loss, too
    assert_int_equal(ends_of(&world, QUIET), QUIET);
    assert_int_equal(ends_of(&world, 10), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_block_says_it),
        cmocka_unit_test(what_follows_late_says_nothing),
        cmocka_unit_test(a_word_that_was_kept_back_is_said_when_nothing_follows),
        cmocka_unit_test(after_a_loss_each_block_has_its_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
