// SPDX-License-Identifier: BSD-3-Clause
//
// Digests: pieces do not matter, order of lines is told apart from other content.
#include "tools/ab/digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct co_digest of(const char *text, size_t piece)
{
    struct co_digest digest;
    size_t bytes = strlen(text);
    co_digest_start(&digest);
    for (size_t at = 0; at < bytes; at += piece) {
        co_digest_add(&digest, text + at, bytes - at < piece ? bytes - at : piece);
    }
    co_digest_end(&digest);
    return digest;
}

static enum co_digest_match compare(const char *a, const char *b)
{
    struct co_digest first = of(a, 1), second = of(b, 7);
    return co_digest_compare(&first, &second);
}

static void tells_outputs_apart(void **state)
{
    (void)state;
    assert_int_equal(compare("", ""), CO_DIGEST_SAME);
    assert_int_equal(compare("rank 0\nrank 1\n", "rank 0\nrank 1\n"), CO_DIGEST_SAME);
    assert_int_equal(compare("rank 0\nrank 1\n", "rank 1\nrank 0\n"), CO_DIGEST_SAME_LINES);
    assert_int_equal(compare("rank 0\nrank 1\n", "rank 1\nrank 1\n"), CO_DIGEST_DIFFERENT);
    assert_int_equal(compare("rank 0\n", "rank 0\n\n"), CO_DIGEST_DIFFERENT);
    assert_int_equal(compare("ab\ncd\n", "ac\nbd\n"), CO_DIGEST_DIFFERENT);
    assert_int_equal(compare("no newline", "no newline"), CO_DIGEST_SAME);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tells_outputs_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
