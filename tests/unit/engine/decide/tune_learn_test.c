// SPDX-License-Identifier: BSD-3-Clause
//
// What jobs have learnt, in a file: made, merged, by several at a time; and what it must not do: follow a link, believe
// what it cannot read, leave half a file.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/decide/tune_table.h"

static char folder[] = "/tmp/castoff-learn.XXXXXX";
static char path[80], other[80], why[400];
static struct co_tune_table table;

static struct co_tune_row row_of(size_t bytes, bool take)
{
    return (struct co_tune_row){.call = CO_CALL_BCAST,
                                .where = CO_TUNE_NODE,
                                .ranks_min = 2,
                                .ranks_max = 2,
                                .per_node_min = 2,
                                .per_node_max = 2,
                                .transport = CO_TRANSPORT_SHM,
                                .bytes_min = bytes,
                                .bytes_max = bytes + 9,
                                .take = take};
}

static int learn(size_t bytes, bool take)
{
    struct co_tune_row row = row_of(bytes, take);
    return co_tune_table_learn(path, &row, 1, why, sizeof why);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void assert_holds(const char *name, const char *text)
{
    char read[200] = "";
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    size_t bytes = fread(read, 1, sizeof read - 1, file);
    fclose(file);
    assert_int_equal(bytes, strlen(text));
    assert_string_equal(read, text);
}

static void load(void)
{
    assert_int_equal(co_tune_table_load(&table, path, why, sizeof why), 0);
}

static void rows_are_added_and_replaced(void **state)
{
    (void)state;
    struct stat file;
    assert_int_equal(learn(100, true), 0);
    assert_int_equal(learn(200, false), 0);
    load();
    assert_int_equal(table.count, 2);
    char text[400];
    co_tune_table_print(&table, text, sizeof text);
    assert_string_equal(text, "bcast node ranks 2-2 ranks_per_node 2-2 transport shm bytes 200-209 decline\n"
                              "bcast node ranks 2-2 ranks_per_node 2-2 transport shm bytes 100-109 take\n");
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(learn(100, false), 0); // as it is now
    load();
    assert_int_equal(table.count, 2);
    assert_false(table.rows[0].take);
    assert_int_equal(table.rows[0].bytes_min, 100);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0640);
}

static void a_full_table_loses_the_oldest(void **state)
{
    (void)state;
    static struct co_tune_row rows[CO_TUNE_ROWS_MAX];
    for (unsigned i = 0; i < CO_TUNE_ROWS_MAX; i++) {
        rows[i] = row_of(1000 + 10 * i, true);
    }
    assert_int_equal(co_tune_table_learn(path, rows, CO_TUNE_ROWS_MAX, why, sizeof why), 0);
    assert_int_equal(learn(5, false), 0);
    load();
    assert_int_equal(table.count, CO_TUNE_ROWS_MAX);
    assert_int_equal(table.rows[0].bytes_min, 5);
    assert_int_equal(table.rows[CO_TUNE_ROWS_MAX - 1].bytes_min, 1000 + 10 * (CO_TUNE_ROWS_MAX - 2));
}

static void links_are_not_followed(void **state)
{
    (void)state;
    put(other, "not mine to write\n");
    assert_int_equal(symlink(other, path), 0);
    assert_int_equal(learn(100, true), -EMLINK);
    assert_non_null(strstr(why, "no plain file"));
    assert_holds(other, "not mine to write\n");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); // and nobody waits for a pipe
    assert_int_equal(learn(100, true), -EMLINK);
}

static void what_is_no_table_stays(void **state)
{
    (void)state;
    put(path, "bcast node ranks 2-2 bytes 1-9 perhaps\n");
    assert_int_equal(learn(100, true), -EINVAL);
    assert_holds(path, "bcast node ranks 2-2 bytes 1-9 perhaps\n");
    unlink(path);
    snprintf(path, sizeof path, "%s/nowhere/table", folder);
    assert_int_equal(learn(100, true), -ENOENT);
}

static void jobs_that_end_together_lose_nothing(void **state)
{
    (void)state;
    enum { JOBS = 4, EACH = 10 };
    for (int job = 0; job < JOBS; job++) {
        pid_t child = fork();
        assert_true(child >= 0);
        for (int i = 0; child == 0 && i < EACH; i++) {
            if (learn((size_t)(1 + 1000 * job + 10 * i), true) != 0) {
                _exit(1);
            }
        }
        if (child == 0) {
            _exit(0);
        }
    }
    for (int job = 0; job < JOBS; job++) {
        int status = 1;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    load();
    assert_int_equal(table.count, JOBS * EACH);
}

static int begin(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/table", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unlink(path);
    unlink(other);
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

// Empty but for what a failure left.
static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_added_and_replaced, begin, end),
        cmocka_unit_test_setup_teardown(a_full_table_loses_the_oldest, begin, end),
        cmocka_unit_test_setup_teardown(links_are_not_followed, begin, end),
        cmocka_unit_test_setup_teardown(what_is_no_table_stays, begin, end),
        cmocka_unit_test_setup_teardown(jobs_that_end_together_lose_nothing, begin, end),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
