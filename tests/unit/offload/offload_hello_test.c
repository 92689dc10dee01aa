// SPDX-License-Identifier: BSD-3-Clause
//
// First words on a proxy's socket, bit for bit, and what is none.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_hello.h"

static void fill(uint8_t *bytes, size_t count, uint8_t first)
{
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(first + i);
    }
}

static void a_join_has_its_bytes(void **state)
{
    (void)state;
    static const uint8_t begins[] = {'c', 's', 't', 'f', 'h', 'e', 'l', '1', 1, 0, 0, 0, 5, 0, 0, 0, 7, 8};
    static const uint8_t ends[] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0xff, 0, 0, 0, 0, 0, 0, 0};
    struct co_offload_hello hello = {.kind = CO_OFFLOAD_HELLO_JOIN,
                                     .rank = 5,
                                     .probe_address = 0x1122334455667788,
                                     .probe_word = 0xff},
                            back;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];

    fill(hello.key, sizeof hello.key, 7);
    co_offload_hello_encode(bytes, &hello);
    assert_memory_equal(bytes, begins, sizeof begins);
    assert_memory_equal(bytes + 48, ends, sizeof ends);
    assert_int_equal(co_offload_hello_decode(&back, bytes), 0);
    assert_int_equal(back.kind, hello.kind);
    assert_int_equal(back.rank, hello.rank);
    assert_memory_equal(back.key, hello.key, sizeof hello.key);
    assert_int_equal(back.probe_address, hello.probe_address);
    assert_int_equal(back.probe_word, hello.probe_word);
}

static void what_is_no_hello_is_refused(void **state)
{
    (void)state;
    struct co_offload_hello hello = {.kind = CO_OFFLOAD_HELLO_STATUS}, back;
    uint8_t bytes[CO_OFFLOAD_HELLO_BYTES];

    co_offload_hello_encode(bytes, &hello);
    assert_int_equal(co_offload_hello_decode(&back, bytes), 0);
    for (size_t i = 0; i < sizeof bytes; i++) { // each byte of a status says one thing alone
        bytes[i] ^= 0x40;
        assert_int_equal(co_offload_hello_decode(&back, bytes), -EPROTO);
        bytes[i] ^= 0x40;
    }
    hello.kind = 0;
    co_offload_hello_encode(bytes, &hello);
    assert_int_equal(co_offload_hello_decode(&back, bytes), -EPROTO);
}

static void a_welcome_has_its_bytes(void **state)
{
    (void)state;
    static const uint8_t golden[CO_OFFLOAD_WELCOME_BYTES] = {'c', 's', 't', 'f', 'w', 'e', 'l', '1', 0, 0, 0, 0,
                                                             1,   0,   0,   0,   0,   4,   0,   0,   0, 0, 1, 0};
    struct co_offload_welcome welcome = {.lend = CO_OFFLOAD_LEND_STAGE, .groups_max = 1024, .ends_max = 65536}, back;
    uint8_t bytes[CO_OFFLOAD_WELCOME_BYTES];

    co_offload_welcome_encode(bytes, &welcome);
    assert_memory_equal(bytes, golden, sizeof golden);
    assert_int_equal(co_offload_welcome_decode(&back, bytes), 0);
    assert_int_equal(back.lend, CO_OFFLOAD_LEND_STAGE);
    assert_int_equal(back.groups_max, 1024);
    assert_int_equal(back.ends_max, 65536);
    static const size_t wrong[] = {0, 12, 24, 31};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bytes[wrong[i]] ^= 0x40;
        assert_int_equal(co_offload_welcome_decode(&back, bytes), -EPROTO);
        bytes[wrong[i]] ^= 0x40;
    }
    welcome.groups_max = 0; // a rank would divide its calls among none
    co_offload_welcome_encode(bytes, &welcome);
    assert_int_equal(co_offload_welcome_decode(&back, bytes), -EPROTO);
    welcome.error = EPERM;
    co_offload_welcome_encode(bytes, &welcome);
    assert_int_equal(co_offload_welcome_decode(&back, bytes), 0);
    assert_int_equal(back.error, EPERM);
    welcome.error = 4096;
    co_offload_welcome_encode(bytes, &welcome);
    assert_int_equal(co_offload_welcome_decode(&back, bytes), -EPROTO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_join_has_its_bytes),
        cmocka_unit_test(what_is_no_hello_is_refused),
        cmocka_unit_test(a_welcome_has_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
