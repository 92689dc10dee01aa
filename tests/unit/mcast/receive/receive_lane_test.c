// SPDX-License-Identifier: BSD-3-Clause
//
// A lane between a transport and the engine: full until it is given back, tags checked only against what was learnt,
// foreign and damaged datagrams left to the engine, a flood bounded.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/receive/receive_lane.h"

enum { PAYLOAD = 100, TAG = CO_AUTH_TAG_MAX, DATAGRAM = CO_WIRE_HEAD_BYTES + PAYLOAD + TAG, ROOM = 8 };

#define TEAM UINT64_C(0x500000001)

// A transport that delivers what stands in it, `repeat` times over.
struct fake {
    struct co_transport transport;
    uint8_t datagrams[ROOM][DATAGRAM];
    size_t bytes[ROOM];
    int count, repeat, status;
    bool has_more;
};

static int fake_join(struct co_transport *transport, unsigned index)
{
    (void)transport;
    return index == 0 ? 0 : -EINVAL;
}

static int fake_lane_open(struct co_transport *transport, unsigned index)
{
    return fake_join(transport, index);
}

static int fake_lane_receive(struct co_transport *transport, unsigned index, co_deliver_fn deliver, void *arg,
                             bool *has_more)
{
    struct fake *fake = (struct fake *)transport;
    assert_int_equal(index, 0);
    *has_more = fake->has_more;
    for (int turn = 0; turn < fake->repeat; turn++) {
        for (int i = 0; i < fake->count; i++) {
            deliver(arg, &(struct co_arrival){.data = fake->datagrams[i], .bytes = (uint32_t)fake->bytes[i]}, 1);
        }
    }
    return fake->status < 0 ? fake->status : fake->count * fake->repeat;
}

static const struct co_transport_ops fake_ops = {
    .name = "fake", .join = fake_join, .lane_open = fake_lane_open, .lane_receive = fake_lane_receive};

struct rig {
    struct fake fake;
    struct co_auth *auth;
    struct co_receive_lane *lane;
};

static void open_rig(struct rig *rig)
{
    uint8_t key[CO_AUTH_KEY_BYTES] = {1, 2, 3};
    *rig = (struct rig){.fake = {.transport = {.ops = &fake_ops}, .repeat = 1}};
    assert_int_equal(co_auth_open(&rig->auth, key, 4, CO_AUTH_KEYED), 0);
    assert_int_equal(co_receive_lane_open(&rig->lane, &rig->fake.transport, rig->auth, 0), 0);
}

static void close_rig(struct rig *rig)
{
    co_receive_lane_close(rig->lane);
    co_auth_close(rig->auth);
}

static struct co_chunk chunk_of(uint16_t source, uint32_t psn)
{
    return (struct co_chunk){.source = source,
                             .chunk_bytes = PAYLOAD,
                             .team = (uint32_t)TEAM,
                             .operation = 3,
                             .psn = psn,
                             .block_bytes = 10 * PAYLOAD};
}

// Puts a chunk of `rank`, who is `source` in the team, among what comes next.
static void add_chunk(struct rig *rig, uint16_t source, int rank, uint32_t psn)
{
    struct fake *fake = &rig->fake;
    struct co_chunk chunk = chunk_of(source, psn);
    uint8_t *data = fake->datagrams[fake->count], nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_encode(data, &chunk);
    memset(data + CO_WIRE_HEAD_BYTES, (int)psn, PAYLOAD);
    co_wire_chunk_nonce(nonce, &chunk);
    co_auth_seal(rig->auth, CO_AUTH_CHUNK, rank, TEAM, nonce, data, CO_WIRE_HEAD_BYTES + PAYLOAD, NULL, 0,
                 data + CO_WIRE_HEAD_BYTES + PAYLOAD);
    fake->bytes[fake->count++] = DATAGRAM;
}

static void learn(struct rig *rig, uint16_t source, int rank)
{
    struct co_chunk chunk = chunk_of(source, 0);
    co_receive_lane_learn(rig->lane, &chunk, TEAM, rank);
}

static void full_until_given_back(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    assert_int_equal(co_receive_lane_fill(rig.lane), 0);
    assert_false(co_receive_lane_take(rig.lane));
    add_chunk(&rig, 1, 2, 0);
    add_chunk(&rig, 1, 2, 1);
    assert_int_equal(co_receive_lane_fill(rig.lane), 2);
    assert_true(co_receive_lane_fill(rig.lane) > 0); // still waits, nothing is received over it
    assert_true(co_receive_lane_take(rig.lane));
    assert_int_equal(rig.lane->count, 2);
    assert_false(rig.lane->has_more);
    assert_int_equal(rig.lane->datagrams[1].data[CO_WIRE_HEAD_BYTES], 1);
    co_receive_lane_give(rig.lane);
    assert_false(co_receive_lane_take(rig.lane));
    rig.fake.has_more = true;
    assert_int_equal(co_receive_lane_fill(rig.lane), 2);
    assert_true(rig.lane->has_more);
    close_rig(&rig);
}

static void tags_are_checked_against_what_was_learnt(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    add_chunk(&rig, 1, 2, 0);
    assert_int_equal(co_receive_lane_fill(rig.lane), 1);
    assert_false(rig.lane->datagrams[0].is_verified); // nobody has said who source 1 is
    assert_true(co_receive_lane_take(rig.lane));
    learn(&rig, 1, 2);
    co_receive_lane_give(rig.lane);
    assert_int_equal(co_receive_lane_fill(rig.lane), 1);
    assert_true(rig.lane->datagrams[0].is_verified);
    assert_int_equal(rig.lane->datagrams[0].rank, 2);
    assert_true(rig.lane->datagrams[0].team_id == TEAM);
    close_rig(&rig);
}

static void what_does_not_verify_is_left_to_the_engine(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    learn(&rig, 1, 2);
    add_chunk(&rig, 1, 3, 0); // another rank's key
    add_chunk(&rig, 1, 2, 1); // damaged below
    rig.fake.datagrams[1][CO_WIRE_HEAD_BYTES + 5] ^= 1;
    add_chunk(&rig, 1, 2, 2); // cut off in the middle of the tag
    rig.fake.bytes[2] = DATAGRAM - 3;
    rig.fake.bytes[rig.fake.count++] = 0; // empty
    rig.fake.bytes[rig.fake.count++] = 5; // shorter than a tag
    assert_int_equal(co_receive_lane_fill(rig.lane), 5);
    for (int i = 0; i < 5; i++) {
        assert_false(rig.lane->datagrams[i].is_verified);
    }
    close_rig(&rig);
}

static void a_flood_is_bounded(void **state)
{
    (void)state;
    struct rig rig;
    open_rig(&rig);
    add_chunk(&rig, 1, 2, 0);
    rig.fake.repeat = CO_LANE_DATAGRAMS + 100;
    assert_int_equal(co_receive_lane_fill(rig.lane), CO_LANE_DATAGRAMS);
    close_rig(&rig);
}

static void errors_are_passed_on(void **state)
{
    (void)state;
    struct rig rig;
    struct co_receive_lane *none;
    open_rig(&rig);
    rig.fake.status = -EBADF;
    assert_int_equal(co_receive_lane_fill(rig.lane), -EBADF);
    assert_int_equal(co_receive_lane_fill(rig.lane), -EBADF); // and it is not left half filled
    assert_int_equal(co_receive_lane_open(&none, &rig.fake.transport, rig.auth, 1), -EINVAL);
    struct co_transport_ops without = {.name = "without"};
    struct co_transport transport = {.ops = &without};
    assert_int_equal(co_receive_lane_open(&none, &transport, rig.auth, 0), -ENOTSUP);
    close_rig(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_until_given_back),
        cmocka_unit_test(tags_are_checked_against_what_was_learnt),
        cmocka_unit_test(what_does_not_verify_is_left_to_the_engine),
        cmocka_unit_test(a_flood_is_bounded),
        cmocka_unit_test(errors_are_passed_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
