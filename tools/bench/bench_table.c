// SPDX-License-Identifier: BSD-3-Clause
//
// The tables and the terminal plot of `castoff bench`: comment lines start with #, size in bytes first. Cold.
#include "bench.h"

#include <string.h>

#include "tools/output/plot.h"

static void print_head(FILE *stream, const struct co_bench_point *point)
{
    const struct co_bench_call *call = co_bench_call_find(point->call);
    fprintf(stream, "# %s, %d ranks: us of the slowest %s, ratio = stock / castoff\n", call->title, point->ranks,
            call->is_message ? "pair" : "rank");
    fprintf(stream, "# %8s %11s %11s %11s %11s %7s  %-15s %7s %-6s %s\n", call->has_depth ? "depth" : "size B",
            "stock p50", "stock p99", "castoff p50", "castoff p99", "ratio", "95% interval", "samples", "check",
            "stock side");
}

static unsigned long long wrong_of(const struct co_bench_point *point)
{
    unsigned long long wrong = 0;
    for (int i = 0; i < point->side_count; i++) {
        wrong += point->sides[i].wrong;
    }
    return wrong;
}

static void print_point(FILE *stream, const struct co_bench_point *point)
{
    const struct co_bench_side *stock = &point->sides[point->stock], *castoff = &point->sides[point->castoff];
    char interval[64], check[32] = "ok";
    unsigned long long wrong = wrong_of(point);
    co_statistics_ratio_text(&stock->ratio, interval, sizeof interval);
    if (wrong) {
        snprintf(check, sizeof check, "WRONG:%llu", wrong);
    }
    int digits = co_bench_call_find(point->call)->is_message ? 3 : 2; // a message may take less than 100 ns
    fprintf(stream, "%10zu %11.*f %11.*f %11.*f %11.*f %7.2f  %-15s %7zu %-6s %s%s%s\n", point->bytes, digits,
            stock->p50_ns / 1e3, digits, stock->p99_ns / 1e3, digits, castoff->p50_ns / 1e3, digits,
            castoff->p99_ns / 1e3, stock->ratio.ratio, interval, stock->count, check, stock->name,
            strcmp(stock->job, "default") ? "@" : "", strcmp(stock->job, "default") ? stock->job : "");
}

static bool starts_table(const struct co_bench_results *results, int i)
{
    return i == 0 || results->points[i].ranks != results->points[i - 1].ranks ||
           strcmp(results->points[i].call, results->points[i - 1].call) != 0;
}

static void print_summary(FILE *stream, const struct co_bench_results *results, int first, int end)
{
    double ratios[BENCH_SIZES_MAX];
    int count = 0, slower = 0, worst = first;
    for (int i = first; i < end && count < BENCH_SIZES_MAX; i++) {
        const struct co_ratio *ratio = &results->points[i].sides[results->points[i].stock].ratio;
        const struct co_ratio *lowest = &results->points[worst].sides[results->points[worst].stock].ratio;
        ratios[count++] = ratio->ratio;
        slower += ratio->verdict == CO_SLOWER;
        worst = ratio->ratio < lowest->ratio ? i : worst;
    }
    const struct co_bench_point *point = &results->points[worst];
    bool has_depth = co_bench_call_find(point->call)->has_depth;
    fprintf(stream, "# geometric mean %.2f; lowest %.2f at %s%zu%s; slower at %d of %d %s\n",
            co_statistics_geometric_mean(ratios, (size_t)count), point->sides[point->stock].ratio.ratio,
            has_depth ? "depth " : "", point->bytes, has_depth ? "" : " B", slower, count,
            has_depth ? "depths" : "sizes");
}

static void print_overlap_head(FILE *stream, const struct co_bench_overlap *row)
{
    fprintf(stream, "# %s: us, mean over %d ranks of the median\n", co_bench_call_find(row->call)->title, row->ranks);
    fprintf(stream, "# %8s %-16s %11s %11s %11s %11s %11s %s\n", "size B", "side", "pure", "start", "compute", "total",
            "overlap % ", "check");
}

static void print_overlaps(const struct co_bench_results *results, FILE *stream)
{
    bool has_cut = false;
    for (int i = 0; i < results->overlap_count; i++) {
        const struct co_bench_overlap *row = &results->overlaps[i];
        if (i == 0 || row->ranks != row[-1].ranks || strcmp(row->call, row[-1].call) != 0) {
            print_overlap_head(stream, row);
        }
        fprintf(stream, "%10zu %-16s %11.2f %11.2f %11.2f %11.2f %10.1f%s %s\n", row->bytes, row->name,
                row->pure_ns / 1e3, row->start_ns / 1e3, row->compute_ns / 1e3, row->total_ns / 1e3, row->percent,
                row->is_cut ? "*" : " ", row->wrong ? "WRONG" : "ok");
        has_cut |= row->is_cut;
    }
    if (has_cut) {
        fputs("# *: more than 100 was computed and cut: the total was shorter than the computation alone, by noise\n",
              stream);
    }
}

void co_bench_table_print(const struct co_bench_results *results, FILE *stream)
{
    int first = 0;
    for (int i = 0; i < results->point_count; i++) {
        if (starts_table(results, i)) {
            first = i;
            print_head(stream, &results->points[i]);
        }
        print_point(stream, &results->points[i]);
        if (i + 1 == results->point_count || starts_table(results, i + 1)) {
            print_summary(stream, results, first, i + 1);
        }
    }
    print_overlaps(results, stream);
}

void co_bench_plot_print(const struct co_bench_results *results, FILE *stream)
{
    struct co_plot_row rows[BENCH_SIZES_MAX];
    size_t count = 0;
    for (int i = 0; i < results->point_count; i++) {
        const struct co_bench_point *point = &results->points[i];
        if (count < BENCH_SIZES_MAX) {
            snprintf(rows[count].label, sizeof rows[count].label, "%s %zu", point->call, point->bytes);
            const struct co_ratio *ratio = &point->sides[point->stock].ratio;
            rows[count].is_uncertain = ratio->verdict == CO_NO_DIFFERENCE || ratio->verdict == CO_TOO_FEW;
            rows[count++].ratio = ratio->ratio;
        }
        if (i + 1 == results->point_count || starts_table(results, i + 1)) {
            co_plot_ratios_print(stream, rows, count);
            count = 0;
        }
    }
}
