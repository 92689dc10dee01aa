// SPDX-License-Identifier: BSD-3-Clause
//
// Turns measured points into rows of the tune table by the policy "never slower than stock": a size at which castoff
// was certainly slower is declined up to the next measured size, with its doubtful neighbours. Pure but for memory.
// Cold.
#include "bench.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// What a point says about castoff. SUSPECT: slower by more than 3 %, but the interval of the ratio holds 1.
enum saying { GOOD, UNSURE, SUSPECT, LOSS };

static enum saying hear(const struct co_bench_point *point)
{
    static const double smallest_unsuspected = 0.97;
    const struct co_ratio *ratio = &point->sides[point->stock].ratio;
    switch (ratio->verdict) {
    case CO_SLOWER:
        return LOSS;
    case CO_FASTER:
        return GOOD;
    case CO_TOO_FEW:
        return UNSURE;
    default:
        return ratio->ratio < smallest_unsuspected ? SUSPECT : UNSURE;
    }
}

// One suspicion is noise, but beside a loss it is part of it; and what is unsure between two losses is no island.
static void join_losses(enum saying *sayings, int count)
{
    int last = -1;
    for (int i = 1; i < count; i++) {
        sayings[i] = sayings[i] == SUSPECT && sayings[i - 1] == LOSS ? LOSS : sayings[i];
    }
    for (int i = count - 2; i >= 0; i--) {
        sayings[i] = sayings[i] == SUSPECT && sayings[i + 1] == LOSS ? LOSS : sayings[i];
    }
    for (int i = 0; i < count; i++) {
        if (sayings[i] == GOOD) {
            last = -1;
        } else if (sayings[i] == LOSS) {
            for (int between = last + 1; last >= 0 && between < i; between++) {
                sayings[between] = LOSS;
            }
            last = i;
        }
    }
}

static int call_of(const struct co_bench_point *point)
{
    for (int call = 0; call < CO_CALL_COUNT; call++) {
        if (strcmp(point->call, co_call_word((enum co_call)call)) == 0) {
            return call;
        }
    }
    return -1;
}

static enum co_tune_where where_of(const struct co_bench_point *point)
{
    return point->place.nodes > 1 ? CO_TUNE_HOSTS : CO_TUNE_NODE;
}

// By place first: one node whatever is on it, or hosts by the ranks on each.
static int compare_places(const struct co_bench_point *a, const struct co_bench_point *b)
{
    if (where_of(a) != where_of(b)) {
        return where_of(a) == CO_TUNE_NODE ? -1 : 1;
    }
    return where_of(a) == CO_TUNE_NODE ? 0 : a->place.ranks_per_node - b->place.ranks_per_node;
}

static int compare_points(const void *a, const void *b)
{
    const struct co_bench_point *x = *(const struct co_bench_point *const *)a;
    const struct co_bench_point *y = *(const struct co_bench_point *const *)b;
    int places = compare_places(x, y);
    if (places != 0 || x->ranks != y->ranks) {
        return places != 0 ? places : x->ranks - y->ranks;
    }
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

// The points of one call, by place, ranks and size. Returns how many, -ENODATA when one has no place.
static int pick(const struct co_bench_results *results, int call, const struct co_bench_point **picked)
{
    int count = 0;
    for (int i = 0; i < results->point_count; i++) {
        if (call_of(&results->points[i]) != call) {
            continue;
        }
        if (results->points[i].place.ranks_per_node == 0) {
            return -ENODATA;
        }
        picked[count++] = &results->points[i];
    }
    qsort(picked, (size_t)count, sizeof *picked, compare_points);
    return count;
}

static bool is_continued_by(const struct co_tune_row *row, const struct co_tune_row *next)
{
    return row->ranks_max == next->ranks_min - 1 && row->take == next->take && row->bytes_min == next->bytes_min &&
           row->bytes_max == next->bytes_max;
}

// Of the rows of a place, from `first` on, one that goes on with more ranks is made longer.
static int append(struct co_tune_table *table, unsigned first, const struct co_tune_row *row)
{
    for (unsigned i = first; i < table->count; i++) {
        if (is_continued_by(&table->rows[i], row)) {
            table->rows[i].ranks_max = row->ranks_max;
            table->rows[i].per_node_max = row->per_node_max;
            return 0;
        }
    }
    if (table->count == CO_TUNE_ROWS_MAX) {
        return -E2BIG;
    }
    table->rows[table->count++] = *row;
    return 0;
}

// Rows for the points of one number of ranks, sizes ascending: neighbours that lose make one row.
static int append_losses(struct co_tune_table *table, unsigned first, const struct co_bench_point **points, int count,
                         struct co_tune_row row)
{
    enum saying sayings[BENCH_SIZES_MAX];
    int start = -1;
    count = count < BENCH_SIZES_MAX ? count : BENCH_SIZES_MAX;
    for (int i = 0; i < count; i++) {
        sayings[i] = hear(points[i]);
    }
    join_losses(sayings, count);
    for (int i = 0; i <= count; i++) {
        bool is_loss = i < count && sayings[i] == LOSS;
        if (is_loss && start < 0) {
            start = i;
        }
        if (!is_loss && start >= 0) {
            row.bytes_min = start == 0 ? 1 : points[start]->bytes;
            row.bytes_max = i == count ? SIZE_MAX : points[i]->bytes - 1;
            int failed = append(table, first, &row);
            if (failed) {
                return failed;
            }
            start = -1;
        }
    }
    return 0;
}

// On one node as many ranks are on it as there are.
static struct co_tune_row row_of(const struct co_bench_point *point, enum co_call call, int ranks_min, int ranks_max)
{
    bool is_node = where_of(point) == CO_TUNE_NODE;
    return (struct co_tune_row){.call = call,
                                .where = where_of(point),
                                .ranks_min = ranks_min,
                                .ranks_max = ranks_max,
                                .per_node_min = is_node ? ranks_min : point->place.ranks_per_node,
                                .per_node_max = is_node ? ranks_max : point->place.ranks_per_node,
                                .transport = is_node ? CO_TRANSPORT_SHM : CO_TRANSPORT_UDP,
                                .bytes_min = 1,
                                .bytes_max = SIZE_MAX};
}

// The rows of one place: where castoff loses it declines, all else that is there it takes.
static int tune_place(struct co_tune_table *table, const struct co_bench_point **points, int count, enum co_call call)
{
    unsigned first = table->count;
    for (int start = 0, end; start < count; start = end) {
        for (end = start; end < count && points[end]->ranks == points[start]->ranks; end++) {
        }
        // Between two measured numbers of ranks the smaller one speaks.
        struct co_tune_row row = row_of(points[start], call, start == 0 ? 2 : points[start]->ranks,
                                        end == count ? INT32_MAX : points[end]->ranks - 1);
        int failed = append_losses(table, first, points + start, end - start, row);
        if (failed) {
            return failed;
        }
    }
    struct co_tune_row rest = row_of(points[0], call, 2, INT32_MAX);
    rest.take = true;
    return append(table, first, &rest);
}

static int tune_call(struct co_tune_table *table, const struct co_bench_point **points, int count, enum co_call call)
{
    int failed = 0;
    for (int start = 0, end; start < count && !failed; start = end) {
        for (end = start; end < count && compare_places(points[end], points[start]) == 0; end++) {
        }
        failed = tune_place(table, points + start, end - start, call);
    }
    return failed;
}

// Some of the first `count` rows is for all that `row` is for. The one that takes the rest of a place tells.
static bool is_replaced(const struct co_tune_table *table, unsigned count, const struct co_tune_row *row)
{
    for (unsigned i = 0; i < count; i++) {
        const struct co_tune_row *rest = &table->rows[i];
        bool has_carrier = rest->transport == row->transport || row->where == CO_TUNE_NODE;
        bool has_per_node = row->where == CO_TUNE_NODE ||
                            (row->per_node_min >= rest->per_node_min && row->per_node_max <= rest->per_node_max);
        if (rest->take && rest->call == row->call && rest->where == row->where && has_carrier && has_per_node) {
            return true;
        }
    }
    return false;
}

static int append_old(struct co_tune_table *table, const struct co_tune_table *old)
{
    unsigned made = table->count;
    for (unsigned i = 0; i < old->count; i++) {
        if (is_replaced(table, made, &old->rows[i])) {
            continue;
        }
        if (table->count == CO_TUNE_ROWS_MAX) {
            return -E2BIG;
        }
        table->rows[table->count++] = old->rows[i];
    }
    return (int)made;
}

int co_bench_tune_make(struct co_tune_table *table, const struct co_bench_results *results)
{
    const struct co_bench_point **points = calloc((size_t)results->point_count + 1, sizeof *points);
    struct co_tune_table *made = calloc(1, sizeof *made);
    int status = points && made ? 0 : -ENOMEM;
    for (int call = 0; call < CO_CALL_COUNT && status == 0; call++) {
        int count = pick(results, call, points);
        status = count < 0 ? count : tune_call(made, points, count, (enum co_call)call);
    }
    status = status < 0 ? status : append_old(made, table);
    if (status >= 0) {
        *table = *made;
    }
    free(made);
    free(points);
    return status;
}
