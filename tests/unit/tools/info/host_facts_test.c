// SPDX-License-Identifier: BSD-3-Clause
//
// What a host says of itself: a line that reads back as it was, whatever its names are, and lines that are none.
#include "tools/info/host_facts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/settings.h"

// To be freed.
static char *printed(const struct co_host_facts *facts)
{
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    assert_int_equal(co_host_facts_print(stream, facts), 0);
    fclose(stream);
    return text;
}

static void a_line_reads_back(void **state)
{
    struct co_host_facts facts = {.version = "0.2.0 0964134 of 2026-11-26",
                                  .has_library = true,
                                  .has_multicast = true,
                                  .why = "",
                                  .interface = "eth0",
                                  .bridge = "br\"0",
                                  .mtu = 9000,
                                  .reverse_path = 1,
                                  .receive_bytes = 212992,
                                  .wanted_bytes = 4194304,
                                  .overflows = INT64_C(12345678901),
                                  .rank = 3,
                                  .ip = 0xf0000001,
                                  .port = 40000},
                         read;
    (void)state;
    memset(facts.host, 'h', sizeof facts.host - 1);
    char *line = printed(&facts);
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    assert_true(co_host_facts_parse(&read, line));
    assert_string_equal(read.host, facts.host);
    assert_string_equal(read.version, facts.version);
    assert_string_equal(read.interface, facts.interface);
    assert_string_equal(read.bridge, facts.bridge);
    assert_true(read.has_library && read.has_multicast);
    assert_int_equal(read.mtu, 9000);
    assert_int_equal(read.reverse_path, 1);
    assert_int_equal(read.receive_bytes, 212992);
    assert_int_equal(read.wanted_bytes, 4194304);
    assert_int_equal(read.overflows, INT64_C(12345678901));
    assert_true(read.rank == 3 && read.ip == 0xf0000001 && read.port == 40000);
    free(line);
}

static void what_is_cut_off_or_another_line_is_none(void **state)
{
    struct co_host_facts facts = {.host = "h0", .version = "1"}, read;
    (void)state;
    char *line = printed(&facts);
    assert_true(co_host_facts_parse(&read, line));
    for (size_t length = 0; length + 2 < strlen(line); length++) {
        char *part = strndup(line, length);
        assert_false(co_host_facts_parse(&read, part));
        free(part);
    }
    free(line);
    assert_false(co_host_facts_parse(&read, "Warning: Permanently added 'h1' to the list of known hosts."));
    assert_false(co_host_facts_parse(&read, "{}"));
    assert_false(co_host_facts_parse(&read, "[1]"));
    assert_false(co_host_facts_parse(&read, "{\"castoff_facts\":2,\"host\":\"h0\"}"));
    assert_false(co_host_facts_parse(&read, "{\"castoff_facts\":1,\"host\":7}"));
}

static void this_host_says_something(void **state)
{
    struct co_host_facts facts, read;
    (void)state;
    co_settings_load();
    co_host_facts_find(&facts, 0);
    assert_true(facts.host[0] != '\0' && facts.version[0] != '\0');
    assert_true(facts.has_multicast ? facts.interface[0] != '\0' && facts.mtu > 0 && facts.receive_bytes > 0
                                    : facts.why[0] != '\0');
    assert_int_equal(facts.wanted_bytes, co_setting_number(CO_SET_UDP_RCVBUF));
    char *line = printed(&facts);
    assert_true(co_host_facts_parse(&read, line));
    free(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_reads_back),
        cmocka_unit_test(what_is_cut_off_or_another_line_is_none),
        cmocka_unit_test(this_host_says_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
