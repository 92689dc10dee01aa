// SPDX-License-Identifier: BSD-3-Clause
//
// Repair by reading the neighbour's memory: lost chunks are read, not sent, and whatever goes wrong with that costs
// datagrams and nothing else.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/state/operation.h"
#include "mcast_inside.h"
#include "mcast_world.h"

#define MEMBERS 5
#define BYTES 40001
#define LIMIT_NS UINT64_C(10000000000)

static struct world_options lossy_options(void)
{
    struct world_options options = world_defaults(MEMBERS);
    options.faults = "miss=0.1,kind=data,seed=3";
    options.like_verbs = options.has_reads = true;
    return options;
}

struct outcome {
    uint64_t read, refused, fetched, forged, requests;
};

// A few Bcasts and Allgathers, checked byte for byte. `spoil` befalls the job before them.
static struct outcome run(const struct world_options *options, void (*spoil)(struct world *world))
{
    struct world world;
    uint64_t fetched = co_counter_read(CO_COUNT_RETRANSMITTED), forged = co_counter_read(CO_COUNT_DROP_FORGED),
             requests = co_counter_read(CO_COUNT_NACKS_SENT);
    world_open(&world, options);
    if (spoil != NULL) {
        spoil(&world);
    }
    for (unsigned i = 0; i < 2 * MEMBERS; i++) {
        world_bcast(&world, (int)i % MEMBERS, BYTES, i);
        world_allgather(&world, BYTES / MEMBERS, i);
    }
    world_settle(&world, LIMIT_NS);
    struct co_loopback_read_counts counts = co_loopback_read_counts(world.hub);
    struct outcome outcome = {counts.done, counts.refused, co_counter_read(CO_COUNT_RETRANSMITTED) - fetched,
                              co_counter_read(CO_COUNT_DROP_FORGED) - forged,
                              co_counter_read(CO_COUNT_NACKS_SENT) - requests};
    world_close(&world);
    return outcome;
}

// What a neighbour lacks, too, is passed on by datagrams, and so is what is asked for again.
static void lost_chunks_are_read(void **state)
{
    (void)state;
    for (enum co_auth_form form = CO_AUTH_KEYED; form <= CO_AUTH_HEAD; form++) {
        struct world_options options = lossy_options();
        options.form = form;
        struct outcome read = run(&options, NULL);
        options.has_reads = false;
        struct outcome sent = run(&options, NULL);
        assert_true(read.read > 2000);
        assert_int_equal(read.refused, 0);
        assert_int_equal(read.forged, 0);
        assert_int_equal(sent.read, 0);
        assert_true(read.fetched < sent.fetched / 4);
        print_message("form %d: %lu chunks read, %lu bytes sent again; without reading %lu\n", (int)form,
                      (unsigned long)read.read, (unsigned long)read.fetched, (unsigned long)sent.fetched);
    }
}

static void small_gaps_are_sent(void **state)
{
    (void)state;
    struct world_options options = lossy_options();
    options.read_bytes = BYTES;
    struct outcome outcome = run(&options, NULL);
    assert_int_equal(outcome.read, 0);
    assert_true(outcome.fetched > 0);
    options.read_bytes = 0;
    assert_int_equal(run(&options, NULL).read, 0);
}

static void what_is_kept_in_a_copy_is_read_out_of_it(void **state)
{
    (void)state;
    struct world_options options = lossy_options();
    options.eager_bytes = 1 << 20;
    struct outcome outcome = run(&options, NULL);
    assert_true(outcome.read > 0);
    assert_int_equal(outcome.refused, 0);
}

static void lent_at_most(void **state)
{
    (void)state;
    struct world_options options = lossy_options();
    options.loans_max = 1;
    struct outcome outcome = run(&options, NULL);
    assert_true(outcome.read > 0 && outcome.fetched > 0);
    assert_int_equal(outcome.refused, 0);
}

static void cut_some(struct world *world)
{
    co_loopback_cut_reads(world->hub, 1, 2);
    co_loopback_cut_reads(world->hub, 0, MEMBERS - 1);
}

static void where_a_connection_has_failed_they_are_sent(void **state)
{
    (void)state;
    struct world_options options = lossy_options();
    struct outcome outcome = run(&options, cut_some);
    assert_true(outcome.read > 0 && outcome.fetched > 0);
    assert_int_equal(outcome.refused, 0);
}

static void damage(struct world *world)
{
    co_loopback_damage_reads(world->hub);
}

static void damage_is_found_by_the_tag(void **state)
{
    (void)state;
    for (enum co_auth_form form = CO_AUTH_KEYED; form <= CO_AUTH_CHECK; form++) {
        struct world_options options = lossy_options();
        options.form = form;
        struct outcome outcome = run(&options, damage);
        assert_true(outcome.read > 0 && outcome.fetched > 0);
        assert_int_equal(outcome.forged, outcome.read);
    }
}

// Two members, of whom the second has missed some of the first one's block.
struct pair {
    struct world world;
    struct co_mcast_op *ops[2];
    unsigned char data[2][BYTES];
};

static struct pair *open_pair(const char *faults)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    struct world_options options = world_defaults(2);
    options.faults = faults;
    options.like_verbs = options.has_reads = true;
    world_open(&pair->world, &options);
    pattern_fill(pair->data[0], BYTES, 1);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(co_mcast_bcast_start(&pair->ops[rank], pair->world.group[rank], 0, pair->data[rank], BYTES,
                                              co_loopback_now_ns(pair->world.hub)),
                         0);
    }
    while (!pair->ops[1]->awaits_reads) {
        assert_true(world_turn(&pair->world));
    }
    return pair;
}

static void close_pair(struct pair *pair)
{
    co_mcast_op_release(pair->ops[0]);
    co_mcast_op_release(pair->ops[1]);
    world_settle(&pair->world, LIMIT_NS);
    world_close(&pair->world);
    free(pair);
}

static void a_connection_that_fails_in_mid_read(void **state)
{
    (void)state;
    struct pair *pair = open_pair("script=3:4:5:100");
    co_loopback_cut_reads(pair->world.hub, 0, 1);
    world_run(&pair->world, pair->ops, 2, LIMIT_NS);
    assert_true(pattern_matches(pair->data[1], BYTES, 1));
    assert_int_equal(co_loopback_read_counts(pair->world.hub).done, 0);
    close_pair(pair);
}

// The chunks come by datagrams while they are read: the owner keeps them nevertheless.
static void the_owner_is_told_when_nothing_is_read_any_more(void **state)
{
    (void)state;
    struct pair *pair = open_pair("script=3:4:5:100");
    struct co_mcast_op *op = pair->ops[1];
    uint64_t started = op->last_read;
    assert_true(started > 0);
    struct co_receive_block *block = &op->blocks[0];
    for (uint32_t psn = 0; psn < block->chunks; psn++) {
        struct co_chunk chunk = {.chunk_bytes = 100,
                                 .team = 7,
                                 .operation = op->number,
                                 .psn = psn,
                                 .block_bytes = BYTES,
                                 .is_repair = true};
        size_t bytes = BYTES - psn * 100U < 100 ? BYTES - psn * 100U : 100;
        inside_take_chunk(op, &chunk, pair->data[0] + psn * 100U, bytes);
    }
    assert_true(co_receive_block_is_complete(block));
    assert_int_equal(op->blocks_missing, 1);
    world_run(&pair->world, pair->ops, 2, LIMIT_NS);
    assert_int_equal(co_loopback_read_counts(pair->world.hub).refused, 0);
    assert_true(co_loopback_read_counts(pair->world.hub).done > 0);
    close_pair(pair);
}

// The owner's program gets its buffer back, and changes it, while the neighbour is about to read it.
static void what_the_owner_takes_back_early_is_not_read(void **state)
{
    (void)state;
    struct pair *pair = open_pair("script=3:4:5:100");
    co_mcast_group_fail(pair->world.group[0], -EIO);
    assert_true(co_mcast_op_state(pair->ops[0]) < 0);
    assert_null(pair->ops[0]->exports);
    memset(pair->data[0], 0xee, BYTES);
    world_run(&pair->world, pair->ops, 2, LIMIT_NS);
    assert_int_equal(co_mcast_op_state(pair->ops[1]), -ECONNRESET);
    for (size_t i = 300; i < 600; i++) {
        assert_int_equal(pair->data[1][i], 0);
    }
    close_pair(pair);
}

static void send_lent(struct world *world, int from, int to, uint32_t operation, uint64_t block_bytes)
{
    uint8_t body[200];
    struct co_read_offer_body lent = {.key = 12345, .address = 1, .block_bytes = block_bytes};
    co_wire_read_offer_encode(body, &lent);
    for (unsigned i = 0; i < 3; i++) {
        co_wire_read_offer_chunk_encode(body, &(struct co_read_offer_chunk){.psn = i * 300}, i); // of 401
    }
    inside_send_control(world->group[from], to, CO_CONTROL_READ_OFFER, operation, 3, body, co_wire_read_offer_bytes(3));
}

static void what_is_lent_by_strangers_or_in_error(void **state)
{
    (void)state;
    struct world_options options = world_defaults(4);
    options.faults = "script=0:1:2:3:4,kind=data";
    options.like_verbs = options.has_reads = true;
    struct world world;
    struct co_mcast_op *ops[4];
    unsigned char *data = calloc(4, BYTES);
    world_open(&world, &options);
    pattern_fill(data, BYTES, 1);
    for (int rank = 0; rank < 4; rank++) {
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world.group[rank], 0, data + (size_t)rank * BYTES, BYTES,
                                              co_loopback_now_ns(world.hub)),
                         0);
    }
    uint64_t strays = co_counter_read(CO_COUNT_DROP_STRAY);
    send_lent(&world, 3, 2, 0, BYTES); // its left neighbour is 1
    send_lent(&world, 1, 2, 7, BYTES);
    send_lent(&world, 1, 2, 0, BYTES + 1);
    while (co_counter_read(CO_COUNT_DROP_STRAY) == strays) {
        assert_true(world_turn(&world));
    }
    assert_int_equal(co_loopback_read_counts(world.hub).refused, 0);
    send_lent(&world, 1, 2, 0, BYTES); // no such key
    world_run(&world, ops, 4, LIMIT_NS);
    assert_int_equal(co_loopback_read_counts(world.hub).refused, 1);
    for (size_t rank = 0; rank < 4; rank++) {
        assert_true(pattern_matches(data + rank * BYTES, BYTES, 1));
        co_mcast_op_release(ops[rank]);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_chunks_are_read),
        cmocka_unit_test(small_gaps_are_sent),
        cmocka_unit_test(what_is_kept_in_a_copy_is_read_out_of_it),
        cmocka_unit_test(lent_at_most),
        cmocka_unit_test(where_a_connection_has_failed_they_are_sent),
        cmocka_unit_test(damage_is_found_by_the_tag),
        cmocka_unit_test(a_connection_that_fails_in_mid_read),
        cmocka_unit_test(the_owner_is_told_when_nothing_is_read_any_more),
        cmocka_unit_test(what_is_lent_by_strangers_or_in_error),
        cmocka_unit_test(what_the_owner_takes_back_early_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
