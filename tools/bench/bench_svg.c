// SPDX-License-Identifier: BSD-3-Clause
//
// Results of `castoff bench` as SVG, by gnuplot: a panel a call with both sides' times, the least that the link allows
// where its rate is known, and below it how many times as fast castoff is, with the interval. Colours are told apart by
// who sees no red or no green. Cold.
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/settings.h"
#include "tools/output/plot.h"

#define COLUMNS_MOST 3
#define STRIP_SHARE 0.32 // of a panel's height, for the ratio
#define TITLE_PIXELS 40
#define LABELS_MOST 6 // of sizes below a panel
#define STOCK "#d55e00"
#define CASTOFF "#0072b2"

struct picture {
    FILE *gnuplot;
    const struct co_bench_results *results;
    double bits_per_s; // of the laboratory's links, 0: not known
};

static bool is_in(const struct picture *picture, const struct co_bench_point *point, const struct co_bench_call *call)
{
    return strcmp(point->call, call->name) == 0 && point->ranks == picture->results->points[0].ranks;
}

static int count_points(const struct picture *picture, const struct co_bench_call *call)
{
    int found = 0;
    for (int i = 0; i < picture->results->point_count; i++) {
        found += is_in(picture, &picture->results->points[i], call);
    }
    return found;
}

// "200mbit", "1gbit", as the laboratory says it.
static double rate_of(const char *text)
{
    static const struct {
        const char *unit;
        double factor;
    } units[] = {{"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}};
    char *unit = NULL;
    double number = text != NULL ? strtod(text, &unit) : 0;
    for (size_t i = 0; number > 0 && i < sizeof units / sizeof units[0]; i++) {
        if (strcasecmp(unit, units[i].unit) == 0) {
            return number * units[i].factor;
        }
    }
    return 0;
}

// What has to come in by a host's link, or of a root to leave by it, takes that long; 0: not known.
static double least_us(const struct picture *picture, const struct co_bench_call *call,
                       const struct co_bench_point *point)
{
    bool has_blocks = strstr(call->name, "allgather") != NULL;
    double blocks = has_blocks ? point->ranks - point->place.ranks_per_node : 1;
    return picture->bits_per_s == 0 || point->place.nodes < 2 || call->has_depth
               ? 0
               : blocks * (double)point->bytes * 8 / picture->bits_per_s * 1e6;
}

// Nothing waits at depth 0, which has no place on a logarithmic axis: it stands left of 1.
static double step_of(const struct co_bench_call *call, const struct co_bench_point *point)
{
    return call->has_depth && point->bytes == 0 ? 0.5 : (double)point->bytes;
}

// Step, stock's and castoff's time, ratio, its interval, the link's least.
static void put_data(const struct picture *picture, const struct co_bench_call *call)
{
    fputs("$data << END\n", picture->gnuplot);
    for (int i = 0; i < picture->results->point_count; i++) {
        const struct co_bench_point *point = &picture->results->points[i];
        if (is_in(picture, point, call)) {
            const struct co_bench_side *stock = &point->sides[point->stock];
            double least = least_us(picture, call, point);
            fprintf(picture->gnuplot, "%g %.4f %.4f %.4f %.4f %.4f ", step_of(call, point), stock->p50_ns / 1e3,
                    point->sides[point->castoff].p50_ns / 1e3, stock->ratio.ratio, stock->ratio.low, stock->ratio.high);
            fprintf(picture->gnuplot, least > 0 ? "%.4f\n" : "NaN\n", least);
        }
    }
    fputs("END\n", picture->gnuplot);
}

// Powers of two as 1 KiB, 64 KiB, 1 MiB, few enough to be read; below the strip alone.
static void put_sizes(const struct picture *picture, const struct co_bench_call *call, bool has_labels)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int low = 63, high = 0;
    for (int i = 0; i < picture->results->point_count; i++) {
        const struct co_bench_point *point = &picture->results->points[i];
        if (is_in(picture, point, call) && point->bytes > 0) {
            int power = 63 - __builtin_clzll(point->bytes);
            low = power < low ? power : low;
            high = power > high ? power : high;
        }
    }
    int apart = (high - low) / LABELS_MOST + 1;
    fputs("set xtics (", picture->gnuplot);
    for (int power = low; power <= high; power += apart) {
        char label[16] = "";
        if (has_labels) {
            snprintf(label, sizeof label, "%llu %s", 1ULL << power % 10, units[power / 10]);
        }
        fprintf(picture->gnuplot, "%s'%s' %llu", power == low ? "" : ", ", label, 1ULL << power);
    }
    fputs(")\n", picture->gnuplot);
}

static void put_steps(const struct picture *picture, const struct co_bench_call *call, bool has_labels)
{
    if (call->has_depth) {
        fprintf(picture->gnuplot, "set xtics autofreq\nset format x '%s'\nset xtics add ('%s' 0.5)\n",
                has_labels ? "%g" : "", has_labels ? "0" : "");
    } else {
        put_sizes(picture, call, has_labels);
    }
}

static void put_times(FILE *gnuplot)
{
    static const char *const labels[] = {"10 ns", "100 ns", "1 us", "10 us", "100 us", "1 ms",
                                         "10 ms", "100 ms", "1 s",  "10 s",  "100 s"};
    double us = 0.01;
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++, us *= 10) {
        fprintf(gnuplot, "%s'%s' %g", i == 0 ? "set ytics (" : ", ", labels[i], us);
    }
    fputs(")\n", gnuplot);
}

// Its lower left corner and its size, as shares of the picture.
struct cell {
    double x, y, width, height;
};

static void put_panel(const struct picture *picture, const struct co_bench_call *call, struct cell cell)
{
    FILE *gnuplot = picture->gnuplot;
    double strip = cell.height * STRIP_SHARE;
    put_data(picture, call);
    fprintf(gnuplot,
            "set lmargin 10\nset rmargin 3\nset logscale xy\nset xrange [%s:*]\nset origin %g,%g\nset size %g,%g\n",
            call->has_depth ? "0.4" : "*", cell.x, cell.y + strip, cell.width, cell.height - strip);
    fputs("set bmargin 1\nset tmargin 2\nset title '", gnuplot);
    co_plot_put_text(gnuplot, call->title);
    fputs("'\nset key left top\nunset xlabel\nset ylabel\n", gnuplot);
    put_steps(picture, call, false);
    put_times(gnuplot);
    fputs("plot $data using 1:2 with linespoints lw 2 pt 7 ps 0.6 lc rgb '" STOCK "' title 'stock', "
          "'' using 1:3 with linespoints lw 2 pt 5 ps 0.6 lc rgb '" CASTOFF "' title 'castoff'",
          gnuplot);
    if (picture->bits_per_s > 0 && !call->has_depth && picture->results->points[0].place.nodes > 1) {
        fputs(", '' using 1:7 with lines lw 1.5 dt 2 lc rgb '#666666' title 'the link alone'", gnuplot);
    }
    fprintf(gnuplot, "\nset origin %g,%g\nset size %g,%g\nset bmargin 3\nset tmargin 0\nunset title\nunset key\n",
            cell.x, cell.y, cell.width, strip);
    fprintf(gnuplot, "set ytics autofreq\nset ylabel 'stock / castoff'\nset xlabel '%s'\n",
            call->has_depth ? "depth" : "bytes");
    put_steps(picture, call, true);
    fputs("plot $data using 1:5:6 with filledcurves fs transparent solid 0.25 noborder lc rgb '" CASTOFF "', "
          "'' using 1:4 with linespoints lw 2 pt 5 ps 0.6 lc rgb '" CASTOFF "', 1 with lines lw 1 lc rgb '#000000'\n",
          gnuplot);
}

// The processor, or nothing.
static void read_machine(char *text, size_t room)
{
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    *text = '\0';
    while (file != NULL && *text == '\0' && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            snprintf(text, room, ", %.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void say_title(const struct picture *picture, char *title, size_t room)
{
    const struct co_bench_point *first = &picture->results->points[0];
    char machine[128];
    read_machine(machine, sizeof machine);
    const char *what = co_bench_call_find(first->call)->is_message ? "a message" : "the slowest rank";
    int used = snprintf(title, room, "median of %s: %d ranks", what, first->ranks);
    if (first->place.nodes > 0) {
        used += snprintf(title + used, room - (size_t)used, " on %d host%s", first->place.nodes,
                         first->place.nodes > 1 ? "s" : "");
    }
    if (picture->bits_per_s > 0) {
        used += snprintf(title + used, room - (size_t)used, ", links of %g Mbit/s", picture->bits_per_s / 1e6);
    }
    snprintf(title + used, room - (size_t)used, "%s", machine);
}

int co_bench_svg_write(const struct co_bench_results *results, const char *path, char *why, size_t why_room)
{
    struct picture picture = {.results = results, .bits_per_s = rate_of(co_environment("CASTOFF_LAB_RATE"))};
    const struct co_bench_call *call;
    char title[256] = "castoff bench";
    int panels = 0, done = 0;
    for (int c = 0; results->point_count > 0 && (call = co_bench_call_at(c)) != NULL; c++) {
        panels += count_points(&picture, call) > 0;
    }
    int columns = panels < COLUMNS_MOST ? panels > 0 ? panels : 1 : COLUMNS_MOST;
    int rows = panels > 0 ? (panels + columns - 1) / columns : 1;
    if (panels > 0) {
        say_title(&picture, title, sizeof title);
    }
    picture.gnuplot = co_plot_panels_open(path, title, columns, rows, why, why_room);
    if (!picture.gnuplot) {
        return -EIO;
    }
    double top = 1 - (double)TITLE_PIXELS / (CO_PLOT_PANEL * rows), height = top / rows;
    for (int c = 0; panels > 0 && (call = co_bench_call_at(c)) != NULL; c++) {
        if (count_points(&picture, call) > 0) {
            struct cell cell = {(double)(done % columns) / columns, top - (done / columns + 1) * height, 1.0 / columns,
                                height};
            put_panel(&picture, call, cell);
            done++;
        }
    }
    fputs("unset multiplot\n", picture.gnuplot);
    snprintf(why, why_room, "gnuplot has not written all of it");
    return co_plot_close(picture.gnuplot, path);
}
