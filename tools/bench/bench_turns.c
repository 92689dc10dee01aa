// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that were measured in the same rounds of one job, held against the first of them: what jobs differ by cancels.
// Pure but for memory. Cold.
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The side of that name in the job without settings of stock's. NULL: none.
static const struct co_bench_side *find_side(const struct co_bench_point *point, const char *name)
{
    for (int i = 0; i < point->side_count; i++) {
        if (strcmp(point->sides[i].name, name) == 0 && strcmp(point->sides[i].job, "default") == 0) {
            return &point->sides[i];
        }
    }
    return NULL;
}

static const struct co_bench_point *find_first(const struct co_bench_results *results, const char *first,
                                               const struct co_bench_point *other)
{
    for (int i = 0; i < results->point_count; i++) {
        const struct co_bench_point *point = &results->points[i];
        if (point->ranks == other->ranks && point->bytes == other->bytes && strcmp(point->call, first) == 0) {
            return point == other ? NULL : point;
        }
    }
    return NULL;
}

static int compare(struct co_bench_results *results, const struct co_bench_point *first,
                   const struct co_bench_point *point, const char *name)
{
    const struct co_bench_side *one = find_side(first, name), *other = find_side(point, name);
    if (!one || !other) {
        return 0;
    }
    struct co_bench_turn turn = {.bytes = point->bytes, .ranks = point->ranks};
    turn.samples = one->count < other->count ? one->count : other->count;
    snprintf(turn.first, sizeof turn.first, "%s", first->call);
    snprintf(turn.call, sizeof turn.call, "%s", point->call);
    snprintf(turn.side, sizeof turn.side, "%s", name);
    struct co_bench_turn *grown = realloc(results->turns, (size_t)(results->turn_count + 1) * sizeof *grown);
    if (!grown) {
        return -ENOMEM;
    }
    results->turns = grown;
    int failed = co_statistics_ratio(&turn.ratio, one->ns, other->ns, turn.samples);
    grown[results->turn_count++] = turn;
    return failed;
}

int co_bench_turns_judge(struct co_bench_results *results, const char *calls)
{
    char first[24];
    int failed = 0;
    snprintf(first, sizeof first, "%.*s", (int)strcspn(calls, ","), calls);
    for (int i = 0; i < results->point_count && !failed; i++) {
        const struct co_bench_point *point = &results->points[i], *against = find_first(results, first, point);
        if (against) {
            failed = compare(results, against, point, "castoff");
            failed = failed ? failed : compare(results, against, point, "stock");
        }
    }
    return failed;
}

void co_bench_turns_print(const struct co_bench_results *results, FILE *stream)
{
    for (int i = 0; i < results->turn_count; i++) {
        const struct co_bench_turn *turn = &results->turns[i];
        char interval[64];
        if (i == 0) {
            fprintf(stream, "# in turn: time of %s over that of the call, on one side\n", turn->first);
            fprintf(stream, "# %8s %5s %-22s %-8s %7s  %-15s %7s\n", "size B", "ranks", "call", "side", "ratio",
                    "95% interval", "samples");
        }
        co_statistics_ratio_text(&turn->ratio, interval, sizeof interval);
        fprintf(stream, "%10zu %5d %-22s %-8s %7.3f  %-15s %7zu\n", turn->bytes, turn->ranks, turn->call, turn->side,
                turn->ratio.ratio, interval, turn->samples);
    }
}
