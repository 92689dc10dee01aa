// SPDX-License-Identifier: BSD-3-Clause
//
// First words between a proxy and the processes of its node; see the header.
#include "offload/offload_hello.h"

#include <errno.h>
#include <string.h>

#include "offload/little_endian.h"

#define HELLO_MAGIC UINT64_C(0x316c656866747363)   // "cstfhel1"
#define WELCOME_MAGIC UINT64_C(0x316c657766747363) // "cstfwel1"
#define ERRNO_MAX 4095

void co_offload_hello_encode(uint8_t out[CO_OFFLOAD_HELLO_BYTES], const struct co_offload_hello *hello)
{
    co_little_endian_put(out, HELLO_MAGIC, 8);
    co_little_endian_put(out + 8, hello->kind, 4);
    co_little_endian_put(out + 12, hello->rank, 4);
    memcpy(out + 16, hello->key, CO_OFFLOAD_KEY_BYTES);
    co_little_endian_put(out + 48, hello->probe_address, 8);
    co_little_endian_put(out + 56, hello->probe_word, 8);
}

int co_offload_hello_decode(struct co_offload_hello *out, const uint8_t bytes[CO_OFFLOAD_HELLO_BYTES])
{
    static const uint8_t zeros[CO_OFFLOAD_HELLO_BYTES];
    struct co_offload_hello hello = {.kind = (uint32_t)co_little_endian_get(bytes + 8, 4),
                                     .rank = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                     .probe_address = co_little_endian_get(bytes + 48, 8),
                                     .probe_word = co_little_endian_get(bytes + 56, 8)};

    memcpy(hello.key, bytes + 16, CO_OFFLOAD_KEY_BYTES);
    if (co_little_endian_get(bytes, 8) != HELLO_MAGIC ||
        (hello.kind != CO_OFFLOAD_HELLO_JOIN && hello.kind != CO_OFFLOAD_HELLO_STATUS) ||
        (hello.kind == CO_OFFLOAD_HELLO_STATUS && memcmp(bytes + 12, zeros, CO_OFFLOAD_HELLO_BYTES - 12) != 0)) {
        return -EPROTO;
    }
    *out = hello;
    return 0;
}

void co_offload_welcome_encode(uint8_t out[CO_OFFLOAD_WELCOME_BYTES], const struct co_offload_welcome *welcome)
{
    memset(out, 0, CO_OFFLOAD_WELCOME_BYTES);
    co_little_endian_put(out, WELCOME_MAGIC, 8);
    co_little_endian_put(out + 8, welcome->error, 4);
    co_little_endian_put(out + 12, welcome->lend, 4);
    co_little_endian_put(out + 16, welcome->groups_max, 4);
    co_little_endian_put(out + 20, welcome->ends_max, 4);
}

int co_offload_welcome_decode(struct co_offload_welcome *out, const uint8_t bytes[CO_OFFLOAD_WELCOME_BYTES])
{
    struct co_offload_welcome welcome = {.error = (uint32_t)co_little_endian_get(bytes + 8, 4),
                                         .lend = (uint32_t)co_little_endian_get(bytes + 12, 4),
                                         .groups_max = (uint32_t)co_little_endian_get(bytes + 16, 4),
                                         .ends_max = (uint32_t)co_little_endian_get(bytes + 20, 4)};

    if (co_little_endian_get(bytes, 8) != WELCOME_MAGIC || co_little_endian_get(bytes + 24, 8) != 0 ||
        welcome.error > ERRNO_MAX || welcome.lend >= CO_OFFLOAD_LENDS ||
        (welcome.error == 0 && (welcome.groups_max == 0 || welcome.ends_max == 0))) {
        return -EPROTO;
    }
    *out = welcome;
    return 0;
}
