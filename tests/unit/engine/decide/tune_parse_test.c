// SPDX-License-Identifier: BSD-3-Clause
//
// Tune table in its text form: rows, comments and ranges, every kind of malformed line named with its number, files.
#include "engine/decide/tune_table.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct co_tune_table table;
static char why[200];

static int parse(const char *text)
{
    return co_tune_table_parse(&table, text, strlen(text), why, sizeof why);
}

static void parses_rows_comments_and_open_ranges(void **state)
{
    (void)state;
    assert_int_equal(parse("# head\n\n  bcast hosts ranks 2-16 bytes 1-4096 decline # tail\r\n"
                           "iallgather\tmixed ranks 3 bytes 65536- take"),
                     0);
    assert_int_equal(table.count, 2);
    assert_int_equal(table.rows[0].call, CO_CALL_BCAST);
    assert_int_equal(table.rows[0].where, CO_TUNE_HOSTS);
    assert_int_equal(table.rows[0].ranks_min, 2);
    assert_int_equal(table.rows[0].ranks_max, 16);
    assert_int_equal(table.rows[0].bytes_max, 4096);
    assert_false(table.rows[0].take);
    assert_int_equal(table.rows[1].call, CO_CALL_IALLGATHER);
    assert_int_equal(table.rows[0].per_node_min, 1); // what is not said is any
    assert_int_equal(table.rows[0].per_node_max, INT32_MAX);
    assert_int_equal(table.rows[0].transport, CO_TRANSPORT_ANY);
    assert_int_equal(table.rows[1].where, CO_TUNE_HOSTS); // of older tables
    assert_int_equal(table.rows[1].per_node_min, 2);
    assert_int_equal(table.rows[1].per_node_max, INT32_MAX);
    assert_int_equal(table.rows[1].ranks_min, 3);
    assert_int_equal(table.rows[1].ranks_max, 3);
    assert_int_equal(table.rows[1].bytes_max, SIZE_MAX);
    assert_true(table.rows[1].take);
}

static void parses_all_dimensions_in_any_order(void **state)
{
    (void)state;
    assert_int_equal(parse("bcast hosts ranks 2-16 ranks_per_node 2-4 transport udp bytes 1-4096 decline\n"
                           "bcast hosts bytes 1-4096 transport udp ranks_per_node 2-4 ranks 2-16 decline\n"
                           "bcast node ranks 2 ranks_per_node 2- bytes 7 transport shm take\n"
                           "bcast hosts ranks 2 transport verbs bytes 7 take\n"
                           "bcast mixed ranks 4 ranks_per_node 3 transport any bytes 7 take\n"),
                     0);
    assert_int_equal(table.count, 5);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table.rows[i].ranks_max, 16);
        assert_int_equal(table.rows[i].per_node_min, 2);
        assert_int_equal(table.rows[i].per_node_max, 4);
        assert_int_equal(table.rows[i].transport, CO_TRANSPORT_UDP);
        assert_int_equal(table.rows[i].bytes_max, 4096);
    }
    assert_int_equal(table.rows[2].transport, CO_TRANSPORT_SHM);
    assert_int_equal(table.rows[2].per_node_max, INT32_MAX);
    assert_int_equal(table.rows[3].transport, CO_TRANSPORT_VERBS);
    assert_int_equal(table.rows[4].transport, CO_TRANSPORT_ANY);
    assert_int_equal(table.rows[4].per_node_min, 3);
}

static void names_line_and_cause(void **state)
{
    (void)state;
    static const struct {
        const char *row, *cause;
    } wrong[] = {
        {"gather hosts ranks 2-4 bytes 1-2 take", "gather"},
        {"bcast moon ranks 2-4 bytes 1-2 take", "moon"},
        {"bcast hosts rank 2-4 bytes 1-2 take", "ranks"},
        {"bcast hosts ranks 2-4 byte 1-2 take", "bytes"},
        {"bcast hosts ranks 4-2 bytes 1-2 take", "range of ranks"},
        {"bcast hosts ranks 0-2 bytes 1-2 take", "range of ranks"},
        {"bcast hosts ranks 2-4294967298 bytes 1-2 take", "range of ranks"},
        {"bcast hosts ranks -2 bytes 1-2 take", "range of ranks"},
        {"bcast hosts ranks 2-4 bytes 1--2 take", "range of bytes"},
        {"bcast hosts ranks 2-4 bytes 1-99999999999999999999 take", "range of bytes"},
        {"bcast hosts ranks 2-4 bytes 1K-2K take", "range of bytes"},
        {"bcast hosts ranks 2-4 bytes 1-2 maybe", "maybe"},
        {"bcast hosts ranks 2-4 ranks_per_node 0 bytes 1-2 take", "'0' is not a range of ranks per node"},
        {"bcast hosts ranks 2-4 ranks_per_node 2-1 bytes 1-2 take", "'2-1' is not a range of ranks per node"},
        {"bcast hosts ranks 2-4 ranks_per_node many bytes 1-2 take", "'many' is not a range of ranks per node"},
        {"bcast hosts ranks 2-4 ranks_per_node 5- bytes 1-2 take", "more ranks on a node than ranks"},
        {"bcast mixed ranks 2-4 ranks_per_node 1-2 bytes 1-2 take", "mixed means several ranks on a host"},
        {"bcast hosts ranks 2-4 transport ib bytes 1-2 take", "'ib' is not a transport"},
        {"bcast hosts ranks 2-4 transport shm bytes 1-2 take", "shm is no transport between hosts"},
        {"bcast node ranks 2-4 transport udp bytes 1-2 take", "the transport of a node is shm, not udp"},
        {"bcast hosts ranks 2-4 transport proxy bytes 1-2 take", "bcast is not carried by proxy"},
        {"ialltoall hosts ranks 2-4 transport udp bytes 1-2 take", "ialltoall is not carried by udp"},
        {"ialltoallv node ranks 2-4 transport shm bytes 1-2 take", "ialltoallv is not carried by shm"},
        {"bcast hosts ranks 2-4 ranks 2-4 bytes 1-2 take", "ranks stands there twice"},
        {"bcast hosts ranks 2-4 transport udp ranks_per_node 1 take", "bytes and their range are missing"},
        {"bcast hosts bytes 2-4 transport udp ranks_per_node 1 take", "ranks and their range are missing"},
        {"bcast hosts ranks 2-4 hosts 2 bytes 1-2 take", "'hosts' is not ranks, ranks_per_node"},
        {"bcast hosts ranks 2-4 transport bytes 1-2 take", "a row is"},
        {"bcast hosts ranks 2-4 ranks_per_node 1 transport udp bytes 1-2 bytes 1-2 take", "a row is"},
        {"bcast_init hosts ranks 2-4 bytes 1-2 take", "'bcast_init' is no call"}, // goes by the rows of ibcast
        {"bcast hosts ranks 2-4 bytes 1-2", "a row is"},
        {"bcast hosts ranks 2-4 bytes 1-2 take it", "a row is"},
        {"bcast hosts ranks 2-4 bytes 1-2 take it all", "'take' is not ranks"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char text[200];
        snprintf(text, sizeof text, "# one\nbcast node ranks 2 bytes 1 take\n%s\n", wrong[i].row);
        table.count = 77;
        assert_int_equal(parse(text), -EINVAL);
        assert_int_equal(table.count, 77); // a failed parse changes nothing
        assert_non_null(strstr(why, "line 3"));
        assert_non_null(strstr(why, wrong[i].cause));
    }
}

static void foreign_bytes_do_not_reach_the_message(void **state)
{
    (void)state;
    const char text[] = "\x1b[31mred\0 hosts ranks 2 bytes 1 take";
    assert_int_equal(co_tune_table_parse(&table, text, sizeof text - 1, why, sizeof why), -EINVAL);
    assert_null(strchr(why, '\x1b'));
}

static void bounds_the_number_of_rows(void **state)
{
    (void)state;
    static const char row[] = "bcast node ranks 2 bytes 1 take\n";
    size_t bytes = sizeof row - 1;
    char *text = malloc(bytes * (CO_TUNE_ROWS_MAX + 1));
    for (size_t i = 0; i <= CO_TUNE_ROWS_MAX; i++) {
        memcpy(text + i * bytes, row, bytes);
    }
    assert_int_equal(co_tune_table_parse(&table, text, bytes * CO_TUNE_ROWS_MAX, why, sizeof why), 0);
    assert_int_equal(table.count, CO_TUNE_ROWS_MAX);
    assert_int_equal(co_tune_table_parse(&table, text, bytes * (CO_TUNE_ROWS_MAX + 1), why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, "rows"));
    free(text);
}

static void loads_files_and_names_those_it_cannot(void **state)
{
    (void)state;
    char path[] = "/tmp/castoff-tune-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static const char row[] = "bcast node ranks 2 bytes 1 take\nnonsense\n";
    assert_int_equal(write(fd, row, sizeof row - 1), sizeof row - 1);
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), -EINVAL);
    assert_non_null(strstr(why, path));
    assert_non_null(strstr(why, "line 2"));
    assert_int_equal(ftruncate(fd, 32), 0);
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), 0);
    assert_int_equal(table.count, 1);
    assert_int_equal(ftruncate(fd, 1 << 20), 0); // too large is refused, not cut
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), -EFBIG);
    close(fd);
    unlink(path);
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), -ENOENT);
    assert_int_equal(co_tune_table_load(&table, "/tmp", why, sizeof why), -EISDIR);
    assert_int_equal(mkfifo(path, 0600), 0); // no empty table
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), -ESPIPE);
    assert_non_null(strstr(why, ": a pipe, no file"));
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_all_dimensions_in_any_order),
        cmocka_unit_test(parses_rows_comments_and_open_ranges),
        cmocka_unit_test(names_line_and_cause),
        cmocka_unit_test(foreign_bytes_do_not_reach_the_message),
        cmocka_unit_test(bounds_the_number_of_rows),
        cmocka_unit_test(loads_files_and_names_those_it_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
