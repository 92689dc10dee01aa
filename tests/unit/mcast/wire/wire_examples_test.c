// SPDX-License-Identifier: BSD-3-Clause
//
// The examples of docs/wire-format.md are what the code sends: every block of hexadecimal bytes of that document must
// decode, must come out again when encoded, and must carry the tags that stand beside it. Run in the top folder.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/auth/auth.h"
#include "mcast/wire/wire.h"

enum { EXAMPLES_MAX = 16, BYTES_MAX = 256, KEYED_BYTES = 16, CHECK_BYTES = 8, RANKS = 16 };

static const uint64_t TEAM = UINT64_C(0x0000000300000007);

// A datagram with its keyed tag, and the tag that it has without authentication.
struct example {
    uint8_t bytes[BYTES_MAX];
    size_t count;
    uint8_t check[CHECK_BYTES];
    size_t check_count;
};

static struct example examples[EXAMPLES_MAX];
static int example_count;

// Pairs of hexadecimal digits, one blank between them, up to anything else. Returns where it stopped.
static const char *read_bytes(const char *at, uint8_t *bytes, size_t *count, size_t room)
{
    unsigned value;
    int used;
    while (strspn(at, "0123456789abcdef") == 2 && strchr(" ]\n", at[2]) != NULL &&
           sscanf(at, "%2x%n", &value, &used) == 1) {
        assert_true(*count < room);
        bytes[(*count)++] = (uint8_t)value;
        at += used + (at[used] == ' ');
    }
    return at;
}

static void read_line(const char *line, struct example *example)
{
    const char *bracket = strchr(line, '[');
    read_bytes(line, example->bytes, &example->count, BYTES_MAX);
    if (bracket != NULL) {
        read_bytes(bracket + 1, example->check, &example->check_count, CHECK_BYTES);
    }
}

// Examples are blocks of indented lines after the heading.
static int read_document(void **state)
{
    (void)state;
    char line[512];
    bool is_after_heading = false, is_inside = false;
    FILE *file = fopen("docs/wire-format.md", "r");
    if (file == NULL) {
        return -1;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        is_after_heading = is_after_heading || strcmp(line, "## Examples\n") == 0;
        bool is_example = is_after_heading && strncmp(line, "    ", 4) == 0;
        example_count += is_example && !is_inside;
        is_inside = is_example;
        if (is_example && example_count <= EXAMPLES_MAX) {
            read_line(line + 4, &examples[example_count - 1]);
        }
    }
    fclose(file);
    return example_count <= EXAMPLES_MAX ? 0 : -1;
}

static void put_number(uint8_t *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(number >> (8 * i));
    }
}

// As the document says it, not as the code does it.
static void make_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], uint8_t how, uint32_t operation, uint32_t psn)
{
    put_number(nonce, how, 4);
    put_number(nonce + 4, operation, 4);
    put_number(nonce + 8, psn, 4);
}

static void check_tags(const struct example *example, enum co_auth_domain domain, int rank,
                       const uint8_t nonce[CO_AUTH_NONCE_BYTES])
{
    uint8_t key[CO_AUTH_KEY_BYTES], plain[BYTES_MAX];
    struct co_auth *keyed, *unkeyed;
    size_t bytes = example->count - KEYED_BYTES;
    for (int i = 0; i < CO_AUTH_KEY_BYTES; i++) {
        key[i] = (uint8_t)i;
    }
    assert_int_equal(co_auth_open(&keyed, key, RANKS, CO_AUTH_KEYED), 0);
    assert_int_equal(co_auth_open(&unkeyed, key, RANKS, CO_AUTH_CHECK), 0);
    if (strcmp(co_auth_name(keyed), "aes-256-gcm") == 0) {
        assert_true(co_auth_verify(keyed, domain, rank, TEAM, nonce, example->bytes, bytes));
    }
    memcpy(plain, example->bytes, bytes);
    memcpy(plain + bytes, example->check, CHECK_BYTES);
    assert_true(co_auth_verify(unkeyed, domain, rank, TEAM, nonce, plain, bytes));
    co_auth_close(keyed);
    co_auth_close(unkeyed);
}

static void check_chunk(const struct example *example, bool is_repair)
{
    struct co_chunk chunk;
    uint8_t head[CO_WIRE_HEAD_BYTES], nonce[CO_AUTH_NONCE_BYTES];
    assert_int_equal(co_wire_chunk_decode(&chunk, example->bytes, example->count - KEYED_BYTES), 0);
    co_wire_chunk_encode(head, &chunk);
    assert_memory_equal(head, example->bytes, sizeof head);
    assert_int_equal(chunk.is_repair, is_repair);
    assert_int_equal(chunk.source, 2);
    assert_int_equal(chunk.team, (uint32_t)TEAM);
    assert_int_equal(chunk.operation, 0x01020304);
    assert_int_equal(chunk.psn, 1);
    assert_int_equal(chunk.block_bytes, 1437);
    assert_int_equal(chunk.chunk_bytes, 1432);
    assert_memory_equal(example->bytes + CO_WIRE_HEAD_BYTES, "hello", 5);
    make_nonce(nonce, example->bytes[1], chunk.operation, chunk.psn);
    assert_int_equal(co_chunk_domain(&chunk), is_repair ? CO_AUTH_REPAIR : CO_AUTH_CHUNK);
    check_tags(example, is_repair ? CO_AUTH_REPAIR : CO_AUTH_CHUNK, 5, nonce);
}

static const uint8_t *check_control(const struct example *example, enum co_control_type type, uint32_t operation,
                                    uint64_t sequence, unsigned entries)
{
    struct co_control control;
    uint8_t head[CO_WIRE_HEAD_BYTES], nonce[CO_AUTH_NONCE_BYTES] = {0};
    size_t bytes = example->count - KEYED_BYTES;
    assert_int_equal(co_wire_control_decode(&control, example->bytes, bytes), 0);
    co_wire_control_encode(head, &control, bytes - CO_WIRE_HEAD_BYTES);
    assert_memory_equal(head, example->bytes, sizeof head);
    assert_int_equal(control.type, type);
    assert_int_equal(control.source, 3);
    assert_int_equal(control.operation, operation);
    assert_int_equal(control.sequence, sequence);
    assert_int_equal(control.entries, entries);
    put_number(nonce, sequence, 8);
    put_number(nonce + 8, 2 + 1, 4); // for rank 2
    check_tags(example, CO_AUTH_CONTROL, 6, nonce);
    return example->bytes + CO_WIRE_HEAD_BYTES;
}

static void all_examples_are_there(void **state)
{
    (void)state;
    assert_int_equal(example_count, 5);
    for (int i = 0; i < example_count; i++) {
        assert_in_range(examples[i].count, CO_WIRE_HEAD_BYTES + KEYED_BYTES, BYTES_MAX);
        assert_int_equal(examples[i].check_count, CHECK_BYTES);
    }
}

static void chunks(void **state)
{
    (void)state;
    check_chunk(&examples[0], false);
    check_chunk(&examples[1], true);
}

static void progress(void **state)
{
    (void)state;
    const uint8_t *body = check_control(&examples[2], CO_CONTROL_ACK, 8, 9, 2);
    struct co_ack_body report;
    struct co_credit_entry first, second;
    co_wire_ack_decode(&report, body);
    assert_int_equal(report.done_before, 4);
    assert_int_equal(report.done_mask, 5);
    assert_int_equal(report.lost, 7);
    assert_int_equal(report.echo, 0);
    co_wire_credit_decode(&first, body, 0);
    co_wire_credit_decode(&second, body, 1);
    assert_int_equal(first.source, 0);
    assert_int_equal(first.received, 100);
    assert_int_equal(second.source, 2);
    assert_int_equal(second.received, UINT32_C(4294967280));
}

static void nack_message(void **state)
{
    (void)state;
    const uint8_t *body = check_control(&examples[3], CO_CONTROL_NACK, 4, 10, 2);
    struct co_nack_range first, second;
    co_wire_range_decode(&first, body, 0);
    co_wire_range_decode(&second, body, 1);
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    assert_int_equal(nack.source, 2);
    assert_int_equal(nack.why, CO_NACK_LOST);
    assert_int_equal(first.first, 10);
    assert_int_equal(first.count, 1);
    assert_int_equal(second.first, 12);
    assert_int_equal(second.count, 4);
}

static void ack_request(void **state)
{
    (void)state;
    check_control(&examples[4], CO_CONTROL_ACK_REQUEST, UINT32_MAX, 11, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_examples_are_there), cmocka_unit_test(chunks),      cmocka_unit_test(progress),
        cmocka_unit_test(nack_message),           cmocka_unit_test(ack_request),
    };
    return cmocka_run_group_tests(tests, read_document, NULL);
}
