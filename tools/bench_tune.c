// SPDX-License-Identifier: BSD-3-Clause
//
// Turns measured points into rows of the tune table by the policy "never slower than stock": a size at which castoff
// was slower, or lost more than 3 % inside the noise, is declined up to the next measured size. Pure but for the
// file. Cold.
#include "bench.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"

static const double smallest_accepted = 0.97;

static bool loses(const struct co_bench_point *point)
{
    const struct co_ratio *ratio = &point->sides[point->stock].ratio;
    return ratio->verdict == CO_SLOWER || ratio->ratio < smallest_accepted;
}

static int call_of(const struct co_bench_point *point)
{
    static const char *const names[CO_CALL_COUNT] = {"bcast", "allgather", "iallgather"};
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        if (strcmp(point->call, names[call]) == 0) {
            return call;
        }
    }
    return -1;
}

static int compare_points(const void *a, const void *b)
{
    const struct co_bench_point *x = *(const struct co_bench_point *const *)a;
    const struct co_bench_point *y = *(const struct co_bench_point *const *)b;
    if (x->ranks != y->ranks) {
        return x->ranks - y->ranks;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

// The points of one call, by ranks and then by size. Returns how many.
static int pick(const struct co_bench_results *results, int call, const struct co_bench_point **picked)
{
    int count = 0;
    for (int i = 0; i < results->point_count; i++) {
        if (call_of(&results->points[i]) == call) {
            picked[count++] = &results->points[i];
        }
    }
    qsort(picked, (size_t)count, sizeof *picked, compare_points);
    return count;
}

static int append(struct co_tune_table *table, const struct co_tune_row *row)
{
    if (table->count == CO_TUNE_ROWS_MAX) {
        return -E2BIG;
    }
    table->rows[table->count++] = *row;
    return 0;
}

// Rows for the points of one number of ranks, sizes ascending: neighbours that lose make one row.
static int append_losses(struct co_tune_table *table, const struct co_bench_point **points, int count,
                         struct co_tune_row row)
{
    int first = -1;
    for (int i = 0; i <= count; i++) {
        bool is_loss = i < count && loses(points[i]);
        if (is_loss && first < 0) {
            first = i;
        }
        if (!is_loss && first >= 0) {
            row.bytes_min = first == 0 ? 1 : points[first]->bytes;
            row.bytes_max = i == count ? SIZE_MAX : points[i]->bytes - 1;
            int failed = append(table, &row);
            if (failed) {
                return failed;
            }
            first = -1;
        }
    }
    return 0;
}

static void drop_rows(struct co_tune_table *table, enum co_call call, enum co_tune_where where)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < table->count; i++) {
        if (table->rows[i].call != call || table->rows[i].where != where) {
            table->rows[kept++] = table->rows[i];
        }
    }
    table->count = kept;
}

static int tune_call(struct co_tune_table *table, const struct co_bench_point **points, int count, enum co_call call,
                     enum co_tune_where where)
{
    drop_rows(table, call, where);
    for (int start = 0, end; start < count; start = end) {
        for (end = start; end < count && points[end]->ranks == points[start]->ranks; end++) {
        }
        // Between two measured numbers of ranks the smaller one speaks.
        struct co_tune_row row = {.call = call,
                                  .where = where,
                                  .ranks_min = start == 0 ? 2 : points[start]->ranks,
                                  .ranks_max = end == count ? INT32_MAX : points[end]->ranks - 1,
                                  .per_node_min = 1,
                                  .per_node_max = INT32_MAX};
        int failed = append_losses(table, points + start, end - start, row);
        if (failed) {
            return failed;
        }
    }
    return 0;
}

int co_bench_tune_make(struct co_tune_table *table, const struct co_bench_results *results, enum co_tune_where where)
{
    const struct co_bench_point **points = calloc((size_t)results->point_count + 1, sizeof *points);
    int failed = points ? 0 : -ENOMEM;
    for (int call = 0; call < CO_CALL_COUNT && !failed; call++) {
        int count = pick(results, call, points);
        if (count > 0) {
            failed = tune_call(table, points, count, (enum co_call)call, where);
        }
    }
    free(points);
    return failed;
}

static enum co_tune_where where_are_we(void)
{
    return co_environment("CASTOFF_LAB_HOSTS") ? CO_TUNE_HOSTS : CO_TUNE_NODE;
}

int co_bench_tune_write(const struct co_bench_results *results, const char *path, char *why, size_t why_room)
{
    enum { TEXT_ROOM = CO_TUNE_ROWS_MAX * CO_TUNE_ROW_TEXT_MAX };
    struct co_tune_table *table = calloc(1, sizeof *table);
    char *text = calloc(1, TEXT_ROOM);
    int failed = table && text ? 0 : -ENOMEM;
    snprintf(why, why_room, "%s: out of memory", path);
    // An earlier table keeps its rows for other calls and places.
    if (!failed && access(path, F_OK) == 0) {
        failed = co_tune_table_load(table, path, why, why_room);
    }
    failed = failed ? failed : co_bench_tune_make(table, results, where_are_we());
    if (failed == -E2BIG) {
        snprintf(why, why_room, "%s: more than %d rows", path, CO_TUNE_ROWS_MAX);
    }
    FILE *file = failed ? NULL : fopen(path, "w");
    if (file) {
        co_tune_table_print(table, text, TEXT_ROOM);
        fputs("# Written by castoff bench --tune; use it with CASTOFF_TUNE=FILE on every rank.\n", file);
        fputs(text, file);
    }
    if (!failed && (!file || fclose(file))) {
        failed = -EIO;
        snprintf(why, why_room, "%s: %s", path, strerror(errno));
    }
    free(text);
    free(table);
    return failed;
}
