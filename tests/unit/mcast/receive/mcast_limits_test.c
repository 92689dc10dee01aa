// SPDX-License-Identifier: BSD-3-Clause
//
// What is authentic and yet beyond what there is: members, chunks and requests behind the last one. Whoever sends it is
// confused; nobody else is harmed, and what is kept for others has an end.
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

enum { MEMBERS = 4, SELF = 1, BYTES = 60000, CHUNKS = BYTES / 100 };

static struct world world;

static int open_world(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    world_open(&world, &options);
    return 0;
}

static int close_world(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static void deliver_chunk(uint64_t team, int rank, struct co_chunk chunk)
{
    uint8_t data[CO_WIRE_HEAD_BYTES + 200 + CO_AUTH_TAG_MAX] = {0}, nonce[CO_AUTH_NONCE_BYTES];
    size_t bytes = CO_WIRE_HEAD_BYTES + chunk.chunk_bytes;
    chunk.team = (uint32_t)team;
    co_wire_chunk_encode(data, &chunk);
    co_wire_chunk_nonce(nonce, &chunk);
    co_auth_seal(world.auth[rank], CO_AUTH_CHUNK, rank, team, nonce, data, bytes, NULL, 0, data + bytes);
    struct co_arrival arrival = {.data = data, .bytes = bytes + world.mcast[SELF]->tag_bytes};
    inside_deliver(world.mcast[SELF], &arrival, 1);
}

static void a_member_behind_the_last_one(void **state)
{
    (void)state;
    static const int members[] = {0, 1}; // and rank 2 speaks as the third of them
    struct co_mcast_group *pair;
    struct co_mcast *mcast = world.mcast[SELF];
    uint64_t team = UINT64_C(0x7700000012), foreign = co_counter_read(CO_COUNT_DROP_FOREIGN);
    assert_int_equal(world_group_open(&pair, mcast, team, members, NULL, 2, SELF), 0);
    struct co_chunk chunk = {.source = 2, .block_bytes = 300, .chunk_bytes = 100};
    deliver_chunk(team, 2, chunk);
    assert_int_equal(co_counter_read(CO_COUNT_DROP_FOREIGN) - foreign, 1);
    assert_int_equal(mcast->early.in_use, 0);
    chunk.source = 0;
    deliver_chunk(team, 0, chunk);
    assert_int_equal(mcast->early.in_use, 1);
    co_mcast_group_close(pair);
}

static void chunks_of_another_size(void **state)
{
    (void)state;
    uint64_t malformed = co_counter_read(CO_COUNT_DROP_MALFORMED);
    deliver_chunk(world.group[SELF]->team_id, 0, (struct co_chunk){.block_bytes = 1000, .chunk_bytes = 99});
    deliver_chunk(world.group[SELF]->team_id, 0, (struct co_chunk){.block_bytes = 1000, .chunk_bytes = 101});
    assert_int_equal(co_counter_read(CO_COUNT_DROP_MALFORMED) - malformed, 2);
    assert_int_equal(world.mcast[SELF]->early.in_use, 0);
}

// As from the right neighbour, verified.
static void nack_comes(struct co_mcast_group *group, uint32_t operation, uint32_t first, uint32_t count)
{
    uint8_t body[CO_CONTROL_MAX];
    struct co_nack_body nack = {.source = 0, .why = CO_NACK_LOST};
    struct co_nack_range range = {first, count};
    struct co_control control = {
        .type = CO_CONTROL_NACK, .source = (uint16_t)group->right, .operation = operation, .entries = 1};
    co_wire_nack_encode(body, &nack, &range, 1);
    inside_receive_nack(group, group->right, &control, body);
}

static struct co_mcast_op *have_all(unsigned char *buffer)
{
    struct co_mcast_op *op;
    assert_int_equal(co_mcast_bcast_start(&op, world.group[SELF], 0, buffer, BYTES, 1), 0);
    for (uint32_t psn = 0; psn < CHUNKS; psn++) {
        co_chunk_bitmap_set(op->blocks[0].arrived, psn);
    }
    return op;
}

static unsigned queued(void)
{
    return world.mcast[SELF]->repair_tail - world.mcast[SELF]->repair_head;
}

static void release(struct co_mcast_op *op)
{
    co_mcast_group_fail(world.group[SELF], -1);
    co_mcast_op_release(op);
}

static void chunks_behind_the_last_one(void **state)
{
    (void)state;
    static unsigned char buffer[BYTES];
    struct co_mcast_op *op = have_all(buffer);
    const struct co_retransmit *repairs = world.mcast[SELF]->repairs;
    uint64_t deferred = co_counter_read(CO_COUNT_NACKS_DEFERRED);
    nack_comes(world.group[SELF], op->number, CHUNKS, 1);
    nack_comes(world.group[SELF], op->number, CHUNKS + 70, 5);
    nack_comes(world.group[SELF], op->number, UINT32_MAX, UINT32_MAX);
    assert_int_equal(queued(), 0);
    nack_comes(world.group[SELF], op->number, CHUNKS - 3, UINT32_MAX);
    assert_int_equal(queued(), 1);
    assert_int_equal(repairs[0].first, CHUNKS - 3);
    assert_int_equal(repairs[0].count, 3);
    assert_int_equal(co_counter_read(CO_COUNT_NACKS_DEFERRED), deferred);
    release(op);
}

static void more_requests_than_are_queued(void **state)
{
    (void)state;
    static unsigned char buffer[BYTES];
    struct co_mcast_op *op = have_all(buffer);
    for (uint32_t psn = 0; psn < CHUNKS; psn += 2) {
        nack_comes(world.group[SELF], op->number, psn, 1);
    }
    assert_int_equal(queued(), CO_RETRANSMIT_QUEUE);
    for (uint32_t i = 0; i < CO_RETRANSMIT_QUEUE; i++) {
        assert_int_equal(world.mcast[SELF]->repairs[i].first, 2 * i);
    }
    release(op);
}

// From its release on the buffer is the program's, or gone, though the operation is there until its group is moved.
static void bytes_that_are_the_programs_again(void **state)
{
    (void)state;
    static unsigned char buffer[BYTES];
    struct co_mcast_op *op = have_all(buffer);
    nack_comes(world.group[SELF], op->number, 0, 2);
    assert_int_equal(queued(), 1);
    op->state = 1;
    co_mcast_op_release(op);
    uint64_t sent = co_counter_read(CO_COUNT_RETRANSMITTED), served = co_counter_read(CO_COUNT_NACKS_ANSWERED);
    nack_comes(world.group[SELF], op->number, 0, 2);
    assert_int_equal(co_counter_read(CO_COUNT_NACKS_ANSWERED), served);
    assert_int_equal(queued(), 1);
    inside_retransmit(world.mcast[SELF]); // what had been asked for before
    assert_int_equal(queued(), 0);
    assert_int_equal(co_counter_read(CO_COUNT_RETRANSMITTED), sent);
    op->state = 0;
    release(op);
}

static void more_requests_than_are_kept(void **state)
{
    (void)state;
    struct co_mcast_group *group = world.group[SELF];
    unsigned most = inside_early_nacks_most(), kept = 0;
    for (uint32_t operation = 0; operation < 3 * most; operation++) {
        nack_comes(group, operation, 0, 1);
    }
    while (inside_has_early_nack(group, kept)) { // from the first on
        kept++;
    }
    assert_int_equal(kept, most);
    assert_int_equal(inside_early_nacks(group), most);
}

int main(void)
{
#define WORLD(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        WORLD(a_member_behind_the_last_one),      WORLD(chunks_of_another_size),
        WORLD(chunks_behind_the_last_one),        WORLD(more_requests_than_are_queued),
        WORLD(bytes_that_are_the_programs_again), WORLD(more_requests_than_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
