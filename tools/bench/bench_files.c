// SPDX-License-Identifier: BSD-3-Clause
//
// Results of `castoff bench` as JSON and CSV. Cold.
#include "bench.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "tools/output/output_file.h"

static const char *const verdicts[] = {"no difference", "faster", "slower", "too few pairs"};

int co_bench_csv_write(const struct co_bench_results *results, const char *path)
{
    FILE *file = co_output_open(path);
    if (!file) {
        return -errno;
    }
    fputs("call,ranks,bytes,side,job,batch,samples,p50_us,p99_us,ratio,low,high,verdict,wrong,compared\n", file);
    for (int i = 0; i < results->point_count; i++) {
        const struct co_bench_point *point = &results->points[i];
        for (int s = 0; s < point->side_count; s++) {
            const struct co_bench_side *side = &point->sides[s];
            bool is_castoff = strcmp(side->name, "castoff") == 0;
            fprintf(file, "%s,%d,%zu,%s,%s,%d,%zu,%.4f,%.4f,", point->call, point->ranks, point->bytes, side->name,
                    side->job, point->batch, side->count, side->p50_ns / 1e3, side->p99_ns / 1e3);
            if (is_castoff) {
                fprintf(file, ",,,,%llu,%d\n", side->wrong, s == point->castoff);
            } else {
                fprintf(file, "%.4f,%.4f,%.4f,%s,%llu,%d\n", side->ratio.ratio, side->ratio.low, side->ratio.high,
                        verdicts[side->ratio.verdict], side->wrong, s == point->stock);
            }
        }
    }
    for (int i = 0; i < results->turn_count; i++) {
        const struct co_bench_turn *turn = &results->turns[i];
        fprintf(file, "%s/%s,%d,%zu,%s,default,,%zu,,,%.4f,%.4f,%.4f,%s,,1\n", turn->first, turn->call, turn->ranks,
                turn->bytes, turn->side, turn->samples, turn->ratio.ratio, turn->ratio.low, turn->ratio.high,
                verdicts[turn->ratio.verdict]);
    }
    for (int i = 0; i < results->overlap_count; i++) {
        const struct co_bench_overlap *row = &results->overlaps[i];
        fprintf(file, "%s,%d,%zu,%s,%s,1,%d,%.4f,%.4f,%.2f,,,%s,%llu,1\n", row->call, row->ranks, row->bytes, row->name,
                row->job, row->rounds, row->pure_ns / 1e3, row->start_ns / 1e3, row->percent,
                row->is_cut ? "cut to 100" : "", row->wrong);
    }
    return co_output_close(file);
}

static json_t *json_side(const struct co_bench_side *side)
{
    return json_pack("{s:s, s:s, s:I, s:I, s:f, s:f}", "name", side->name, "job", side->job, "samples",
                     (json_int_t)side->count, "wrong", (json_int_t)side->wrong, "p50_us", side->p50_ns / 1e3, "p99_us",
                     side->p99_ns / 1e3);
}

static json_t *json_point(const struct co_bench_point *point)
{
    json_t *sides = json_array();
    for (int s = 0; s < point->side_count; s++) {
        const struct co_ratio *ratio = &point->sides[s].ratio;
        json_t *side = json_side(&point->sides[s]);
        if (ratio->ratio > 0) {
            json_object_set_new(side, "ratio", json_real(ratio->ratio));
            json_object_set_new(side, "low", json_real(ratio->low));
            json_object_set_new(side, "high", json_real(ratio->high));
            json_object_set_new(side, "verdict", json_string(verdicts[ratio->verdict]));
        }
        json_array_append_new(sides, side);
    }
    const char *step = co_bench_call_find(point->call)->has_depth ? "depth" : "bytes";
    return json_pack("{s:s, s:i, s:I, s:i, s:i, s:i, s:o}", "call", point->call, "ranks", point->ranks, step,
                     (json_int_t)point->bytes, "batch", point->batch, "castoff", point->castoff, "stock", point->stock,
                     "sides", sides);
}

static json_t *json_overlap(const struct co_bench_overlap *row)
{
    return json_pack("{s:s, s:I, s:i, s:s, s:s, s:i, s:I, s:f, s:f, s:f, s:f, s:f, s:b}", "call", row->call, "bytes",
                     (json_int_t)row->bytes, "ranks", row->ranks, "name", row->name, "job", row->job, "rounds",
                     row->rounds, "wrong", (json_int_t)row->wrong, "pure_us", row->pure_ns / 1e3, "start_us",
                     row->start_ns / 1e3, "compute_us", row->compute_ns / 1e3, "total_us", row->total_ns / 1e3,
                     "overlap_percent", row->percent, "is_cut", row->is_cut);
}

static json_t *json_turn(const struct co_bench_turn *turn)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:i, s:I, s:f, s:f, s:f}", "first", turn->first, "call", turn->call, "side",
                     turn->side, "bytes", (json_int_t)turn->bytes, "ranks", turn->ranks, "samples",
                     (json_int_t)turn->samples, "ratio", turn->ratio.ratio, "low", turn->ratio.low, "high",
                     turn->ratio.high);
}

int co_bench_json_write(const struct co_bench_results *results, const char *path)
{
    json_t *points = json_array(), *overlaps = json_array(), *turns = json_array();
    for (int i = 0; i < results->point_count; i++) {
        json_array_append_new(points, json_point(&results->points[i]));
    }
    for (int i = 0; i < results->turn_count; i++) {
        json_array_append_new(turns, json_turn(&results->turns[i]));
    }
    for (int i = 0; i < results->overlap_count; i++) {
        json_array_append_new(overlaps, json_overlap(&results->overlaps[i]));
    }
    json_t *root = json_pack("{s:o, s:o, s:o}", "points", points, "in_turn", turns, "overlap", overlaps);
    FILE *file = root ? co_output_open(path) : NULL;
    int failed = file ? 0 : root ? -errno : -ENOMEM;
    if (file) {
        failed = json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(8)) ? -EIO : 0;
        fputc('\n', file);
        int closed = co_output_close(file);
        failed = closed != 0 ? closed : failed;
    }
    json_decref(root);
    return failed;
}
