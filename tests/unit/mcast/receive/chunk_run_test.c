// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks that come together, as runs, beside the same ones that come one by one: random datagrams of two senders, right
// ones, duplicates, forged, cut, repaired, of other operations and teams, while time passes and missing ones are asked
// for. Bytes, state and every counter are the same in the end.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 3, SELF = 2, TOGETHER = 40, BATCHES = 12, BLOCK_MAX = 400, ROOM = 2048, RUNS = 40 };

static uint64_t state_of_dice;

static uint32_t dice(uint32_t sides)
{
    state_of_dice ^= state_of_dice << 13;
    state_of_dice ^= state_of_dice >> 7;
    state_of_dice ^= state_of_dice << 17;
    return (uint32_t)(state_of_dice >> 33) % sides;
}

struct bench {
    struct world world;
    struct co_mcast *mcast;
    struct co_mcast_op *op;
    size_t block_bytes;
    uint8_t *buffer;
    uint32_t next[MEMBERS]; // PSN of the source's next chunk
    uint64_t counters[CO_COUNTER_COUNT];
};

// As if the right neighbour, deaf, had asked for all of the first block.
static void be_asked(struct co_mcast_op *op)
{
    size_t words = co_chunk_bitmap_words(op->blocks[0].chunks);
    op->passes_all = true;
    op->wanted = calloc((size_t)op->block_count, sizeof *op->wanted);
    assert_non_null(op->wanted);
    op->wanted[0] = malloc(words * sizeof(uint64_t));
    assert_non_null(op->wanted[0]);
    memset(op->wanted[0], 0xff, words * sizeof(uint64_t));
}

static void open_bench(struct bench *bench, enum co_auth_form form, bool gathers)
{
    struct world_options options = world_defaults(MEMBERS);
    options.form = form;
    *bench = (struct bench){0};
    world_open(&bench->world, &options);
    bench->mcast = bench->world.mcast[SELF];
    bench->block_bytes =
        (size_t)(1 + dice(BLOCK_MAX)) * options.chunk_bytes - dice(2) * dice((uint32_t)options.chunk_bytes);
    bench->buffer = calloc(MEMBERS, bench->block_bytes);
    assert_non_null(bench->buffer);
    for (unsigned i = 0; i < CO_COUNTER_COUNT; i++) {
        bench->counters[i] = co_counter_read((enum co_counter_id)i);
    }
    struct co_mcast_group *group = bench->world.group[SELF];
    int status = gathers ? co_mcast_allgather_start(&bench->op, group, bench->buffer, bench->block_bytes, 1)
                         : co_mcast_bcast_start(&bench->op, group, 0, bench->buffer, bench->block_bytes, 1);
    assert_int_equal(status, 0);
    if (dice(4) == 0) {
        be_asked(bench->op);
    }
}

static void close_bench(struct bench *bench)
{
    co_mcast_group_fail(bench->world.group[SELF], -ECONNRESET); // some is missing for good
    co_mcast_op_release(bench->op);
    world_close(&bench->world);
    free(bench->buffer);
}

// Returns all bytes; too_long: as many payload as any other chunk, authentic and wrong.
static size_t fill(struct bench *bench, uint8_t *to, const struct co_chunk *chunk, bool too_long)
{
    struct co_auth *auth = bench->world.auth[chunk->source % MEMBERS];
    uint64_t start = (uint64_t)chunk->psn * chunk->chunk_bytes, left = chunk->block_bytes - start;
    size_t payload = left < chunk->chunk_bytes && !too_long ? (size_t)left : chunk->chunk_bytes,
           bytes = CO_WIRE_HEAD_BYTES + payload;
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_encode(to, chunk);
    for (size_t i = 0; i < payload; i++) {
        to[CO_WIRE_HEAD_BYTES + i] = (uint8_t)(chunk->source + start + i + (start + i) / 251);
    }
    co_wire_chunk_nonce(nonce, chunk);
    co_auth_seal(auth, co_chunk_domain(chunk), chunk->source, bench->world.group[SELF]->team_id, nonce, to, bytes, NULL,
                 0, to + bytes);
    return bytes + co_auth_tag_bytes(auth);
}

static uint32_t next_psn(struct bench *bench, unsigned source, uint32_t chunks)
{
    uint32_t psn = bench->next[source] + (dice(15) == 0 ? 1 + dice(3) : 0);
    psn = psn < chunks ? psn : chunks - 1;
    bench->next[source] = psn + 1 < chunks ? psn + 1 : 0; // and once more from the beginning
    return dice(10) == 0 ? dice(chunks) : psn;
}

static struct co_arrival random_datagram(struct bench *bench, uint8_t *to, unsigned *source)
{
    uint16_t chunk_bytes = (uint16_t)bench->world.options.chunk_bytes;
    uint32_t wrong = dice(40);
    *source = dice(20) == 0 ? dice(MEMBERS) : *source;
    struct co_chunk chunk = {.source = (uint16_t)*source,
                             .chunk_bytes = chunk_bytes,
                             .team = (uint32_t)bench->world.group[SELF]->team_id + (wrong == 0),
                             .operation = wrong == 1 ? dice(3) : 0,
                             .psn = next_psn(bench, *source, co_wire_chunk_count(bench->block_bytes, chunk_bytes)),
                             .block_bytes = bench->block_bytes,
                             .is_repair = wrong == 2,
                             .credit_shift = wrong == 3 ? (uint8_t)dice(4) : 0};
    if (wrong == 8) {
        chunk.psn = co_wire_chunk_count(bench->block_bytes, chunk_bytes) - 1;
    }
    size_t bytes = fill(bench, to, &chunk, wrong == 8);
    if (wrong == 4) {
        to[dice(CO_WIRE_HEAD_BYTES)] ^= (uint8_t)(1 << dice(8));
    } else if (wrong == 5) {
        bytes = dice((uint32_t)bytes);
    } else if (wrong == 6) {
        to[bytes - 1] ^= 1;
    }
    unsigned shift = wrong == 7 ? 1 + dice(7) : 0;
    memmove(to + shift, to, bytes);
    return (struct co_arrival){.data = to + shift, .bytes = (uint32_t)bytes};
}

static void feed(struct bench *bench, bool together)
{
    static alignas(16) uint8_t datagrams[TOGETHER][ROOM];
    struct co_arrival arrivals[TOGETHER];
    unsigned source = 0;
    for (uint64_t batch = 0; batch < BATCHES; batch++) {
        unsigned count = 1 + dice(TOGETHER);
        for (unsigned i = 0; i < count; i++) {
            arrivals[i] = random_datagram(bench, datagrams[i], &source);
        }
        for (unsigned i = 0; i < count; i += together ? count : 1) {
            inside_deliver(bench->mcast, &arrivals[i], together ? count : 1);
        }
        assert_true(co_mcast_progress(bench->mcast, 1 + batch * dice(3) * 1000000) >= 0);
    }
}

static void compare(const struct bench *one, const struct bench *many, bool gathers)
{
    static const enum co_counter_id same[] = {
        CO_COUNT_DATA_PLACED,    CO_COUNT_DATA_PLACED_BYTES, CO_COUNT_DATA_DUPLICATE, CO_COUNT_DATA_STALE,
        CO_COUNT_DATA_EARLY,     CO_COUNT_DROP_OWN,          CO_COUNT_DROP_FORGED,    CO_COUNT_DROP_FOREIGN,
        CO_COUNT_DROP_MALFORMED, CO_COUNT_CONTROL_SENT,      CO_COUNT_NACKS_SENT,     CO_COUNT_RETRANSMITTED};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(one->counters[same[i]], many->counters[same[i]]);
    }
    assert_memory_equal(one->buffer, many->buffer, (gathers ? MEMBERS : 1) * one->block_bytes);
    assert_int_equal(one->op->state, many->op->state);
    assert_int_equal(one->op->last_event_ns, many->op->last_event_ns);
    assert_int_equal(one->mcast->advances, many->mcast->advances);
    for (int i = 0; i < one->op->block_count; i++) {
        struct co_receive_block a = one->op->blocks[i], b = many->op->blocks[i];
        assert_memory_equal(a.arrived, b.arrived, co_chunk_bitmap_words(a.chunks) * sizeof(uint64_t));
        a.arrived = b.arrived = NULL;
        assert_memory_equal(&a, &b, sizeof a);
    }
    for (int i = 0; i < MEMBERS; i++) {
        assert_int_equal(one->world.group[SELF]->received[i], many->world.group[SELF]->received[i]);
    }
    assert_int_equal(one->world.group[SELF]->widest_gap_ns, many->world.group[SELF]->widest_gap_ns);
}

static void count(struct bench *bench)
{
    for (unsigned i = 0; i < CO_COUNTER_COUNT; i++) {
        bench->counters[i] = co_counter_read((enum co_counter_id)i) - bench->counters[i];
    }
}

static uint64_t run(enum co_auth_form form, uint64_t seed, bool gathers)
{
    static struct bench one, many;
    state_of_dice = seed;
    open_bench(&one, form, gathers);
    feed(&one, false);
    count(&one);
    state_of_dice = seed;
    open_bench(&many, form, gathers);
    feed(&many, true);
    count(&many);
    compare(&one, &many, gathers);
    assert_int_equal(one.counters[CO_COUNT_DATA_IN_RUNS], 0);
    close_bench(&one);
    close_bench(&many);
    return many.counters[CO_COUNT_DATA_IN_RUNS];
}

static void together_is_as_one_by_one(void **state)
{
    (void)state;
    static const enum co_auth_form forms[] = {CO_AUTH_KEYED, CO_AUTH_CHECK, CO_AUTH_HEAD};
    uint64_t in_runs = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        in_runs += run(forms[i % 3], UINT64_C(0x9E3779B97F4A7C15) * (i + 1), i % 2 == 0);
    }
    assert_true(in_runs > RUNS * 25);
}

// Long ones do, whatever the tag is.
static void broadcasts_come_in_runs(void **state)
{
    (void)state;
    static const enum co_auth_form forms[] = {CO_AUTH_KEYED, CO_AUTH_CHECK, CO_AUTH_HEAD};
    for (unsigned i = 0; i < 3; i++) {
        struct world world;
        struct world_options options = world_defaults(4);
        options.form = forms[i];
        options.bytes_per_s = 0; // or one after the other would be taken
        uint64_t placed = co_counter_read(CO_COUNT_DATA_PLACED), in_runs = co_counter_read(CO_COUNT_DATA_IN_RUNS);
        world_open(&world, &options);
        world_bcast(&world, 1, 1000 * options.chunk_bytes - 1, 3);
        world_close(&world);
        placed = co_counter_read(CO_COUNT_DATA_PLACED) - placed;
        in_runs = co_counter_read(CO_COUNT_DATA_IN_RUNS) - in_runs;
        assert_int_equal(placed, 3000);
        assert_true(in_runs > placed / 2);
    }
}

static void heads_stand_where_they_are_looked_at(void **state)
{
    (void)state;
    static const uint8_t key[CO_AUTH_KEY_BYTES];
    for (int form = CO_AUTH_KEYED; form <= CO_AUTH_HEAD; form++) {
        struct co_auth *auth;
        assert_int_equal(co_auth_open(&auth, key, 1, (enum co_auth_form)form), 0);
        for (size_t most = 548; most < 9000; most++) {
            size_t datagram = co_mcast_chunk_bytes(auth, most) + co_mcast_overhead_bytes(auth);
            assert_int_equal(datagram % 8, 0);
            assert_true(datagram <= most && datagram + 8 > most);
        }
        co_auth_close(auth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(together_is_as_one_by_one),
        cmocka_unit_test(broadcasts_come_in_runs),
        cmocka_unit_test(heads_stand_where_they_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
