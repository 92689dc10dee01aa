// SPDX-License-Identifier: BSD-3-Clause
//
// Pages are zeroed, also when others were given back before, and none is touched before it is used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory/zeroed_pages.h"

enum { BYTES = 4 << 20 };

static void zeroed_and_untouched(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = BYTES / page;
    unsigned char *resident = malloc(pages);
    assert_non_null(resident);
    for (int round = 0; round < 3; round++) {
        unsigned char *memory = co_zeroed_pages_take(BYTES);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % page, 0);
        assert_int_equal(mincore(memory, BYTES, resident), 0);
        for (size_t i = 0; i < pages; i++) {
            assert_false(resident[i] & 1);
        }
        for (size_t i = 0; i < BYTES; i += page / 2) {
            assert_int_equal(memory[i], 0);
        }
        memset(memory, 0xff, BYTES);
        co_zeroed_pages_give(memory, BYTES);
    }
    co_zeroed_pages_give(NULL, BYTES);
    free(resident);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(zeroed_and_untouched)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
