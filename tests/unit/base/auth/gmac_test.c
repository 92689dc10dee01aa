// SPDX-License-Identifier: BSD-3-Clause
//
// Tags by the module of GMAC: the same as libsodium's, for every length and split, so that ranks with and without it
// check each other's; nothing that was changed verifies. Without the module, or where it is slower, there is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/auth/auth.h"
#include "base/auth/gmac.h"

#define BYTES_MOST 9000
#define TEAM UINT64_C(0x1122334455667788)

static char build[4096];

// The module lies two folders above the test program.
static int find_build(void **state)
{
    (void)state;
    ssize_t length = readlink("/proc/self/exe", build, sizeof build - 1);
    if (length <= 0) {
        return -1;
    }
    build[length] = '\0';
    for (int i = 0; i < 3; i++) {
        *strrchr(build, '/') = '\0';
    }
    return 0;
}

static struct co_auth *open_by(const char *directory)
{
    static const uint8_t key[CO_AUTH_KEY_BYTES] = {1, 2, 3, 5, 8, 13, 21, 34};
    struct co_auth *auth;
    co_gmac_directory_set(directory);
    assert_int_equal(co_auth_open(&auth, key, 2, CO_AUTH_KEYED), 0);
    return auth;
}

static bool verifies(struct co_auth *auth, const uint8_t *nonce, const uint8_t *data, size_t bytes)
{
    return co_auth_verify(auth, CO_AUTH_CHUNK, 1, TEAM, nonce, data, bytes);
}

static bool has_module(const struct co_auth *auth)
{
    co_gmac_directory_set(build);
    return !co_auth_is_portable(auth) && co_gmac_find() != NULL;
}

static void the_same_tags(void **state)
{
    (void)state;
    struct co_auth *plain = open_by("/nonexistent");
    if (!has_module(plain)) {
        co_auth_close(plain);
        skip();
    }
    struct co_auth *fast = open_by(build), *copy;
    uint8_t *data = malloc(BYTES_MOST + CO_AUTH_TAG_MAX), nonce[CO_AUTH_NONCE_BYTES] = {7};
    assert_non_null(data);
    assert_int_equal(co_auth_copy(&copy, fast), 0);
    for (size_t i = 0; i < BYTES_MOST; i++) {
        data[i] = (uint8_t)(i * 131 + i / 256);
    }
    for (size_t bytes = 0; bytes <= BYTES_MOST; bytes += bytes < 300 ? 1 : 977) {
        for (size_t head = 0; head <= bytes; head += head < 40 ? 1 : 1 + bytes / 3) {
            uint8_t kept[CO_AUTH_TAG_MAX], tag[CO_AUTH_TAG_MAX], theirs[CO_AUTH_TAG_MAX];
            nonce[3]++;
            co_auth_seal(fast, CO_AUTH_CHUNK, 1, TEAM, nonce, data, head, data + head, bytes - head, tag);
            co_auth_seal(plain, CO_AUTH_CHUNK, 1, TEAM, nonce, data, head, data + head, bytes - head, theirs);
            assert_memory_equal(tag, theirs, sizeof tag);
            memcpy(kept, data + bytes, sizeof kept);
            memcpy(data + bytes, tag, sizeof tag);
            assert_true(verifies(plain, nonce, data, bytes) && verifies(fast, nonce, data, bytes) &&
                        verifies(copy, nonce, data, bytes));
            data[bytes + 15] ^= 0x80;
            assert_false(verifies(fast, nonce, data, bytes));
            memcpy(data + bytes, kept, sizeof kept);
        }
    }
    free(data);
    co_auth_close(copy);
    co_auth_close(fast);
    co_auth_close(plain);
}

static void every_flipped_bit_is_found(void **state)
{
    (void)state;
    enum { BYTES = 24 + 77 };
    struct co_auth *fast = open_by(build);
    if (!has_module(fast)) {
        co_auth_close(fast);
        skip();
    }
    uint8_t data[BYTES + CO_AUTH_TAG_MAX] = {1, 2, 3}, nonce[CO_AUTH_NONCE_BYTES] = {7};
    co_auth_seal(fast, CO_AUTH_CHUNK, 1, TEAM, nonce, data, 24, data + 24, BYTES - 24, data + BYTES);
    for (size_t bit = 0; bit < sizeof data * 8; bit++) {
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
        assert_false(verifies(fast, nonce, data, BYTES));
        data[bit / 8] ^= (uint8_t)(1U << (bit % 8));
    }
    assert_true(verifies(fast, nonce, data, BYTES));
    co_auth_close(fast);
}

// Given up after use, as where another rank's processor has no AES.
static void given_up(void **state)
{
    (void)state;
    struct co_auth *fast = open_by(build), *portable = open_by("/nonexistent");
    if (!has_module(fast)) {
        co_auth_close(fast);
        co_auth_close(portable);
        skip();
    }
    uint8_t data[40 + CO_AUTH_TAG_MAX] = {0}, nonce[CO_AUTH_NONCE_BYTES] = {7};
    co_auth_seal(fast, CO_AUTH_CHUNK, 1, TEAM, nonce, data, 40, NULL, 0, data + 40);
    co_auth_use_portable(fast);
    co_auth_use_portable(portable);
    co_auth_seal(fast, CO_AUTH_CHUNK, 1, TEAM, nonce, data, 40, NULL, 0, data + 40);
    assert_true(verifies(portable, nonce, data, 40));
    co_auth_close(fast);
    co_auth_close(portable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_tags),
        cmocka_unit_test(every_flipped_bit_is_found),
        cmocka_unit_test(given_up),
    };
    return cmocka_run_group_tests(tests, find_build, NULL);
}
