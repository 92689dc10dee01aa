// SPDX-License-Identifier: BSD-3-Clause
//
// The kernel's table of multicast memberships: groups of castoff's range by interface, and no others.
#include "tools/info/info_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

// As a little-endian kernel writes them.
static const char table[] = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n"
                            "1\tlo        :     1      V3\n"
                            "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
                            "2\teth0      :     4      V3\n"
                            "\t\t\t\t0504C0EF     1 0:00000000\t\t0\n" // 239.192.4.5
                            "\t\t\t\t0404C0EF     2 0:00000000\t\t0\n" // 239.192.4.4
                            "\t\t\t\tFB0000E0     1 0:00000000\t\t0\n" // 224.0.0.251
                            "\t\t\t\t010000E0     1 0:00000000\t\t0\n"
                            "3\teth1.100:     1      V2\n"
                            "\t\t\t\t0104C1EF     1 0:00000000\t\t0\n" // 239.193.4.1
                            "9\tvery-long-name:     1      V3\n"
                            "\t\t\t\tFFFFC0EF     1 0:00000000\t\t0\n"; // 239.192.255.255

static int read_table(const char *text, const char *range_text, struct co_groups_joined *joined, int room)
{
    struct co_multicast_range range;
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    assert_int_equal(co_multicast_range_parse(range_text, &range), 0);
    int count = co_groups_read(file, &range, joined, room);
    fclose(file);
    return count;
}

static void groups_of_the_range_are_counted(void **state)
{
    struct co_groups_joined joined[4];
    (void)state;
    assert_int_equal(read_table(table, "239.192.0.0/16", joined, 4), 2);
    assert_string_equal(joined[0].interface, "eth0");
    assert_int_equal(joined[0].first_ip, 0xefc00404);
    assert_int_equal(joined[0].count, 2);
    assert_string_equal(joined[1].interface, "very-long-name");
    assert_int_equal(joined[1].first_ip, 0xefc0ffff);
    assert_int_equal(joined[1].count, 1);
}

static void another_range_has_others(void **state)
{
    struct co_groups_joined joined[4];
    (void)state;
    assert_int_equal(read_table(table, "239.193.0.0/16", joined, 4), 1);
    assert_string_equal(joined[0].interface, "eth1.100");
    assert_int_equal(read_table(table, "224.0.0.251/32", joined, 4), 1);
    assert_int_equal(joined[0].count, 1);
    assert_int_equal(read_table(table, "239.194.0.0/16", joined, 4), 0);
}

static void no_more_than_there_is_room_for(void **state)
{
    struct co_groups_joined joined[1];
    (void)state;
    assert_int_equal(read_table(table, "224.0.0.0/4", joined, 1), 1);
    assert_string_equal(joined[0].interface, "lo");
    assert_int_equal(joined[0].count, 1);
}

static void no_table_has_no_groups(void **state)
{
    struct co_groups_joined joined[1];
    (void)state;
    assert_int_equal(read_table("\t\t\t\t0504C0EF     1 0:0\t\t0\n2\n\n\t\n", "239.192.0.0/16", joined, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_the_range_are_counted),
        cmocka_unit_test(another_range_has_others),
        cmocka_unit_test(no_more_than_there_is_room_for),
        cmocka_unit_test(no_table_has_no_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
