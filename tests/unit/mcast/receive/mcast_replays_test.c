// SPDX-License-Identifier: BSD-3-Clause
//
// Authentic chunks that somebody sends again: they keep no dead source alive, take no room, and say nothing of the time
// that an answer takes. In virtual time.
#include <errno.h>
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

#define SECOND_NS UINT64_C(1000000000)
#define DEADLINE_NS (2 * SECOND_NS)
#define AGAIN_NS UINT64_C(20000000)

enum { MEMBERS = 3, BYTES = 40000 };

struct heard {
    uint8_t data[200];
    size_t bytes;
};

// A chunk of a rank, as any member could have taken it off the network.
static struct heard chunk_of(struct world *world, uint64_t team, int rank, uint32_t operation, uint32_t psn,
                             uint8_t label)
{
    struct heard heard;
    unsigned char block[BYTES];
    uint8_t payload[100], nonce[CO_AUTH_NONCE_BYTES];
    struct co_chunk chunk = {.is_repair = label != 0,
                             .label = label,
                             .source = (uint16_t)rank,
                             .team = (uint32_t)team,
                             .operation = operation,
                             .psn = psn,
                             .block_bytes = BYTES,
                             .chunk_bytes = sizeof(payload)};
    pattern_fill(block, sizeof(block), 1);
    memcpy(payload, block + psn * sizeof(payload), sizeof(payload));
    co_wire_chunk_encode(heard.data, &chunk);
    co_wire_chunk_nonce(nonce, &chunk);
    memcpy(heard.data + CO_WIRE_HEAD_BYTES, payload, sizeof(payload));
    co_auth_seal(world->auth[rank], co_chunk_domain(&chunk), rank, team, nonce, heard.data, CO_WIRE_HEAD_BYTES, payload,
                 sizeof(payload), heard.data + CO_WIRE_HEAD_BYTES + sizeof(payload));
    heard.bytes = CO_WIRE_HEAD_BYTES + sizeof(payload) + world->mcast[1]->tag_bytes;
    return heard;
}

static struct heard chunk_of_source(struct world *world, uint32_t operation, uint32_t psn, uint8_t label)
{
    return chunk_of(world, world->group[0]->team_id, 0, operation, psn, label);
}

static void send_again(struct co_mcast *to, const struct heard *heard, int times)
{
    struct co_arrival arrival = {.data = heard->data, .bytes = heard->bytes};
    for (int i = 0; i < times; i++) {
        inside_deliver(to, &arrival, 1);
    }
}

static struct co_mcast_op *start(struct world *world, int rank, unsigned char *buffer)
{
    struct co_mcast_op *op;
    assert_int_equal(co_mcast_bcast_start(&op, world->group[rank], 0, buffer, BYTES, co_loopback_now_ns(world->hub)),
                     0);
    return op;
}

// From operation `which` of a source that has stopped in operation 1 one chunk comes again and again.
static void given_up_in_spite_of(uint32_t which)
{
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    for (int rank = 0; rank < MEMBERS; rank++) {
        world.mcast[rank]->config.deadline_ns = DEADLINE_NS;
        co_mcast_set_liveness_proof(world.mcast[rank], CO_LIVENESS_PROOF_MEMBERS);
    }
    struct heard heard = chunk_of_source(&world, which, 0, 0);
    world_bcast(&world, 0, BYTES, 1);
    struct co_mcast *source = world.mcast[0];
    struct co_mcast_op *ops[MEMBERS];
    unsigned char *buffers = calloc(MEMBERS, BYTES);
    for (int rank = 0; rank < MEMBERS; rank++) {
        ops[rank] = start(&world, rank, buffers + rank * BYTES);
    }
    world.mcast[0] = NULL;
    uint64_t end_ns = co_loopback_now_ns(world.hub) + 4 * DEADLINE_NS, again_ns = 0;
    while (co_mcast_op_state(ops[1]) == 0 && co_loopback_now_ns(world.hub) < end_ns) {
        if (co_loopback_now_ns(world.hub) >= again_ns) {
            send_again(world.mcast[1], &heard, 1);
            send_again(world.mcast[2], &heard, 1);
            again_ns = co_loopback_now_ns(world.hub) + AGAIN_NS;
        }
        world_turn(&world);
    }
    assert_int_equal(co_mcast_op_state(ops[1]), -ETIMEDOUT);
    world_run(&world, ops + 1, MEMBERS - 1, DEADLINE_NS);
    for (int rank = 1; rank < MEMBERS; rank++) {
        co_mcast_op_release(ops[rank]);
    }
    world.mcast[0] = source;
    world_close(&world);
    free(buffers);
}

static void old_chunks_keep_nobody_alive(void **state)
{
    (void)state;
    given_up_in_spite_of(0); // is over
    given_up_in_spite_of(1); // under way, and this chunk is here
}

static void copies_of_an_early_chunk_take_the_room_of_one(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *late = world.mcast[1];
    uint64_t duplicates = co_counter_read(CO_COUNT_DATA_DUPLICATE);
    struct heard next = chunk_of_source(&world, 1, 0, 0), after = chunk_of_source(&world, 1, 1, 0);
    send_again(late, &next, 2); // another operation's
    for (uint32_t psn = 0; psn < 3; psn++) {
        struct heard heard = chunk_of_source(&world, 0, psn, 0);
        send_again(late, &heard, 1000);
        assert_int_equal(late->early.in_use, psn + 2);
    }
    assert_int_equal(co_counter_read(CO_COUNT_DATA_DUPLICATE) - duplicates, 1 + 3 * 999);
    world_bcast(&world, 0, BYTES, 1); // finds its own, byte for byte
    assert_int_equal(late->early.in_use, 1);
    send_again(late, &after, 2);
    assert_int_equal(late->early.in_use, 2);
    world_bcast(&world, 0, BYTES, 1); // and so does the next one
    assert_int_equal(late->early.in_use, 0);
    world_close(&world);
}

// They share chains; each differs from another one in one thing alone.
static void early_chunks_that_differ_are_all_kept(void **state)
{
    (void)state;
    enum { OPERATIONS = 60, PSNS = 100 };
    static const int members[MEMBERS] = {0, 1, 2};
    struct world_options options = world_defaults(MEMBERS);
    options.staging_bytes = (size_t)16 << 20;
    struct world world;
    struct co_mcast_group *other;
    world_open(&world, &options);
    struct co_mcast *late = world.mcast[1];
    uint64_t team = world.group[1]->team_id, other_team = team + 1;
    assert_int_equal(world_group_open(&other, late, other_team, members, NULL, MEMBERS, 1), 0);
    unsigned kept = 0;
    for (uint32_t operation = 0; operation < OPERATIONS; operation++) {
        for (uint32_t psn = 0; psn < PSNS; psn++) {
            struct heard heard[] = {chunk_of(&world, team, 0, operation, psn, 0),
                                    chunk_of(&world, team, 2, operation, psn, 0),
                                    chunk_of(&world, other_team, 0, operation, psn, 0)};
            for (unsigned i = 0; i < sizeof(heard) / sizeof(*heard); i++) {
                send_again(late, &heard[i], 1);
                assert_int_equal(late->early.in_use, ++kept);
            }
        }
    }
    co_mcast_group_close(other);
    assert_int_equal(late->early.in_use, kept / 3 * 2);
    world_close(&world);
}

// A source that only sends is alive, whatever becomes of questions.
static void new_chunks_are_a_sign_of_life(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *source = world.mcast[0], *member = world.mcast[1];
    member->config.deadline_ns = DEADLINE_NS;
    co_mcast_set_liveness_proof(member, CO_LIVENESS_PROOF_MEMBERS);
    unsigned char *buffer = calloc(2, BYTES);
    struct co_mcast_op *comes = start(&world, 1, buffer), *waits;
    assert_int_equal(
        co_mcast_bcast_start(&waits, world.group[1], 2, buffer + BYTES, BYTES, co_loopback_now_ns(world.hub)),
        0); // rank 2 answers, and has not begun
    world.mcast[0] = NULL;
    uint64_t again_ns = 0;
    for (uint32_t psn = 0; psn < BYTES / 100 && co_mcast_op_state(waits) == 0;) {
        if (co_loopback_now_ns(world.hub) >= again_ns) {
            struct heard heard = chunk_of_source(&world, 0, psn++, 0);
            send_again(member, &heard, 1);
            again_ns = co_loopback_now_ns(world.hub) + AGAIN_NS;
        }
        world_turn(&world);
    }
    assert_true(again_ns > 3 * DEADLINE_NS);
    assert_int_equal(co_mcast_op_state(comes), 0);
    assert_int_equal(co_mcast_op_state(waits), 0);
    world.mcast[0] = source;
    co_mcast_group_fail(world.group[1], -ECONNRESET);
    co_mcast_op_release(comes);
    co_mcast_op_release(waits);
    world_close(&world);
    free(buffer);
}

static void copies_of_answers_are_no_answers(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *asker = world.mcast[1];
    unsigned char *buffer = calloc(1, BYTES);
    struct co_mcast_op *op = start(&world, 1, buffer);
    struct heard first = chunk_of_source(&world, 0, 0, 0), again = chunk_of_source(&world, 0, 0, 64);
    send_again(asker, &first, 1);
    world.group[1]->requests = 2 * CO_WIRE_NACK_LABELS; // the last one has label 64, as one before had
    send_again(asker, &again, 3);                       // and all are of operation 0
    assert_int_equal(asker->nack_rtt.smoothed_ns, 0);
    world.group[1]->requested_of[CO_WIRE_NACK_LABELS] = 1;
    asker->now_ns += 1000;
    send_again(asker, &again, 3); // so this is what the multicast has overtaken
    assert_int_equal(asker->nack_rtt.smoothed_ns, asker->now_ns);
    world.group[1]->requested_of[CO_WIRE_NACK_LABELS] = 0;
    asker->nack_rtt = (struct co_rtt){0, 0};
    world.group[1]->answered = 0;
    struct heard answer = chunk_of_source(&world, 0, 1, 64);
    asker->now_ns += 1000;
    send_again(asker, &answer, 1);
    assert_true(asker->nack_rtt.smoothed_ns > 0);
    struct co_rtt rtt = asker->nack_rtt;
    struct heard rest = chunk_of_source(&world, 0, 2, 64); // of the same answer
    send_again(asker, &rest, 1);
    assert_memory_equal(&asker->nack_rtt, &rtt, sizeof(rtt));
    world.group[1]->requests = 3 * CO_WIRE_NACK_LABELS; // when that one left is not known any more
    struct heard late = chunk_of_source(&world, 0, 3, co_wire_nack_label(3 * CO_WIRE_NACK_LABELS - 40));
    send_again(asker, &late, 1);
    assert_memory_equal(&asker->nack_rtt, &rtt, sizeof(rtt));
    co_mcast_group_fail(world.group[1], -ECONNRESET);
    co_mcast_op_release(op);
    world_close(&world);
    free(buffer);
}

// A question of rank 0 for rank 1.
static struct heard question(struct world *world, uint64_t sequence)
{
    struct heard heard = {.bytes = CO_WIRE_HEAD_BYTES + world->mcast[1]->tag_bytes};
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    struct co_control control = {.type = CO_CONTROL_PROBE, .entries = 1, .sequence = sequence};
    co_wire_control_encode(heard.data, &control, 0);
    co_wire_control_nonce(nonce, &control, 1);
    co_auth_seal(world->auth[0], CO_AUTH_CONTROL, 0, 0, nonce, heard.data, CO_WIRE_HEAD_BYTES, NULL, 0,
                 heard.data + CO_WIRE_HEAD_BYTES);
    return heard;
}

static void control_messages_count_once(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_mcast *mcast = world.mcast[1];
    uint64_t replayed = co_counter_read(CO_COUNT_DROP_REPLAYED), sent = co_counter_read(CO_COUNT_CONTROL_SENT);
    struct heard first = question(&world, 1000), late = question(&world, 500);
    mcast->now_ns = SECOND_NS;
    send_again(mcast, &first, 1);
    send_again(mcast, &late, 1);
    assert_int_equal(mcast->peers[0].alive_ns, SECOND_NS);
    mcast->now_ns = 2 * SECOND_NS;
    mcast->peers[0].is_dead = true;
    mcast->dead_peers = 1;
    send_again(mcast, &first, 10);
    send_again(mcast, &late, 10);
    assert_int_equal(mcast->peers[0].alive_ns, SECOND_NS);
    assert_true(mcast->peers[0].is_dead);
    assert_int_equal(co_counter_read(CO_COUNT_DROP_REPLAYED) - replayed, 20);
    assert_int_equal(co_counter_read(CO_COUNT_CONTROL_SENT) - sent, 2); // an answer to each question, and no more
    mcast->peers[0].is_dead = false;
    mcast->dead_peers = 0;
    world_close(&world);
}

static struct heard said; // by rank 0, last

static int overhear(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *datagrams,
                    unsigned count)
{
    (void)transport, (void)to;
    const struct co_tx_datagram *datagram = &datagrams[count - 1];
    memcpy(said.data, datagram->head, datagram->head_bytes);
    memcpy(said.data + datagram->head_bytes, datagram->tail, datagram->tail_bytes);
    said.bytes = datagram->head_bytes + datagram->tail_bytes;
    return (int)count;
}

// What rank 0 says to rank 1 alone says nothing to rank 2, though it has never heard that.
static void what_is_for_one_is_for_nobody_else(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    struct world world;
    world_open(&world, &options);
    struct co_transport *transport = world.mcast[0]->transport;
    const struct co_transport_ops *ops = transport->ops;
    struct co_transport_ops tapped = *ops;
    tapped.send = overhear;
    for (int kind = 0; kind < 2; kind++) {
        uint64_t forged = co_counter_read(CO_COUNT_DROP_FORGED), now_ns = (uint64_t)(kind + 1) * SECOND_NS;
        transport->ops = &tapped;
        if (kind == 0) {
            co_mcast_query_liveness(world.mcast[0], 1);
        } else {
            inside_send_control(world.group[0], 1, CO_CONTROL_END_OF_BLOCK, 0, 0, NULL, 0);
        }
        transport->ops = ops;
        uint64_t before_ns = world.mcast[2]->peers[0].alive_ns;
        world.mcast[1]->now_ns = world.mcast[2]->now_ns = now_ns;
        send_again(world.mcast[2], &said, 1);
        assert_int_equal(world.mcast[2]->peers[0].alive_ns, before_ns);
        assert_int_equal(co_counter_read(CO_COUNT_DROP_FORGED) - forged, 1);
        send_again(world.mcast[1], &said, 1);
        assert_int_equal(world.mcast[1]->peers[0].alive_ns, now_ns);
    }
    world_close(&world);
}

// Where nothing is kept any more every copy would be a new one.
static void without_room_early_chunks_say_nothing(void **state)
{
    (void)state;
    struct world_options options = world_defaults(MEMBERS);
    options.staging_bytes = 4096;
    struct world world;
    world_open(&world, &options);
    struct co_mcast *late = world.mcast[1];
    uint32_t psn = 0;
    while (late->early.in_use < late->early.count) {
        struct heard heard = chunk_of(&world, world.group[1]->team_id, 2, 0, psn++, 0);
        send_again(late, &heard, 1);
    }
    uint64_t before_ns = late->peers[0].heard_ns, full = co_counter_read(CO_COUNT_STAGING_FULL);
    struct heard heard = chunk_of_source(&world, 0, 0, 0);
    late->now_ns += SECOND_NS;
    send_again(late, &heard, 2);
    assert_int_equal(co_counter_read(CO_COUNT_STAGING_FULL) - full, 2);
    assert_int_equal(late->peers[0].heard_ns, before_ns);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_chunks_keep_nobody_alive),
        cmocka_unit_test(copies_of_an_early_chunk_take_the_room_of_one),
        cmocka_unit_test(early_chunks_that_differ_are_all_kept),
        cmocka_unit_test(new_chunks_are_a_sign_of_life),
        cmocka_unit_test(copies_of_answers_are_no_answers),
        cmocka_unit_test(control_messages_count_once),
        cmocka_unit_test(what_is_for_one_is_for_nobody_else),
        cmocka_unit_test(without_room_early_chunks_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
