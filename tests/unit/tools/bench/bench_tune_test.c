// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of the tune table made from measured points: which sizes are declined, for which places, what becomes of older
// rows, and the file.
#include "tools/bench/bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct co_bench_results results;
static struct co_tune_table table;
static char text[4000];

static int clear(void **state)
{
    (void)state;
    co_bench_results_release(&results);
    table.count = 0;
    return 0;
}

static void add_side(const char *call, size_t bytes, int ranks, const char *side, double ns, double spread)
{
    char line[1000];
    int used = snprintf(line, sizeof line, "row %s %zu 1 %s 0 12", call, bytes, side);
    for (int i = 0; i < 12; i++) {
        used += snprintf(line + used, sizeof line - (size_t)used, " %.2f", ns * (i % 2 ? 1 + spread : 1 - spread));
    }
    assert_int_equal(co_bench_results_take(&results, line, "default", ranks), 0);
}

// A point at which stock takes `stock_ns` and castoff 100, with an interval of the ratio of +- spread.
static void add(const char *call, size_t bytes, int ranks, double stock_ns, double spread)
{
    add_side(call, bytes, ranks, "castoff", 100, 0);
    add_side(call, bytes, ranks, "stock", stock_ns, spread);
}

static void run_at(const char *place)
{
    assert_int_equal(co_bench_results_take(&results, place, "default", 2), 0);
}

static int tune(const char *before)
{
    char why[200];
    assert_int_equal(co_bench_results_judge(&results, false), 0);
    assert_int_equal(co_tune_table_parse(&table, before, strlen(before), why, sizeof why), 0);
    int made = co_bench_tune_make(&table, &results);
    co_tune_table_print(&table, text, sizeof text);
    return made;
}

static void declines_where_stock_wins(void **state)
{
    (void)state;
    static const size_t sizes[] = {8, 64, 512, 4096, 32768, 262144};
    static const double stock[] = {50, 96, 98, 150, 90, 80};
    for (int ranks = 2; ranks <= 4; ranks += 2) {
        run_at(ranks == 2 ? "place 1 2" : "place 1 4");
        for (int i = 0; i < 6; i++) {
            add("bcast", sizes[i], ranks, ranks == 4 ? 200 : stock[i], 0.001);
        }
    }
    assert_int_equal(tune(""), 3);
    // 98 of 100 at 512 B is a certain loss too; 4 ranks never lost.
    assert_string_equal(text, "bcast node ranks 2-3 ranks_per_node 2-3 transport shm bytes 1-4095 decline\n"
                              "bcast node ranks 2-3 ranks_per_node 2-3 transport shm bytes 32768- decline\n"
                              "bcast node ranks 2- ranks_per_node 2- transport shm bytes 1- take\n");
}

static void one_doubtful_size_splits_nothing(void **state)
{
    (void)state;
    run_at("place 8 1");
    add("bcast", 8, 8, 200, 0.01);
    add("bcast", 16, 8, 90, 0.2); // the middle is a loss, the interval holds 1
    add("bcast", 32, 8, 200, 0.01);
    add("bcast", 64, 8, 99.8, 0.001); // clear of 1, but nothing that matters
    assert_int_equal(tune(""), 1);
    assert_string_equal(text, "bcast hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1- take\n");
}

static void too_few_pairs_decline_nothing(void **state)
{
    (void)state;
    run_at("place 8 1");
    assert_int_equal(co_bench_results_take(&results, "row bcast 8 1 castoff 0 3 100 100 100", "default", 8), 0);
    assert_int_equal(co_bench_results_take(&results, "row bcast 8 1 stock 0 3 50 50 50", "default", 8), 0);
    assert_int_equal(tune(""), 1);
    assert_non_null(strstr(text, " take\n"));
}

static void doubtful_neighbours_join_a_loss(void **state)
{
    (void)state;
    run_at("place 8 1");
    add("allgather", 8, 8, 100, 0.2); // unsure at the edge
    add("allgather", 16, 8, 90, 0.2); // suspect, beside a loss
    add("allgather", 32, 8, 80, 0.01);
    add("allgather", 64, 8, 103, 0.2); // unsure between two losses
    add("allgather", 128, 8, 90, 0.2);
    add("allgather", 256, 8, 80, 0.01);
    add("allgather", 512, 8, 100, 0.2);
    add("allgather", 1024, 8, 90, 0.2); // suspect, beside nothing
    add("allgather", 2048, 8, 150, 0.01);
    add("allgather", 4096, 8, 80, 0.01); // a gain in between keeps losses apart
    assert_int_equal(tune(""), 3);
    assert_string_equal(text, "allgather hosts ranks 2- ranks_per_node 1-1 transport udp bytes 16-511 decline\n"
                              "allgather hosts ranks 2- ranks_per_node 1-1 transport udp bytes 4096- decline\n"
                              "allgather hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1- take\n");
}

static void equal_ranges_of_more_ranks_are_one_row(void **state)
{
    (void)state;
    static const double stock[] = {50, 50, 200, 50};
    for (int i = 0; i < 4; i++) {
        char place[32];
        int ranks = 2 << i;
        snprintf(place, sizeof place, "place %d 2", ranks / 2 + 1);
        run_at(place);
        add("bcast", 8, ranks, stock[i], 0.01);
        add("bcast", 64, ranks, 200, 0.01);
    }
    assert_int_equal(tune(""), 3);
    assert_string_equal(text, "bcast hosts ranks 2-7 ranks_per_node 2-2 transport udp bytes 1-63 decline\n"
                              "bcast hosts ranks 16- ranks_per_node 2-2 transport udp bytes 1-63 decline\n"
                              "bcast hosts ranks 2- ranks_per_node 2-2 transport udp bytes 1- take\n");
}

static void other_places_keep_their_rows(void **state)
{
    (void)state;
    run_at("place 4 2");
    add("bcast", 8, 8, 200, 0.01);
    assert_int_equal(tune("allgather hosts ranks 2- ranks_per_node 2 transport udp bytes 1- decline\n"
                          "bcast node ranks 2- bytes 1- decline\n"
                          "bcast hosts ranks 2- ranks_per_node 2 transport udp bytes 1-9 decline\n"
                          "bcast hosts ranks 2- ranks_per_node 1 transport udp bytes 1- decline\n"
                          "bcast hosts ranks 2- ranks_per_node 2 transport verbs bytes 1- decline\n"
                          "bcast hosts ranks 2- bytes 1- decline\n"),
                     1);
    // The measured row stands before those that would fit as well.
    assert_string_equal(text, "bcast hosts ranks 2- ranks_per_node 2-2 transport udp bytes 1- take\n"
                              "allgather hosts ranks 2- ranks_per_node 2-2 transport udp bytes 1- decline\n"
                              "bcast node ranks 2- bytes 1- decline\n"
                              "bcast hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1- decline\n"
                              "bcast hosts ranks 2- ranks_per_node 2-2 transport verbs bytes 1- decline\n"
                              "bcast hosts ranks 2- bytes 1- decline\n");
}

static void places_of_one_run_have_rows_each(void **state)
{
    (void)state;
    run_at("place 2 1");
    add("bcast", 8, 2, 50, 0.01);
    run_at("place 2 2");
    add("bcast", 8, 4, 50, 0.01);
    run_at("place 1 3");
    add("bcast", 8, 3, 50, 0.01);
    assert_int_equal(tune("bcast node ranks 2- bytes 1- take\n"), 6);
    assert_string_equal(text, "bcast node ranks 2- ranks_per_node 2- transport shm bytes 1- decline\n"
                              "bcast node ranks 2- ranks_per_node 2- transport shm bytes 1- take\n"
                              "bcast hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1- decline\n"
                              "bcast hosts ranks 2- ranks_per_node 1-1 transport udp bytes 1- take\n"
                              "bcast hosts ranks 2- ranks_per_node 2-2 transport udp bytes 1- decline\n"
                              "bcast hosts ranks 2- ranks_per_node 2-2 transport udp bytes 1- take\n");
}

static void without_a_place_there_are_no_rows(void **state)
{
    (void)state;
    results.place = (struct co_bench_place){0};
    add("bcast", 8, 2, 50, 0.01);
    assert_int_equal(tune("bcast node ranks 2- bytes 1- take\n"), -ENODATA);
    assert_string_equal(text, "bcast node ranks 2- bytes 1- take\n"); // what was there stays
}

static void too_many_rows_are_refused(void **state)
{
    (void)state;
    static const char row[] = "iallgather node ranks 2 bytes 1 take\n";
    static char before[CO_TUNE_ROWS_MAX * sizeof row];
    for (size_t i = 0; i < CO_TUNE_ROWS_MAX; i++) {
        memcpy(before + i * (sizeof row - 1), row, sizeof row); // the next one overwrites its end
    }
    run_at("place 1 2");
    add("bcast", 8, 2, 50, 0.01);
    assert_int_equal(tune(before), -E2BIG);
    assert_int_equal(table.count, CO_TUNE_ROWS_MAX);
}

static void read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
}

static int count(const char *what)
{
    int found = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) {
        found++;
    }
    return found;
}

static void the_file_says_where_its_rows_are_from(void **state)
{
    (void)state;
    char folder[] = "/tmp/castoff-tune-XXXXXX", path[64], why[200];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/table", folder);
    assert_int_equal(co_bench_tune_check(path, why, sizeof why), 0);
    assert_int_equal(access(path, F_OK), -1); // tried, not left behind
    run_at("place 4 2");
    add("bcast", 8, 8, 50, 0.01);
    assert_int_equal(co_bench_results_judge(&results, false), 0);
    assert_int_equal(co_bench_tune_write(&results, path, "castoff bench\nbcast node", why, sizeof why), 0);
    read_file(path);
    assert_int_equal(count("\n# command: castoff bench\\x0abcast node\n"), 1);
    assert_int_equal(count("\n# measured 20"), 1);
    assert_int_equal(count(" cores, "), 1);
    assert_int_equal(count(co_tune_table_head), 1);
    assert_int_equal(count("of an earlier table"), 0);
    // The same again leaves nothing of the first; another place keeps it, with its origin.
    assert_int_equal(co_bench_tune_write(&results, path, "second", why, sizeof why), 0);
    read_file(path);
    assert_int_equal(count("# command: "), 1);
    results.points[0].place.ranks_per_node = 3;
    assert_int_equal(co_bench_tune_write(&results, path, "third", why, sizeof why), 0);
    read_file(path);
    assert_int_equal(count("of an earlier table"), 1);
    assert_int_equal(count("# measured 20"), 2);
    assert_true(strstr(text, "# command: third\n") < strstr(text, "# command: second\n"));
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), 0);
    assert_int_equal(table.count, 4);
    // A comment of a table that others wrote stays a comment, and steers no terminal.
    FILE *file = fopen(path, "w");
    static const char odd[] = "# command: \x1b[2J\x9b\0more\nallgather node ranks 2- bytes 1- take\n";
    assert_int_equal(fwrite(odd, 1, sizeof odd - 1, file), sizeof odd - 1);
    fclose(file);
    assert_int_equal(co_bench_tune_write(&results, path, "third", why, sizeof why), 0);
    read_file(path);
    assert_int_equal(count("# command: \\x1b[2J\\x9b\nallgather node "), 1);
    unlink(path);
    rmdir(folder);
    assert_int_equal(co_bench_tune_check(path, why, sizeof why), -ENOENT);
    assert_non_null(strstr(why, path));
    assert_int_equal(co_bench_tune_write(&results, path, "fourth", why, sizeof why), -ENOENT);
    assert_non_null(strstr(why, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(declines_where_stock_wins, clear),
        cmocka_unit_test_teardown(one_doubtful_size_splits_nothing, clear),
        cmocka_unit_test_teardown(too_few_pairs_decline_nothing, clear),
        cmocka_unit_test_teardown(doubtful_neighbours_join_a_loss, clear),
        cmocka_unit_test_teardown(equal_ranges_of_more_ranks_are_one_row, clear),
        cmocka_unit_test_teardown(other_places_keep_their_rows, clear),
        cmocka_unit_test_teardown(places_of_one_run_have_rows_each, clear),
        cmocka_unit_test_teardown(without_a_place_there_are_no_rows, clear),
        cmocka_unit_test_teardown(too_many_rows_are_refused, clear),
        cmocka_unit_test_teardown(the_file_says_where_its_rows_are_from, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
