// SPDX-License-Identifier: BSD-3-Clause
//
// Tune table: printing and reading again, the hash, and the rows built into the release.
#include "engine/decide/tune_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct co_tune_table table;
static char why[200];

static int parse(const char *text)
{
    return co_tune_table_parse(&table, text, strlen(text), why, sizeof why);
}

static void prints_what_it_parses(void **state)
{
    (void)state;
    const char *text = "bcast node ranks 2-2 bytes 1-512 decline\n"
                       "allgather hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1048576- take\n"
                       "iallgather hosts ranks 4-9 ranks_per_node 2- transport verbs bytes 1-9 take\n"
                       "bcast node ranks 2- ranks_per_node 2-4 transport shm bytes 1-9 decline\n";
    char printed[400], cut[20];
    assert_int_equal(parse(text), 0);
    co_tune_table_print(&table, printed, sizeof printed);
    assert_string_equal(printed, text);
    co_tune_table_print(&table, cut, sizeof cut); // short of room: cut, not overrun
    assert_int_equal(strlen(cut), sizeof cut - 1);
    table.count = 0;
    co_tune_table_print(&table, printed, sizeof printed);
    assert_string_equal(printed, "");
}

static void the_longest_row_has_room(void **state)
{
    (void)state;
    char printed[2 * CO_TUNE_ROW_TEXT_MAX];
    assert_int_equal(
        parse("iallgather hosts ranks 2147483646-2147483646 ranks_per_node 2147483646-2147483646 transport "
              "verbs bytes 18446744073709551614-18446744073709551614 decline"),
        0);
    co_tune_table_print(&table, printed, sizeof printed);
    assert_int_equal(printed[strlen(printed) - 1], '\n');
    assert_true(strlen(printed) <= CO_TUNE_ROW_TEXT_MAX);
}

static void the_head_is_comments(void **state)
{
    (void)state;
    assert_int_equal(parse(co_tune_table_head), 0);
    assert_int_equal(table.count, 0);
}

static void hash_sees_every_field(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "bcast node ranks 2-4 bytes 1-2 take",
        "allgather node ranks 2-4 bytes 1-2 take",
        "bcast hosts ranks 2-4 bytes 1-2 take",
        "bcast node ranks 3-4 bytes 1-2 take",
        "bcast node ranks 2-5 bytes 1-2 take",
        "bcast node ranks 2-4 bytes 2-2 take",
        "bcast node ranks 2-4 bytes 1-3 take",
        "bcast node ranks 2-4 bytes 1-2 decline",
        "bcast node ranks 2-4 ranks_per_node 2- bytes 1-2 take",
        "bcast node ranks 2-4 ranks_per_node 1-4 bytes 1-2 take",
        "bcast node ranks 2-4 transport shm bytes 1-2 take",
        "bcast hosts ranks 2-4 transport udp bytes 1-2 take",
        "bcast hosts ranks 2-4 transport verbs bytes 1-2 take",
        "# nothing",
    };
    enum { COUNT = sizeof rows / sizeof *rows };
    uint64_t hashes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(parse(rows[i]), 0);
        hashes[i] = co_tune_table_hash(&table);
        for (int j = 0; j < i; j++) {
            assert_true(hashes[i] != hashes[j]);
        }
    }
    assert_int_equal(parse("bcast  node ranks 2-4 bytes 1-2 take # same\n"), 0);
    assert_true(co_tune_table_hash(&table) == hashes[0]);
    // Ranks of one job may have built castoff on different hosts: the same table is the same number everywhere.
    assert_int_equal(parse("bcast hosts ranks 2-8 ranks_per_node 1 transport udp bytes 1-256 decline\n"), 0);
    assert_true(co_tune_table_hash(&table) == UINT64_C(0x8497b199ad144790));
}

static void built_in_text_parses(void **state)
{
    (void)state;
    static const char text[] =
#include "engine/decide/tune_built_in.h"
        ;
    struct co_tune_table built_in;
    assert_int_equal(parse(text), 0);
    co_tune_table_built_in(&built_in);
    assert_int_equal(built_in.count, table.count);
    assert_true(co_tune_table_hash(&built_in) == co_tune_table_hash(&table));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_what_it_parses), cmocka_unit_test(the_longest_row_has_room),
        cmocka_unit_test(the_head_is_comments),  cmocka_unit_test(hash_sees_every_field),
        cmocka_unit_test(built_in_text_parses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
