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

#include "base/plain_json.h"
#include "base/plain_text.h"

// As text of several lines; as a name, in which a new line and a tab are as odd as the rest; and how long that is.
static void expect_both(const char *text, const char *wanted, const char *wanted_line)
{
    char *shown = NULL, line[64];
    size_t bytes = 0;
    FILE *stream = open_memstream(&shown, &bytes);
    assert_non_null(stream);
    co_plain_put_lines(stream, text);
    fputc('|', stream);
    assert_int_equal(co_plain_put(stream, text), strlen(wanted_line));
    fclose(stream);
    assert_int_equal(strncmp(shown, wanted, strlen(wanted)), 0);
    assert_int_equal(shown[strlen(wanted)], '|');
    assert_string_equal(shown + strlen(wanted) + 1, wanted_line);
    assert_int_equal(co_plain_put(NULL, text), strlen(wanted_line));
    assert_string_equal(co_plain_line(line, sizeof line, text), wanted_line);
    free(shown);
}

static void expect(const char *text, const char *wanted)
{
    expect_both(text, wanted, wanted);
}

static void what_can_be_read_stays(void **state)
{
    (void)state;
    expect_both("app-0001.txt: at byte 5\n\tand on", "app-0001.txt: at byte 5\n\tand on",
                "app-0001.txt: at byte 5\\x0a\\x09and on");
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

// What does not fit is not cut in the middle, where it would be something else.
static void a_line_ends_between_characters(void **state)
{
    char line[8];
    (void)state;
    assert_string_equal(co_plain_line(line, sizeof line, "1234567"), "1234567");
    assert_string_equal(co_plain_line(line, sizeof line, "12345678"), "1234567");
    assert_string_equal(co_plain_line(line, sizeof line, "12345\xe6\x96\x87"), "12345");
    assert_string_equal(co_plain_line(line, sizeof line, "1234\xe6\x96\x87x"), "1234\xe6\x96\x87");
    assert_string_equal(co_plain_line(line, sizeof line, "1234\x1b[2J"), "1234");
    assert_string_equal(co_plain_line(line, 1, "1"), "");
}

// In JSON all of it is a string, whatever it was.
static void json_has_a_string_for_any_text(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"one\ntwo\t\"", "\"one\\ntwo\\t\\\"\""},
        {"\x1b[2J\x7f\xc2\x9b\x9b\xc3", "\"\\\\x1b[2J\\\\x7f\\\\xc2\\\\x9b\\\\x9b\\\\xc3\""},
        {"\xe6\x96\x87", "\"\xe6\x96\x87\""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *string = co_plain_json(texts[i][0]);
        char *written = json_dumps(string, JSON_ENCODE_ANY);
        assert_string_equal(written, texts[i][1]);
        free(written);
        json_decref(string);
    }
}

static void blanks_are_as_good_as_tabs(void **state)
{
    (void)state;
    assert_true(co_plain_begins("MPICH Version:\t4.0.2", "MPICH Version: 4"));
    assert_true(co_plain_begins("MPICH Version:      4.2.1", "MPICH Version: 4"));
    assert_true(co_plain_begins("Open MPI v5.0.7", "Open MPI v5.0"));
    assert_false(co_plain_begins("MPICH Version:4", "MPICH Version: 4"));
    assert_false(co_plain_begins("MPICH Version: 3", "MPICH Version: 4"));
    assert_false(co_plain_begins("MPICH ", "MPICH Version"));
    assert_false(co_plain_begins("Open  MPIv4.1", "Open MPI v4.1"));
    assert_true(co_plain_begins("", ""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_be_read_stays),         cmocka_unit_test(what_steers_a_terminal_is_shown),
        cmocka_unit_test(what_is_no_character_is_shown),  cmocka_unit_test(a_line_ends_between_characters),
        cmocka_unit_test(json_has_a_string_for_any_text), cmocka_unit_test(blanks_are_as_good_as_tabs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
