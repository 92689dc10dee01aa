// SPDX-License-Identifier: BSD-3-Clause
//
// What a terminal gets to see of text that others wrote.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/plain_text.h"

static void expect(const char *text, const char *wanted)
{
    char *shown = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&shown, &bytes);
    assert_non_null(stream);
    co_plain_put(stream, text);
    fclose(stream);
    assert_string_equal(shown, wanted);
    free(shown);
}

static void what_can_be_read_stays(void **state)
{
    (void)state;
    expect("app-0001.txt: at byte 5\n\tand on", "app-0001.txt: at byte 5\n\tand on");
    expect("\xc3\xa9 \xe6\x96\x87 \xf0\x9f\x98\x80", "\xc3\xa9 \xe6\x96\x87 \xf0\x9f\x98\x80");
}

static void what_steers_a_terminal_is_shown(void **state)
{
    (void)state;
    expect("\x1b[2Ja\x07\r\x7f", "\\x1b[2Ja\\x07\\x0d\\x7f");
    expect("\xc2\x9b"
           "31m",
           "\\xc2\\x9b31m"); // C1 as UTF-8
    expect("\x9b"
           "31m",
           "\\x9b31m"); // and as a byte
}

static void what_is_no_character_is_shown(void **state)
{
    (void)state;
    expect("\xc3", "\\xc3");
    expect("\xe6\x96", "\\xe6\\x96");
    expect("\xc0\xaf", "\\xc0\\xaf");                   // too long for what it says
    expect("\xe0\x82\x9b", "\\xe0\\x82\\x9b");          // C1 in disguise
    expect("\xed\xa0\x80", "\\xed\\xa0\\x80");          // a surrogate
    expect("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); // beyond the last
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_read_stays),
        cmocka_unit_test(what_steers_a_terminal_is_shown),
        cmocka_unit_test(what_is_no_character_is_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
