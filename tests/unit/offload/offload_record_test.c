// SPDX-License-Identifier: BSD-3-Clause
//
// Records between proxies: golden bytes, which docs/wire-format.md has too, there and back, and nonsense.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_record.h"
#include "wire_example.h"

static uint8_t bytes[CO_OFFLOAD_RECORD_BYTES_MAX + 1];

static const struct co_offload_key key = {
    .from = 3, .to = 0x0104, .tag = 0x11223344, .space = CO_OFFLOAD_GROUP, .number = UINT64_C(0x100000002)};

static const struct co_offload_key called = {
    .from = 3, .tag = UINT64_C(0x300000007), .space = CO_OFFLOAD_TEAM, .number = UINT64_C(0x100000002)};

// Exactly as long, so that reading on is seen.
static int decode(struct co_offload_record *out, size_t count)
{
    uint8_t *exact = malloc(count ? count : 1);
    memcpy(exact, bytes, count);
    int error = co_offload_record_decode(out, exact, count);
    free(exact);
    return error;
}

static void golden_bytes(void **state)
{
    (void)state;
    uint8_t golden[200];
    size_t count = co_offload_record_encode_entries(bytes, CO_OFFLOAD_RECORD_READY, &key, 1);
    assert_int_equal(wire_example_read("**READY** of one receive", golden, sizeof golden), count);
    assert_memory_equal(bytes, golden, count);

    count = co_offload_record_encode_entries(bytes, CO_OFFLOAD_RECORD_CALLED, &called, 1);
    assert_int_equal(wire_example_read("**CALLED** of a rank", golden, sizeof golden), count);
    assert_memory_equal(bytes, golden, count);

    struct co_offload_key of_team = called;
    of_team.to = 0x0104;
    co_offload_record_encode_data_head(bytes, &of_team, 0, 2, 2);
    memcpy(bytes + CO_OFFLOAD_RECORD_DATA_HEAD_BYTES, "hi", 2);
    assert_int_equal(wire_example_read("**TEAM_DATA**, all of", golden, sizeof golden),
                     CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 2);
    assert_memory_equal(bytes, golden, CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 2);

    count = co_offload_record_encode_gone(bytes, 0x0104);
    assert_int_equal(wire_example_read("**GONE** of a rank", golden, sizeof golden), count);
    assert_memory_equal(bytes, golden, count);

    co_offload_record_encode_data_head(bytes, &key, 65536, 65541, 5);
    memcpy(bytes + CO_OFFLOAD_RECORD_DATA_HEAD_BYTES, "hello", 5);
    assert_int_equal(wire_example_read("**DATA**, the last piece", golden, sizeof golden),
                     CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 5);
    assert_memory_equal(bytes, golden, CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 5);
}

static void entries_there_and_back(void **state)
{
    (void)state;
    static struct co_offload_key keys[CO_OFFLOAD_RECORD_ENTRIES_MAX];
    static const enum co_offload_record_kind kinds[] = {CO_OFFLOAD_RECORD_READY, CO_OFFLOAD_RECORD_SEND_FAILED,
                                                        CO_OFFLOAD_RECORD_RECEIVE_FAILED};
    static const uint32_t counts[] = {1, 2, CO_OFFLOAD_RECORD_ENTRIES_MAX};
    struct co_offload_record record;

    for (uint32_t i = 0; i < CO_OFFLOAD_RECORD_ENTRIES_MAX; i++) {
        keys[i] = (struct co_offload_key){i, ~i, i * i, i % 2, UINT64_MAX - i};
    }
    for (int i = 0; i < 9; i++) {
        uint32_t count = counts[i / 3];
        size_t length = co_offload_record_encode_entries(bytes, kinds[i % 3], keys, count);
        assert_int_equal(co_offload_record_bytes(bytes, CO_OFFLOAD_RECORD_HEAD_BYTES), length);
        assert_int_equal(co_offload_record_decode(&record, bytes, length), 0);
        assert_int_equal(record.kind, kinds[i % 3]);
        assert_int_equal(record.entries.count, count);
        for (uint32_t k = 0; k < count; k++) {
            struct co_offload_key back = co_offload_record_entry(&record, k);
            assert_true(co_offload_key_equals(&back, &keys[k]));
        }
        assert_int_equal(decode(&record, length - 1), -EPROTO);
        assert_int_equal(decode(&record, length + 1), -EPROTO);
    }
}

static void words_of_teams_there_and_back(void **state)
{
    (void)state;
    static const enum co_offload_record_kind kinds[] = {CO_OFFLOAD_RECORD_CALLED, CO_OFFLOAD_RECORD_TEAM_SEND_FAILED,
                                                        CO_OFFLOAD_RECORD_TEAM_RECEIVE_FAILED};
    struct co_offload_key keys[] = {{1, 0, UINT64_MAX, CO_OFFLOAD_TEAM, UINT64_MAX},
                                    {UINT32_MAX, 0, UINT64_C(1) << 32, CO_OFFLOAD_TEAM, 0}};
    struct co_offload_record record;

    for (int i = 0; i < 3; i++) {
        keys[0].to = keys[1].to = i == 0 ? 0 : 77; // that of CALLED is for all
        size_t length = co_offload_record_encode_entries(bytes, kinds[i], keys, 2);
        assert_int_equal(co_offload_record_decode(&record, bytes, length), 0);
        assert_int_equal(record.kind, kinds[i]);
        for (uint32_t k = 0; k < 2; k++) {
            struct co_offload_key back = co_offload_record_entry(&record, k);
            assert_true(co_offload_key_equals(&back, &keys[k]));
        }
    }
    co_offload_record_encode_data_head(bytes, &keys[0], 1, 3, 2);
    assert_int_equal(co_offload_record_decode(&record, bytes, CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 2), 0);
    assert_int_equal(record.kind, CO_OFFLOAD_RECORD_TEAM_DATA);
    assert_true(co_offload_key_equals(&record.data.key, &keys[0]));
}

static int decode_data(uint64_t offset, uint64_t whole, uint32_t payload_bytes)
{
    struct co_offload_record record;
    co_offload_record_encode_data_head(bytes, &key, offset, whole, payload_bytes);
    int error = decode(&record, CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + payload_bytes);
    if (error == 0) {
        assert_int_equal(record.data.offset, offset);
        assert_int_equal(record.data.whole, whole);
        assert_int_equal(record.data.payload_bytes, payload_bytes);
        assert_true(co_offload_key_equals(&record.data.key, &key));
    }
    return error;
}

static void pieces_lie_inside_their_message(void **state)
{
    (void)state;
    assert_int_equal(decode_data(0, 0, 0), 0);
    assert_int_equal(decode_data(0, 1, 1), 0);
    assert_int_equal(decode_data(UINT64_MAX - 7, UINT64_MAX, 7), 0);
    assert_int_equal(decode_data(0, CO_OFFLOAD_RECORD_PAYLOAD_MAX, CO_OFFLOAD_RECORD_PAYLOAD_MAX), 0);
    assert_int_equal(decode_data(0, 1, 0), -EPROTO); // nothing of something
    assert_int_equal(decode_data(1, 1, 0), -EPROTO);
    assert_int_equal(decode_data(0, 4, 5), -EPROTO);
    assert_int_equal(decode_data(2, 4, 3), -EPROTO);
    assert_int_equal(decode_data(UINT64_MAX, 4, 3), -EPROTO);
    assert_int_equal(decode_data(5, 4, 3), -EPROTO);
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    struct co_offload_record record;
    size_t length = co_offload_record_encode_entries(bytes, CO_OFFLOAD_RECORD_READY, &key, 1);

    for (size_t i = 0; i < CO_OFFLOAD_RECORD_HEAD_BYTES;
         i++) { // every other head is one of nothing, or of another length
        for (unsigned value = 1; value < 256; value++) {
            bytes[i] ^= (uint8_t)value;
            bool is_other_kind =
                i == 1 &&
                (bytes[1] == CO_OFFLOAD_RECORD_SEND_FAILED || bytes[1] == CO_OFFLOAD_RECORD_RECEIVE_FAILED ||
                 bytes[1] == CO_OFFLOAD_RECORD_TEAM_SEND_FAILED || bytes[1] == CO_OFFLOAD_RECORD_TEAM_RECEIVE_FAILED);
            assert_int_equal(decode(&record, length), is_other_kind ? 0 : -EPROTO);
            bytes[i] ^= (uint8_t)value;
        }
    }
    assert_int_equal(decode(&record, length), 0);
    bytes[CO_OFFLOAD_RECORD_HEAD_BYTES + 12] = CO_OFFLOAD_SPACES;
    assert_int_equal(decode(&record, length), -EPROTO);
    length = co_offload_record_encode_entries(bytes, CO_OFFLOAD_RECORD_ASK, &called, 1);
    assert_int_equal(decode(&record, length), -EPROTO); // a question has no number
    bytes[CO_OFFLOAD_RECORD_HEAD_BYTES + 16] = 0;
    bytes[CO_OFFLOAD_RECORD_HEAD_BYTES + 20] = 0;
    assert_int_equal(decode(&record, length), 0);
    length = co_offload_record_encode_entries(bytes, CO_OFFLOAD_RECORD_CALLED, &called, 1);
    assert_int_equal(decode(&record, length), 0);
    bytes[CO_OFFLOAD_RECORD_HEAD_BYTES + 4] = 1; // to nobody in particular
    assert_int_equal(decode(&record, length), -EPROTO);
    length = co_offload_record_encode_gone(bytes, UINT32_MAX);
    assert_int_equal(decode(&record, length), 0);
    bytes[CO_OFFLOAD_RECORD_HEAD_BYTES + 4] = 1;
    assert_int_equal(decode(&record, length), -EPROTO);
    assert_int_equal(co_offload_record_bytes(bytes, CO_OFFLOAD_RECORD_HEAD_BYTES - 1), 0);
    assert_int_equal(decode(&record, 0), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_bytes),
        cmocka_unit_test(entries_there_and_back),
        cmocka_unit_test(words_of_teams_there_and_back),
        cmocka_unit_test(pieces_lie_inside_their_message),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
