// SPDX-License-Identifier: BSD-3-Clause
//
// What a lane says of its datagrams is believed only as far as it goes: one whose tag did not verify there, or verified
// for another team or rank, is checked anew, alone and in the middle of a run.
#include <setjmp.h>
#include <stdalign.h>
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

enum { MEMBERS = 3, SELF = 1, PAYLOAD = 100, CHUNKS = 8, BYTES = CHUNKS * PAYLOAD, ROOM = 160 };

static struct world world;
static struct co_mcast_op *op;
static unsigned char buffer[BYTES];
static alignas(8) uint8_t datagrams[CHUNKS][ROOM];
static struct co_receive_lane lane; // as if its thread had filled it
static struct co_lane_datagram *const said = lane.datagrams;

static int open_world(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    world_open(&world, &options);
    struct co_mcast_group *group = world.group[SELF];
    memset(buffer, 0, sizeof buffer);
    assert_int_equal(co_mcast_bcast_start(&op, group, 0, buffer, BYTES, 1), 0);
    for (uint32_t psn = 0; psn < CHUNKS; psn++) {
        struct co_chunk chunk = {
            .team = (uint32_t)group->team_id, .psn = psn, .block_bytes = BYTES, .chunk_bytes = PAYLOAD};
        uint8_t *data = datagrams[psn], nonce[CO_AUTH_NONCE_BYTES];
        co_wire_chunk_encode(data, &chunk);
        co_wire_chunk_nonce(nonce, &chunk);
        memset(data + CO_WIRE_HEAD_BYTES, (int)psn + 1, PAYLOAD);
        co_auth_seal(world.auth[0], CO_AUTH_CHUNK, 0, group->team_id, nonce, data, CO_WIRE_HEAD_BYTES + PAYLOAD, NULL,
                     0, data + CO_WIRE_HEAD_BYTES + PAYLOAD);
        size_t bytes = CO_WIRE_HEAD_BYTES + PAYLOAD + world.mcast[SELF]->tag_bytes;
        said[psn] = (struct co_lane_datagram){.data = data,
                                              .bytes = bytes,
                                              .kind = CO_WIRE_CHUNK,
                                              .chunk = chunk,
                                              .is_verified = true,
                                              .team_id = group->team_id,
                                              .rank = 0};
    }
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    co_mcast_group_fail(world.group[SELF], -1);
    co_mcast_op_release(op);
    world_close(&world);
    return 0;
}

// How many were dropped for their tags.
static uint64_t deliver(unsigned count)
{
    uint64_t forged = co_counter_read(CO_COUNT_DROP_FORGED);
    lane.count = count;
    inside_deliver_lane(world.mcast[SELF], &lane);
    return co_counter_read(CO_COUNT_DROP_FORGED) - forged;
}

static bool has_come(unsigned psn)
{
    return co_chunk_bitmap_has(op->blocks[0].arrived, psn) && buffer[psn * PAYLOAD] == psn + 1;
}

static void forge(unsigned psn)
{
    datagrams[psn][CO_WIRE_HEAD_BYTES] ^= 1;
    said[psn].is_verified = false; // for this sender: the lane says that, too
}

static void forged_alone(void **state)
{
    (void)state;
    forge(0);
    assert_int_equal(deliver(1), 1);
    assert_false(co_chunk_bitmap_has(op->blocks[0].arrived, 0));
}

static void forged_in_a_run(void **state)
{
    (void)state;
    uint64_t in_runs = co_counter_read(CO_COUNT_DATA_IN_RUNS);
    forge(3);
    assert_int_equal(deliver(CHUNKS), 1);
    inside_count_placed(world.mcast[SELF]);
    assert_true(co_counter_read(CO_COUNT_DATA_IN_RUNS) - in_runs >= CHUNKS - 3);
    for (unsigned psn = 0; psn < CHUNKS; psn++) {
        assert_int_equal(has_come(psn), psn != 3);
    }
}

// It may be of a team that shares the low half of the id, or of another rank by the same index there.
static void verified_as_another_ones(void **state)
{
    (void)state;
    for (unsigned psn = 1; psn < CHUNKS; psn++) {
        datagrams[psn][CO_WIRE_HEAD_BYTES] ^= 1;
        said[psn].team_id += psn % 2 ? UINT64_C(1) << 32 : 0;
        said[psn].rank = psn % 2 ? 0 : 2;
    }
    assert_int_equal(deliver(CHUNKS), CHUNKS - 1);
    assert_true(has_come(0));
}

// What the lane has verified is not checked again: that is what it is for.
static void verified_once(void **state)
{
    (void)state;
    for (unsigned psn = 0; psn < CHUNKS; psn++) {
        datagrams[psn][CO_WIRE_HEAD_BYTES + PAYLOAD] ^= 1; // the tag, after the lane has seen it
    }
    assert_int_equal(deliver(CHUNKS), 0);
    for (unsigned psn = 0; psn < CHUNKS; psn++) {
        assert_true(has_come(psn));
    }
}

int main(void)
{
#define WORLD(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        WORLD(forged_alone),
        WORLD(forged_in_a_run),
        WORLD(verified_as_another_ones),
        WORLD(verified_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
