// SPDX-License-Identifier: BSD-3-Clause
//
// The wire format: golden bytes of every message, so that no compiler or refactoring moves a field; every rejection of
// the decoders; and bytes at random, which must be rejected or describe exactly what is there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/wire/wire.h"

static const uint8_t GOLDEN_CHUNK[CO_WIRE_HEAD_BYTES] = {0x31, 0x01, 0x34, 0x12, 0x78, 0x56, 0x34, 0x12,
                                                         0xef, 0xcd, 0xab, 0x89, 0x04, 0x00, 0x00, 0x00,
                                                         0x2d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00};

static const uint8_t GOLDEN_CONTROL[CO_WIRE_HEAD_BYTES] = {0x32, 0x03, 0x02, 0x01, 0x78, 0x56, 0x34, 0x12,
                                                           0x44, 0x33, 0x22, 0x11, 0x08, 0x07, 0x06, 0x05,
                                                           0x04, 0x03, 0x02, 0x01, 0x14, 0x00, 0x02, 0x00};

static struct co_chunk golden_chunk(void)
{
    return (struct co_chunk){.source = 0x1234,
                             .chunk_bytes = 64,
                             .team = 0x12345678,
                             .operation = 0x89abcdef,
                             .psn = 4,
                             .block_bytes = 301,
                             .is_repair = true};
}

static struct co_control golden_control(void)
{
    return (struct co_control){.type = CO_CONTROL_NACK,
                               .source = 0x0102,
                               .entries = 2,
                               .team = 0x12345678,
                               .operation = 0x11223344,
                               .sequence = 0x0102030405060708};
}

static void chunk_bytes(void **state)
{
    (void)state;
    struct co_chunk chunk = golden_chunk(), back;
    uint8_t data[CO_WIRE_HEAD_BYTES + 45] = {0};
    co_wire_chunk_encode(data, &chunk);
    assert_memory_equal(data, GOLDEN_CHUNK, sizeof(GOLDEN_CHUNK));
    assert_int_equal(co_wire_kind(data, sizeof(data)), CO_WIRE_CHUNK);
    assert_int_equal(co_wire_chunk_decode(&back, data, sizeof(data)), 0); // the short tail: 301 - 4 * 64
    assert_int_equal(back.source, chunk.source);
    assert_int_equal(back.chunk_bytes, chunk.chunk_bytes);
    assert_int_equal(back.team, chunk.team);
    assert_int_equal(back.operation, chunk.operation);
    assert_int_equal(back.psn, chunk.psn);
    assert_int_equal(back.block_bytes, chunk.block_bytes);
    assert_true(back.is_repair);
    assert_int_equal(back.credit_shift, 0);
    assert_int_equal(back.label, 0);
    chunk.label = co_wire_nack_label(5 + 3 * CO_WIRE_NACK_LABELS);
    co_wire_chunk_encode(data, &chunk);
    assert_int_equal(data[1], 0x8b);
    assert_int_equal(co_wire_chunk_decode(&back, data, sizeof(data)), 0);
    assert_true(back.is_repair);
    assert_int_equal(back.label, 0x45);
    chunk.is_repair = false;
    chunk.label = 0;
    chunk.credit_shift = 5;
    co_wire_chunk_encode(data, &chunk);
    assert_int_equal(data[1], 10);
    assert_int_equal(co_wire_chunk_decode(&back, data, sizeof(data)), 0);
    assert_false(back.is_repair);
    assert_int_equal(back.credit_shift, 5);
}

static void contribution_bytes(void **state)
{
    (void)state;
    struct co_chunk chunk = golden_chunk(), back;
    uint8_t data[CO_WIRE_HEAD_BYTES + 45] = {0};
    chunk.is_repair = false;
    chunk.is_contribution = true;
    co_wire_chunk_encode(data, &chunk);
    assert_int_equal(data[0], 0x33);
    assert_int_equal(data[1], 0);
    assert_memory_equal(data + 2, GOLDEN_CHUNK + 2, sizeof(GOLDEN_CHUNK) - 2);
    assert_int_equal(co_wire_kind(data, sizeof(data)), CO_WIRE_CONTRIBUTION);
    assert_int_equal(co_wire_chunk_decode(&back, data, sizeof(data)), 0);
    assert_true(back.is_contribution);
    for (unsigned how = 1; how <= UINT8_MAX; how++) {
        data[1] = (uint8_t)how;
        assert_true(co_wire_chunk_decode(&back, data, sizeof(data)) < 0);
    }
}

// Two heads that differ have two nonces, or the key would be given away.
static void nonces(void **state)
{
    (void)state;
    struct co_chunk chunk = golden_chunk();
    static const uint8_t golden[] = {1, 0, 0, 0, 0xef, 0xcd, 0xab, 0x89, 4, 0, 0, 0};
    uint8_t nonce[CO_AUTH_NONCE_BYTES], head[CO_WIRE_HEAD_BYTES];
    co_wire_chunk_nonce(nonce, &chunk);
    assert_memory_equal(nonce, golden, sizeof(golden));
    for (uint8_t label = 0; label < 2 * CO_WIRE_NACK_LABELS; label++) {
        chunk.label = label;
        co_wire_chunk_encode(head, &chunk);
        co_wire_chunk_nonce(nonce, &chunk);
        assert_int_equal(nonce[0], head[1]);
    }
    static const uint8_t to_rank_7[] = {8, 7, 6, 5, 4, 3, 2, 1, 8, 0, 0, 0};
    static const uint8_t to_all[] = {8, 7, 6, 5, 4, 3, 2, 1, 0, 0, 0, 0};
    for (enum co_control_type type = CO_CONTROL_ACK; type < CO_CONTROL_TYPE_END; type++) {
        struct co_control control = {.type = type, .sequence = UINT64_C(0x0102030405060708)};
        bool is_for_all = type == CO_CONTROL_PROBE || type == CO_CONTROL_END_OF_BLOCK; // without entries
        co_wire_control_nonce(nonce, &control, 7);
        assert_memory_equal(nonce, is_for_all ? to_all : to_rank_7, sizeof(nonce));
        control.entries = 1;
        co_wire_control_nonce(nonce, &control, 7);
        assert_memory_equal(nonce, to_rank_7, sizeof(nonce));
    }
}

static void block_of_46_bits(void **state)
{
    (void)state;
    struct co_chunk chunk = golden_chunk(), back;
    chunk.block_bytes = UINT64_C(0x1234) << 32 | 64;
    chunk.chunk_bytes = UINT16_MAX;
    chunk.psn = (uint32_t)(chunk.block_bytes / UINT16_MAX);
    size_t tail = chunk.block_bytes % UINT16_MAX;
    uint8_t *data = calloc(1, CO_WIRE_HEAD_BYTES + tail);
    co_wire_chunk_encode(data, &chunk);
    assert_int_equal(co_wire_chunk_decode(&back, data, CO_WIRE_HEAD_BYTES + tail), 0);
    assert_true(back.block_bytes == chunk.block_bytes);
    assert_true(co_wire_chunk_decode(&back, data, CO_WIRE_HEAD_BYTES + tail - 1) < 0);
    free(data);
}

static void control_bytes(void **state)
{
    (void)state;
    struct co_control control = golden_control(), back;
    uint8_t data[CO_WIRE_HEAD_BYTES + 20] = {0};
    co_wire_control_encode(data, &control, 20);
    assert_memory_equal(data, GOLDEN_CONTROL, sizeof(GOLDEN_CONTROL));
    assert_int_equal(co_wire_kind(data, sizeof(data)), CO_WIRE_CONTROL);
    assert_int_equal(co_wire_control_decode(&back, data, sizeof(data)), 0);
    assert_int_equal(back.type, control.type);
    assert_int_equal(back.source, control.source);
    assert_int_equal(back.entries, control.entries);
    assert_int_equal(back.team, control.team);
    assert_int_equal(back.operation, control.operation);
    assert_true(back.sequence == control.sequence);
}

static void ack_body(void **state)
{
    (void)state;
    static const uint8_t golden[] = {4,    3,    2, 1, 0xd4, 0xc3, 0xb2, 0xa1, 9, 0, 0, 0, 0xff, 0xff, 0xff, 0x7f,
                                     0x02, 0x01, 6, 5, 0x0d, 0x0c, 0x0b, 0x0a, 7, 0, 0, 0, 1,    0,    0,    0};
    struct co_ack_body body = {0x01020304, 0xa1b2c3d4, 9, 0x7fffffff}, back;
    struct co_credit_entry entries[] = {{0x0102, 0x0506, 0x0a0b0c0d}, {7, 0, 1}}, entry;
    uint8_t data[sizeof(golden)];
    assert_int_equal(co_wire_ack_encode(data, &body, entries, 2), sizeof(golden));
    assert_memory_equal(data, golden, sizeof(golden));
    co_wire_ack_decode(&back, data);
    assert_memory_equal(&back, &body, sizeof(body));
    for (unsigned i = 0; i < 2; i++) {
        co_wire_credit_decode(&entry, data, i);
        assert_int_equal(entry.source, entries[i].source);
        assert_int_equal(entry.gaps, entries[i].gaps);
        assert_int_equal(entry.received, entries[i].received);
    }
}

static void nack_body(void **state)
{
    (void)state;
    static const uint8_t golden[] = {0x0b, 0x0a, 2, 0x43, 4, 3, 2, 1, 5, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0};
    struct co_nack_range ranges[] = {{0x01020304, 5}, {UINT32_MAX, 1}}, range;
    uint8_t data[sizeof(golden)];
    struct co_nack_body body = {0x0a0b, CO_NACK_DEAF, co_wire_nack_label(67), false}, back;
    assert_int_equal(co_wire_nack_encode(data, &body, ranges, 2), sizeof(golden));
    assert_memory_equal(data, golden, sizeof(golden));
    co_wire_nack_decode(&back, data);
    assert_int_equal(back.source, 0x0a0b);
    assert_int_equal(back.why, CO_NACK_DEAF);
    assert_int_equal(back.label, 0x43);
    assert_false(back.can_read);
    data[3] = 0x3f; // no label
    co_wire_nack_decode(&back, data);
    assert_int_equal(back.label, 0);
    body.can_read = true;
    co_wire_nack_encode(data, &body, ranges, 2);
    assert_int_equal(data[2], 0x82);
    co_wire_nack_decode(&back, data);
    assert_true(back.can_read);
    assert_int_equal(back.why, CO_NACK_DEAF);
    for (unsigned i = 0; i < 2; i++) {
        co_wire_range_decode(&range, data, i);
        assert_memory_equal(&range, &ranges[i], sizeof(range));
    }
}

static void read_offer_body(void **state)
{
    (void)state;
    static const uint8_t golden[] = {0x0b, 0x0a, 2, 0x43, 4, 3, 2, 1, 0x18, 0x17, 0x16, 0x15, 0x14, 0x13, 0x12, 0x11,
                                     0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0, 0,
                                     // chunks
                                     9, 0, 0, 0, 0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xaf, //
                                     7, 0, 0, 1, 0xb0, 1, 2, 3, 4, 5, 6, 0xb7, 0, 0, 0, 0, 0, 0, 0, 0};
    struct co_read_offer_body body = {.source = 0x0a0b,
                                      .way = CO_WAY_APART,
                                      .label = co_wire_nack_label(67),
                                      .key = 0x01020304,
                                      .address = 0x1112131415161718,
                                      .block_bytes = 0x212223242526},
                              back;
    struct co_read_offer_chunk chunks[] = {{9, {0xa0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xaf}},
                                           {0x01000007, {0xb0, 1, 2, 3, 4, 5, 6, 0xb7}}};
    uint8_t data[sizeof(golden)];
    assert_int_equal(co_wire_read_offer_bytes(2), sizeof(golden));
    co_wire_read_offer_encode(data, &body);
    for (unsigned i = 2; i-- > 0;) {
        co_wire_read_offer_chunk_encode(data, &chunks[i], i);
    }
    assert_memory_equal(data, golden, sizeof(golden));
    co_wire_read_offer_decode(&back, data);
    assert_int_equal(back.source, body.source);
    assert_int_equal(back.way, body.way);
    assert_int_equal(back.label, body.label);
    assert_int_equal(back.key, body.key);
    assert_int_equal(back.address, body.address);
    assert_int_equal(back.block_bytes, body.block_bytes);
    for (unsigned i = 0; i < 2; i++) {
        struct co_read_offer_chunk chunk;
        co_wire_read_offer_chunk_decode(&chunk, data, i);
        assert_memory_equal(&chunk, &chunks[i], sizeof(chunk));
    }
    data[3] = 0x80; // no label
    data[2] = CO_WAY_END;
    co_wire_read_offer_decode(&back, data);
    assert_int_equal(back.label, 0);
    assert_int_equal(back.way, CO_WAY_UNSAID);
}

static int decode_chunk_with(size_t offset, uint8_t value, size_t bytes)
{
    uint8_t data[200] = {0};
    struct co_chunk chunk;
    memcpy(data, GOLDEN_CHUNK, sizeof(GOLDEN_CHUNK));
    data[offset] = value;
    return co_wire_chunk_decode(&chunk, data, bytes);
}

static void chunks_refused(void **state)
{
    (void)state;
    const size_t good = CO_WIRE_HEAD_BYTES + 45;
    assert_int_equal(decode_chunk_with(0, 0x31, good), 0);
    assert_true(decode_chunk_with(0, 0x21, good) < 0); // another version
    assert_true(decode_chunk_with(0, 0x01, good) < 0);
    assert_true(decode_chunk_with(0, 0x30, good) < 0); // another kind
    assert_true(decode_chunk_with(0, 0x32, good) < 0);
    assert_true(decode_chunk_with(0, 0x33, good) < 0);
    assert_true(decode_chunk_with(1, 3, good) < 0); // a repair with what is no label of a request
    assert_int_equal(decode_chunk_with(1, CO_WIRE_CREDIT_SHIFT_MAX << 1, good), 0);
    assert_true(decode_chunk_with(1, (CO_WIRE_CREDIT_SHIFT_MAX + 1) << 1, good) < 0); // more than can be counted
    assert_true(decode_chunk_with(12, 5, good) < 0);                                  // PSN beyond the block
    assert_true(decode_chunk_with(15, 0xff, good) < 0);
    assert_true(decode_chunk_with(12, 3, good) < 0); // a full chunk's PSN with the tail's size
    assert_int_equal(decode_chunk_with(12, 3, CO_WIRE_HEAD_BYTES + 64), 0);
    assert_true(decode_chunk_with(22, 0, good) < 0); // chunks of no bytes
    assert_true(decode_chunk_with(16, 0x2e, good) < 0);
    assert_true(decode_chunk_with(21, CO_WAY_END << 6, good) < 0); // there is no such way
    for (size_t bytes = 0; bytes < 200; bytes++) {
        assert_int_equal(decode_chunk_with(0, 0x31, bytes) == 0, bytes == good);
    }
    struct co_chunk empty = golden_chunk(), back;
    uint8_t data[CO_WIRE_HEAD_BYTES];
    empty.block_bytes = (uint64_t)empty.psn * empty.chunk_bytes;
    co_wire_chunk_encode(data, &empty);
    assert_true(co_wire_chunk_decode(&back, data, sizeof(data)) < 0); // right behind the last chunk, of no bytes
    empty.block_bytes = empty.psn = 0;
    co_wire_chunk_encode(data, &empty);
    assert_true(co_wire_chunk_decode(&back, data, sizeof(data)) < 0); // a block of no bytes has no chunk
}

static int decode_control(enum co_control_type type, uint16_t entries, size_t body_field, size_t body)
{
    static uint8_t data[70000];
    struct co_control control = golden_control(), back;
    control.type = type;
    control.entries = entries;
    co_wire_control_encode(data, &control, body_field);
    return co_wire_control_decode(&back, data, CO_WIRE_HEAD_BYTES + body);
}

static void control_refused(void **state)
{
    (void)state;
    static const size_t fixed[CO_CONTROL_TYPE_END] = {
        [CO_CONTROL_ACK] = 16, [CO_CONTROL_NACK] = 4, [CO_CONTROL_NACK_DEFERRED] = 4, [CO_CONTROL_READ_OFFER] = 24};
    static const size_t each[CO_CONTROL_TYPE_END] = {
        [CO_CONTROL_ACK] = 8, [CO_CONTROL_NACK] = 8, [CO_CONTROL_NACK_DEFERRED] = 8, [CO_CONTROL_READ_OFFER] = 20};
    for (unsigned type = 1; type < CO_CONTROL_TYPE_END; type++) {
        for (uint16_t entries = 0; entries < 40; entries++) {
            size_t body = fixed[type] + entries * each[type];
            assert_int_equal(decode_control(type, entries, body, body), 0);
            assert_true(decode_control(type, entries, body, body + 1) < 0);
            assert_true(decode_control(type, entries, body + 1, body + 1) < 0);
            assert_true(decode_control(type, entries, body + 8, body) < 0);
        }
    }
    assert_true(decode_control(CO_CONTROL_ACK, 0, 15, 15) < 0);
    assert_true(decode_control(CO_CONTROL_ACK, UINT16_MAX, 16, 16) < 0);
    assert_true(decode_control(CO_CONTROL_NACK, 8191, 65532, 65532) == 0);
    assert_true(decode_control(CO_CONTROL_NACK, 8192, 4, 65540) < 0); // the size field has wrapped
    assert_true(decode_control(0, 0, 0, 0) < 0);
    assert_true(decode_control(CO_CONTROL_TYPE_END, 0, 0, 0) < 0);
    assert_true(decode_control((enum co_control_type)255, 0, 0, 0) < 0);
}

static void too_short(void **state)
{
    (void)state;
    struct co_chunk chunk;
    struct co_control control;
    for (size_t bytes = 0; bytes < CO_WIRE_HEAD_BYTES; bytes++) {
        uint8_t *exact = malloc(bytes + 1); // reading beyond it shows under a sanitizer
        memcpy(exact, GOLDEN_CHUNK, bytes);
        assert_true(co_wire_kind(exact, bytes) < 0);
        assert_true(co_wire_chunk_decode(&chunk, exact, bytes) < 0);
        assert_true(co_wire_control_decode(&control, exact, bytes) < 0);
        free(exact);
    }
}

static void junk(void **state)
{
    (void)state;
    srand(5);
    for (int i = 0; i < 200000; i++) {
        uint8_t data[120];
        size_t bytes = (size_t)rand() % sizeof(data);
        for (size_t at = 0; at < bytes; at++) {
            data[at] = (uint8_t)(rand() % 4 == 0 ? rand() : 0);
        }
        data[0] = (uint8_t)(0x10 | rand() % 4);
        struct co_chunk chunk;
        struct co_control control;
        if (co_wire_chunk_decode(&chunk, data, bytes) == 0) {
            uint64_t start = (uint64_t)chunk.psn * chunk.chunk_bytes;
            assert_true(start + (bytes - CO_WIRE_HEAD_BYTES) <= chunk.block_bytes);
        }
        if (co_wire_control_decode(&control, data, bytes) == 0) {
            assert_in_range(control.type, 1, CO_CONTROL_TYPE_END - 1);
        }
    }
}

static void chunk_counts(void **state)
{
    (void)state;
    assert_int_equal(co_wire_chunk_count(0, 100), 0);
    assert_int_equal(co_wire_chunk_count(1, 100), 1);
    assert_int_equal(co_wire_chunk_count(100, 100), 1);
    assert_int_equal(co_wire_chunk_count(101, 100), 2);
    assert_int_equal(co_wire_chunk_count(UINT64_C(5) << 30, 1432), 3749099);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunk_bytes),      cmocka_unit_test(contribution_bytes),
        cmocka_unit_test(block_of_46_bits), cmocka_unit_test(control_bytes),
        cmocka_unit_test(ack_body),         cmocka_unit_test(nack_body),
        cmocka_unit_test(read_offer_body),  cmocka_unit_test(nonces),
        cmocka_unit_test(chunks_refused),   cmocka_unit_test(control_refused),
        cmocka_unit_test(too_short),        cmocka_unit_test(junk),
        cmocka_unit_test(chunk_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
