// SPDX-License-Identifier: BSD-3-Clause
//
// Authentic datagrams of every kind with one bit turned, anywhere in them; cut short, made longer, sealed by another
// member than the head names, and sent again: each is counted once, by its cause, and is nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 4, SELF = 0, FROM = 1, OTHER = 2, BYTES = 1000, ROOM = 400, MORE = 9 };
#define TEAM UINT64_C(0x1234567800000007) // mcast_world.c's

static const enum co_counter_id drops[] = {CO_COUNT_DROP_FORGED,   CO_COUNT_DROP_MALFORMED, CO_COUNT_DROP_FOREIGN,
                                           CO_COUNT_DROP_REPLAYED, CO_COUNT_DROP_STRAY,     CO_COUNT_DROP_OWN};
static const enum co_counter_id effects[] = {CO_COUNT_CONTROL_RECEIVED, CO_COUNT_CONTROL_SENT, CO_COUNT_DATA_PLACED,
                                             CO_COUNT_DATA_STALE,       CO_COUNT_DATA_EARLY,   CO_COUNT_NACKS_SENT,
                                             CO_COUNT_NACKS_ANSWERED,   CO_COUNT_DATA_SENT};

struct job {
    struct world world;
    struct co_mcast_op *ops[MEMBERS];
    unsigned char data[MEMBERS][MEMBERS * BYTES];
    unsigned char datagram[ROOM];
    size_t bytes;
};

static struct job job;

static uint64_t sum(const enum co_counter_id *counters, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all += co_counter_read(counters[i]);
    }
    return all;
}

static uint64_t dropped(void)
{
    return sum(drops, sizeof(drops) / sizeof(*drops));
}

static uint64_t done(void)
{
    return sum(effects, sizeof(effects) / sizeof(*effects));
}

// At an address of its own, so that a sanitizer sees who reads beyond its end.
static void deliver(const unsigned char *data, size_t bytes)
{
    static _Alignas(8) unsigned char at[ROOM + MORE];
    memcpy(at, data, bytes);
    inside_deliver(job.world.mcast[SELF], &(struct co_arrival){.data = at, .bytes = (uint32_t)bytes}, 1);
    co_mcast_progress(job.world.mcast[SELF], co_loopback_now_ns(job.world.hub));
}

static void counts_and_is_nothing(const unsigned char *data, size_t bytes)
{
    uint64_t before = dropped(), did = done();
    deliver(data, bytes);
    assert_int_equal(dropped() - before, 1);
    assert_int_equal(done(), did);
    assert_int_equal(co_mcast_op_state(job.ops[SELF]), 0);
}

static void make_chunk(bool is_repair, bool is_contribution, int sealed_by)
{
    size_t full = job.world.options.chunk_bytes;
    struct co_chunk chunk = {.source = FROM,
                             .chunk_bytes = (uint16_t)full,
                             .team = (uint32_t)TEAM,
                             .psn = 1,
                             .block_bytes = BYTES,
                             .is_repair = is_repair,
                             .is_contribution = is_contribution};
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_chunk_encode(job.datagram, &chunk);
    memcpy(job.datagram + CO_WIRE_HEAD_BYTES, &job.data[FROM][FROM * BYTES + full], full);
    co_wire_chunk_nonce(nonce, &chunk);
    job.bytes = CO_WIRE_HEAD_BYTES + full;
    co_auth_seal(job.world.auth[sealed_by], co_chunk_domain(&chunk), sealed_by, TEAM, nonce, job.datagram, job.bytes,
                 NULL, 0, job.datagram + job.bytes);
    job.bytes += co_auth_tag_bytes(job.world.auth[FROM]);
}

static size_t body_of(enum co_control_type type, uint8_t *body, uint16_t *entries)
{
    *entries = 0;
    if (type == CO_CONTROL_ACK) {
        *entries = 2;
        return co_wire_ack_encode(body, &(struct co_ack_body){.done_before = 0},
                                  (struct co_credit_entry[]){{SELF, 0, 0}, {FROM, 0, 0}}, *entries);
    }
    if (type == CO_CONTROL_NACK || type == CO_CONTROL_NACK_DEFERRED) {
        *entries = type == CO_CONTROL_NACK ? 2 : 1;
        return co_wire_nack_encode(body, &(struct co_nack_body){.source = SELF, .label = co_wire_nack_label(1)},
                                   (struct co_nack_range[]){{0, 2}, {4, 3}}, *entries);
    }
    return 0;
}

static void make_control(enum co_control_type type, int sealed_by)
{
    uint8_t body[CO_CONTROL_MAX], nonce[CO_AUTH_NONCE_BYTES];
    bool is_probe = type >= CO_CONTROL_PROBE && type <= CO_CONTROL_PROBE_DONE;
    struct co_control control = {
        .type = type, .source = FROM, .team = is_probe ? 0 : (uint32_t)TEAM, .operation = 0, .sequence = 1};
    size_t bytes = body_of(type, body, &control.entries);
    co_wire_control_encode(job.datagram, &control, bytes);
    memcpy(job.datagram + CO_WIRE_HEAD_BYTES, body, bytes);
    co_wire_control_nonce(nonce, &control, SELF);
    job.bytes = CO_WIRE_HEAD_BYTES + bytes;
    co_auth_seal(job.world.auth[sealed_by], CO_AUTH_CONTROL, sealed_by, is_probe ? 0 : TEAM, nonce, job.datagram,
                 job.bytes, NULL, 0, job.datagram + job.bytes);
    job.bytes += co_auth_tag_bytes(job.world.auth[FROM]);
}

static void garble(void)
{
    assert_true(job.bytes + MORE <= ROOM);
    for (size_t bit = 0; bit < 8 * job.bytes; bit++) {
        job.datagram[bit / 8] ^= (unsigned char)(1 << bit % 8);
        counts_and_is_nothing(job.datagram, job.bytes);
        job.datagram[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    for (size_t byte = 0; byte < CO_WIRE_HEAD_BYTES; byte++) {
        unsigned char was = job.datagram[byte];
        for (unsigned other = 0; other < 256; other++) {
            job.datagram[byte] = (unsigned char)other;
            if (other != was) {
                counts_and_is_nothing(job.datagram, job.bytes);
            }
        }
        job.datagram[byte] = was;
    }
    for (size_t bytes = 0; bytes < job.bytes + MORE; bytes++) {
        if (bytes != job.bytes) {
            counts_and_is_nothing(job.datagram, bytes);
        }
    }
}

static void open_job(enum co_auth_form form)
{
    struct world_options options = world_defaults(MEMBERS);
    options.form = form;
    world_open(&job.world, &options);
    memset(job.data, 0, sizeof(job.data));
    for (int rank = 0; rank < MEMBERS; rank++) {
        pattern_fill(job.data[rank] + rank * BYTES, BYTES, (unsigned)rank);
    }
    assert_int_equal(co_mcast_allgather_start(&job.ops[SELF], job.world.group[SELF], job.data[SELF], BYTES, 0), 0);
    co_mcast_progress(job.world.mcast[SELF], 0);
}

static void finish(void)
{
    for (int rank = 1; rank < MEMBERS; rank++) {
        uint64_t now_ns = co_loopback_now_ns(job.world.hub);
        assert_int_equal(co_mcast_allgather_start(&job.ops[rank], job.world.group[rank], job.data[rank], BYTES, now_ns),
                         0);
    }
    world_run(&job.world, job.ops, MEMBERS, CO_NS_PER_S);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(co_mcast_op_state(job.ops[rank]), 1);
        for (int source = 0; source < MEMBERS; source++) {
            assert_true(pattern_matches(job.data[rank] + source * BYTES, BYTES, (unsigned)source));
        }
        co_mcast_op_release(job.ops[rank]);
    }
    print_message("%zu counted and nothing else\n", (size_t)dropped());
    world_close(&job.world);
}

static void chunks(void **state)
{
    (void)state;
    for (int form = CO_AUTH_KEYED; form <= CO_AUTH_CHECK; form++) {
        open_job((enum co_auth_form)form);
        for (int manner = 0; manner < 3; manner++) {
            make_chunk(manner == 1, manner == 2, FROM);
            garble();
            make_chunk(manner == 1, manner == 2, OTHER);
            counts_and_is_nothing(job.datagram, job.bytes);
        }
        finish();
    }
}

static void control_messages(void **state)
{
    (void)state;
    for (int form = CO_AUTH_KEYED; form <= CO_AUTH_CHECK; form++) {
        open_job((enum co_auth_form)form);
        for (int type = CO_CONTROL_ACK; type < CO_CONTROL_READ_OFFER; type++) {
            make_control((enum co_control_type)type, FROM);
            garble();
            make_control((enum co_control_type)type, OTHER);
            counts_and_is_nothing(job.datagram, job.bytes);
        }
        finish();
    }
}

static void again(void **state)
{
    (void)state;
    open_job(CO_AUTH_KEYED);
    make_chunk(false, false, FROM);
    for (int i = 0; i < 100; i++) { // what is here already changes nothing
        uint64_t before = dropped(), duplicates = co_counter_read(CO_COUNT_DATA_DUPLICATE);
        deliver(job.datagram, job.bytes);
        assert_int_equal(dropped(), before);
        assert_int_equal(co_counter_read(CO_COUNT_DATA_DUPLICATE) - duplicates, i > 0);
    }
    make_control(CO_CONTROL_ACK, FROM);
    deliver(job.datagram, job.bytes);
    for (int i = 0; i < 100; i++) {
        counts_and_is_nothing(job.datagram, job.bytes);
    }
    garble(); // a head that was right once does not make it so
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks),
        cmocka_unit_test(control_messages),
        cmocka_unit_test(again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
