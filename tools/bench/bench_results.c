// SPDX-License-Identifier: BSD-3-Clause
//
// Collects the raw samples that the benchmark program prints and judges them: percentiles, ratios of pairs, and which
// of stock's sides castoff is held against. Pure but for memory. Cold.
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Of one call and number of ranks the points stand together, in whichever order they are told.
static struct co_bench_point *find_point(struct co_bench_results *results, const char *call, size_t bytes, int ranks)
{
    int place = results->point_count;
    for (int i = 0; i < results->point_count; i++) {
        struct co_bench_point *point = &results->points[i];
        if (point->ranks == ranks && strcmp(point->call, call) == 0) {
            if (point->bytes == bytes) {
                return point;
            }
            place = i + 1;
        }
    }
    struct co_bench_point *grown =
        realloc(results->points, (size_t)(results->point_count + 1) * sizeof *results->points);
    if (!grown) {
        return NULL;
    }
    results->points = grown;
    struct co_bench_point *point = &grown[place];
    memmove(point + 1, point, (size_t)(results->point_count++ - place) * sizeof *point);
    *point =
        (struct co_bench_point){.bytes = bytes, .ranks = ranks, .place = results->place, .castoff = -1, .stock = -1};
    snprintf(point->call, sizeof point->call, "%s", call);
    return point;
}

static int read_samples(struct co_bench_side *side, const char *at)
{
    side->ns = calloc(side->count, sizeof *side->ns);
    if (!side->ns) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < side->count; i++) {
        char *end;
        side->ns[i] = strtod(at, &end);
        if (end == at) {
            free(side->ns);
            return -EINVAL;
        }
        // Clocks have a grain; a ratio needs something to divide by.
        side->ns[i] = side->ns[i] < 0.1 ? 0.1 : side->ns[i];
        at = end;
    }
    return 0;
}

// Names go into tables, CSV, JSON and gnuplot's quotes as they are.
static bool is_name(const char *text)
{
    return text[strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-")] == '\0';
}

static int take_row(struct co_bench_results *results, const char *line, const char *job, int ranks)
{
    char call[24];
    struct co_bench_side side = {0};
    size_t bytes;
    int batch, at = 0;
    if (sscanf(line, "row %23s %zu %d %31s %llu %zu%n", call, &bytes, &batch, side.name, &side.wrong, &side.count,
               &at) < 6 ||
        side.count == 0 || side.count > 1000000 || !is_name(call) || !is_name(side.name)) {
        return -EINVAL;
    }
    struct co_bench_point *point = find_point(results, call, bytes, ranks);
    if (!point) {
        return -ENOMEM;
    }
    if (point->side_count == BENCH_SIDES_MAX) {
        return -EINVAL;
    }
    snprintf(side.job, sizeof side.job, "%s", job);
    int failed = read_samples(&side, line + at);
    if (!failed) {
        point->batch = batch;
        point->sides[point->side_count++] = side;
    }
    return failed;
}

static int take_overlap(struct co_bench_results *results, const char *line, const char *job, int ranks)
{
    struct co_bench_overlap row = {.ranks = ranks};
    if (sscanf(line, "%23s %zu %31s %llu %d %lf %lf %lf %lf %lf", row.call, &row.bytes, row.name, &row.wrong,
               &row.rounds, &row.pure_ns, &row.start_ns, &row.compute_ns, &row.total_ns, &row.percent) < 10 ||
        !is_name(row.call) || !is_name(row.name)) {
        return -EINVAL;
    }
    row.is_cut = row.percent > 100;
    row.percent = row.is_cut ? 100 : row.percent;
    struct co_bench_overlap *grown =
        realloc(results->overlaps, (size_t)(results->overlap_count + 1) * sizeof *results->overlaps);
    if (!grown) {
        return -ENOMEM;
    }
    snprintf(row.job, sizeof row.job, "%s", job);
    results->overlaps = grown;
    grown[results->overlap_count++] = row;
    return 0;
}

// The nodes of the machine; castoff makes more of them where it is told to.
static int take_place(struct co_bench_results *results, const char *line)
{
    struct co_bench_place place;
    if (sscanf(line, "place %d %d", &place.nodes, &place.ranks_per_node) < 2 || place.nodes < 1 ||
        place.ranks_per_node < 1) {
        return -EINVAL;
    }
    if (results->node_ranks > 0 && results->node_ranks < place.ranks_per_node) {
        place.nodes++; // one that was cut, or more: several at any rate
        place.ranks_per_node = results->node_ranks;
    }
    results->place = place;
    return 0;
}

int co_bench_results_take(struct co_bench_results *results, const char *line, const char *job, int ranks)
{
    if (strncmp(line, "row ", 4) == 0) {
        return take_row(results, line, job, ranks);
    }
    if (strncmp(line, "place ", 6) == 0) {
        return take_place(results, line);
    }
    if (strncmp(line, "overlap ", 8) == 0 || strncmp(line, "overlap-", 8) == 0) {
        return take_overlap(results, line, job, ranks);
    }
    return 0;
}

static int find_castoff(const struct co_bench_point *point, const char *job)
{
    for (int i = 0; i < point->side_count; i++) {
        if (strcmp(point->sides[i].name, "castoff") == 0 && strcmp(point->sides[i].job, job) == 0) {
            return i;
        }
    }
    return -1;
}

static int fill_percentiles(struct co_bench_side *side)
{
    double *sorted = malloc(side->count * sizeof *sorted);
    if (!sorted) {
        return -ENOMEM;
    }
    memcpy(sorted, side->ns, side->count * sizeof *sorted);
    co_statistics_sort(sorted, side->count);
    side->p50_ns = co_statistics_median(sorted, side->count);
    side->p99_ns = co_statistics_quantile(sorted, side->count, 0.99);
    free(sorted);
    return 0;
}

// Pairs 0, 2, ... when `half` is 0, pairs 1, 3, ... when it is 1, all when there are fewer than two.
static int ratio_of_half(struct co_ratio *out, const struct co_bench_side *stock, const struct co_bench_side *castoff,
                         size_t half)
{
    size_t pairs = stock->count < castoff->count ? stock->count : castoff->count, count = 0;
    double *first = calloc(2 * pairs, sizeof *first), *second = first + pairs;
    if (!first) {
        return -ENOMEM;
    }
    for (size_t i = pairs < 2 ? 0 : half; i < pairs; i += 2) {
        first[count] = stock->ns[i];
        second[count++] = castoff->ns[i];
    }
    int failed = co_statistics_ratio(out, first, second, count);
    free(first);
    return failed;
}

// The best of many noisy sides looks better than it is. So one half of the pairs chooses and the other half is told.
static int judge_against_best(struct co_bench_point *point)
{
    double lowest = 0;
    for (int i = 0; i < point->side_count; i++) {
        struct co_bench_side *side = &point->sides[i];
        int castoff = find_castoff(point, side->job);
        struct co_ratio choice;
        if (castoff < 0 || castoff == i) {
            continue;
        }
        if (ratio_of_half(&choice, side, &point->sides[castoff], 0) ||
            ratio_of_half(&side->ratio, side, &point->sides[castoff], 1)) {
            return -ENOMEM;
        }
        if (point->stock < 0 || choice.ratio < lowest) {
            lowest = choice.ratio;
            point->stock = i;
            point->castoff = castoff;
        }
    }
    return 0;
}

static int judge_against_default(struct co_bench_point *point)
{
    int castoff = find_castoff(point, "default");
    for (int i = 0; i < point->side_count && castoff >= 0; i++) {
        struct co_bench_side *side = &point->sides[i];
        if (strcmp(side->name, "stock") != 0 || strcmp(side->job, "default") != 0) {
            continue;
        }
        const struct co_bench_side *other = &point->sides[castoff];
        size_t pairs = side->count < other->count ? side->count : other->count;
        point->stock = i;
        point->castoff = castoff;
        return co_statistics_ratio(&side->ratio, side->ns, other->ns, pairs);
    }
    return 0;
}

// Sides of different jobs never met, so each is held against the castoff side of its own.
static int judge_point(struct co_bench_point *point, bool against_best)
{
    for (int i = 0; i < point->side_count; i++) {
        if (fill_percentiles(&point->sides[i])) {
            return -ENOMEM;
        }
    }
    return against_best ? judge_against_best(point) : judge_against_default(point);
}

static void release_point(struct co_bench_point *point)
{
    for (int i = 0; i < point->side_count; i++) {
        free(point->sides[i].ns);
    }
}

int co_bench_results_judge(struct co_bench_results *results, bool against_best)
{
    int kept = 0;
    for (int i = 0; i < results->point_count; i++) {
        struct co_bench_point *point = &results->points[i];
        if (judge_point(point, against_best)) {
            return -ENOMEM;
        }
    }
    for (int i = 0; i < results->point_count; i++) {
        struct co_bench_point *point = &results->points[i];
        if (point->stock < 0) {
            release_point(point);
        } else {
            results->points[kept++] = *point;
        }
    }
    results->point_count = kept;
    return 0;
}

bool co_bench_results_are_right(const struct co_bench_results *results)
{
    unsigned long long wrong = 0;
    for (int i = 0; i < results->point_count; i++) {
        for (int s = 0; s < results->points[i].side_count; s++) {
            wrong += results->points[i].sides[s].wrong;
        }
    }
    for (int i = 0; i < results->overlap_count; i++) {
        wrong += results->overlaps[i].wrong;
    }
    return wrong == 0;
}

void co_bench_results_release(struct co_bench_results *results)
{
    for (int i = 0; i < results->point_count; i++) {
        release_point(&results->points[i]);
    }
    free(results->points);
    free(results->turns);
    free(results->overlaps);
    *results = (struct co_bench_results){0};
}
