// SPDX-License-Identifier: BSD-3-Clause
//
// Results of `castoff bench` as SVG, by gnuplot: what goes over sizes in one picture, what goes over depths in another
// beside it. Cold.
#include "bench.h"

#include <errno.h>
#include <string.h>

#include "tools/output/plot.h"

struct picture {
    FILE *gnuplot;
    const struct co_bench_results *results;
    bool has_depth;
};

static bool is_in(const struct picture *picture, const struct co_bench_point *point, const struct co_bench_call *call)
{
    return strcmp(point->call, call->name) == 0 && point->ranks == picture->results->points[0].ranks;
}

static int count_points(const struct picture *picture, const struct co_bench_call *call)
{
    int found = 0;
    for (int i = 0; i < picture->results->point_count; i++) {
        found += call->has_depth == picture->has_depth && is_in(picture, &picture->results->points[i], call);
    }
    return found;
}

// Nothing waits at depth 0, which has no place on a logarithmic axis: it stands left of 1.
static double place_of(const struct picture *picture, size_t step)
{
    return picture->has_depth && step == 0 ? 0.5 : (double)step;
}

static void put_data(const struct picture *picture, const struct co_bench_call *call, bool is_castoff)
{
    for (int i = 0; i < picture->results->point_count; i++) {
        const struct co_bench_point *point = &picture->results->points[i];
        if (is_in(picture, point, call)) {
            fprintf(picture->gnuplot, "%g %.4f\n", place_of(picture, point->bytes),
                    point->sides[is_castoff ? point->castoff : point->stock].p50_ns / 1e3);
        }
    }
    fputs("e\n", picture->gnuplot);
}

// One pair of curves for each call; steps and times both logarithmic.
static void put_picture(const struct picture *picture)
{
    const char *joint = "plot ";
    fprintf(picture->gnuplot, "set logscale xy\nset xlabel '%s'\nset ylabel 'us'\nset key left top\n%s\n",
            picture->has_depth ? "depth" : "bytes",
            picture->has_depth ? "set xtics add ('0' 0.5)" : "set xtics autofreq");
    for (int pass = 0; pass < 2; pass++) { // names of the curves first, then their data
        const struct co_bench_call *call;
        for (int c = 0; (call = co_bench_call_at(c / 2)) != NULL; c++) {
            if (count_points(picture, call) == 0) {
                continue;
            }
            if (pass) {
                put_data(picture, call, c % 2);
            } else {
                fprintf(picture->gnuplot, "%s'-' using 1:2 with linespoints title '%s %s'", joint, call->name,
                        c % 2 ? "castoff" : "stock");
                joint = ", ";
            }
        }
        fputs("\n", picture->gnuplot);
    }
}

static bool has_any(const struct picture *picture)
{
    const struct co_bench_call *call;
    int found = 0;
    for (int c = 0; (call = co_bench_call_at(c)) != NULL; c++) {
        found += count_points(picture, call);
    }
    return found > 0;
}

int co_bench_svg_write(const struct co_bench_results *results, const char *path, char *why, size_t why_room)
{
    bool has_messages = results->point_count > 0 && co_bench_call_find(results->points[0].call)->is_message;
    FILE *gnuplot = co_plot_svg_open(path,
                                     has_messages ? "castoff bench p2p: time of a message, median"
                                                  : "castoff bench: time of the slowest rank, median",
                                     why, why_room);
    if (!gnuplot) {
        return -EIO;
    }
    struct picture sizes = {gnuplot, results, false}, depths = {gnuplot, results, true};
    bool is_pair = has_any(&sizes) && has_any(&depths);
    fputs(is_pair ? "set multiplot layout 1,2\n" : "", gnuplot);
    if (has_any(&sizes)) {
        put_picture(&sizes);
    }
    if (has_any(&depths)) {
        put_picture(&depths);
    }
    fputs(is_pair ? "unset multiplot\n" : "", gnuplot);
    snprintf(why, why_room, "gnuplot failed");
    return co_plot_svg_close(gnuplot);
}
