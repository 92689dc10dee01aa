// SPDX-License-Identifier: BSD-3-Clause
//
// Copies past the cache: every alignment of both ends, lengths around lines, and not a byte beyond.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "shm/shm_team.h"

#define ROOM 1024

static void every_alignment_and_length(void **state)
{
    static char from[ROOM], to[ROOM], expected[ROOM];
    static const size_t lengths[] = {0, 1, 15, 16, 63, 64, 65, 127, 128, 129, 191, 192, 300, 640};

    (void)state;
    for (size_t i = 0; i < ROOM; i++) {
        from[i] = (char)(i * 7 + 1);
    }
    for (size_t there = 0; there < 2 * CO_CACHE_LINE; there++) {
        for (size_t here = 0; here < CO_CACHE_LINE; here += 5) {
            for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
                memset(to, 0x55, ROOM);
                memset(expected, 0x55, ROOM);
                memcpy(expected + there, from + here, lengths[i]);
                co_shm_copy_nontemporal(to + there, from + here, lengths[i]);
                assert_memory_equal(to, expected, ROOM);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_alignment_and_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
