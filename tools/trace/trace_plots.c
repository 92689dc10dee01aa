// SPDX-License-Identifier: BSD-3-Clause
//
// Plots of an analysis by gnuplot: each as SVG and as PNG.
#include "trace_output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "tools/output/plot.h"

enum { CALLS_MOST = 16, LABELS_MOST = 16 };

// The calls that are made most, as bars.
static void plot_calls(const struct co_trace_output *output, FILE *gnuplot)
{
    bool is_done[CO_CALL_COUNT] = {false};
    fprintf(gnuplot, "$data << END\n");
    for (int i = 0; i < CALLS_MOST; i++) {
        unsigned most = CO_CALL_COUNT;
        for (unsigned id = 0; id < CO_CALL_COUNT; id++) {
            if (!is_done[id] && output->analysis->calls[id] > 0 &&
                (most == CO_CALL_COUNT || output->analysis->calls[id] > output->analysis->calls[most])) {
                most = id;
            }
        }
        if (most < CO_CALL_COUNT) {
            is_done[most] = true;
            fprintf(gnuplot, "\"%s\" %" PRIu64 "\n", co_call_rows[most].name + 4, output->analysis->calls[most]);
        }
    }
    fprintf(gnuplot, "END\nset style fill solid 0.6\nset boxwidth 0.8\nset logscale y\nset yrange [0.5:*]\n"
                     "set xtics rotate by -45 noenhanced\nset ylabel 'calls'\nunset key\n"
                     "plot $data using 0:2:xtic(1) with boxes lc rgb '#4477aa'\n");
}

static void plot_depth(const struct co_trace_output *output, FILE *gnuplot)
{
    const struct co_analysis *analysis = output->analysis;
    fprintf(gnuplot, "$data << END\n");
    for (size_t i = 0; i < analysis->published_count; i++) {
        double walked = 0;
        for (size_t j = 0; j < analysis->replay.matcher_count; j++) {
            const struct co_replay_matcher *matcher = &analysis->matchers[j];
            if (matcher->bins == analysis->published[i].bins && matcher->lanes == analysis->matchers[0].lanes) {
                walked = co_analysis_walked(matcher);
            }
        }
        fprintf(gnuplot, "%" PRIu32 " %.4f %" PRIu32 " %.4f\n", analysis->published[i].bins,
                analysis->published[i].average, analysis->published[i].largest, walked);
    }
    fprintf(
        gnuplot,
        "END\nset key outside bottom center horizontal\nset logscale x 2\nset xlabel 'bins'\nset ylabel 'entries'\nset yrange [0:*]\n"
        "plot $data using 1:2 with linespoints lw 2 lc rgb '#4477aa' title 'depth, average', "
        "'' using 1:3 with linespoints lw 2 lc rgb '#cc6677' title 'depth, most', "
        "'' using 1:4 with linespoints lw 2 lc rgb '#228833' title 'looked at for a match'\n");
}

static void plot_moments(const struct co_trace_output *output, FILE *gnuplot)
{
    const struct co_replay_result *replay = &output->analysis->replay;
    fprintf(gnuplot, "$data << END\n");
    for (int i = 0; i < CO_REPLAY_TIMES; i++) {
        fprintf(gnuplot, "%.9f %" PRIu32 " %" PRIu32 "\n", (double)replay->span_ns / 1e9 * i / CO_REPLAY_TIMES,
                replay->moments[i].posted, replay->moments[i].unexpected);
    }
    fprintf(
        gnuplot,
        "END\nset key outside bottom center horizontal\nset xlabel 'seconds'\nset ylabel 'most at one rank'\nset yrange [0:*]\n"
        "plot $data using 1:2 with steps lw 2 lc rgb '#4477aa' title 'posted', "
        "'' using 1:3 with steps lw 2 lc rgb '#cc6677' title 'unexpected'\n");
}

static void plot_talk(const struct co_trace_output *output, FILE *gnuplot)
{
    const struct co_replay_result *replay = &output->analysis->replay;
    fprintf(gnuplot, "$data << END\n");
    for (uint32_t from = 0; from < replay->talk_ranks; from++) {
        for (uint32_t to = 0; to < replay->talk_ranks; to++) {
            fprintf(gnuplot, "%" PRIu64 " ", replay->talk[from * replay->talk_ranks + to]);
        }
        fprintf(gnuplot, "\n");
    }
    if (replay->talk_ranks == 0) {
        fprintf(gnuplot, "0\n");
    }
    uint32_t apart = replay->talk_ranks / LABELS_MOST + 1;
    fprintf(gnuplot, "END\nset xtics %" PRIu32 "\nset ytics %" PRIu32 "\nunset grid\n", apart, apart);
    fprintf(gnuplot, "set xlabel 'to rank'\nset ylabel 'from rank'\nset cblabel 'messages'\nunset key\n"
                     "set palette defined (0 '#ffffff', 1 '#4477aa', 2 '#221133')\nset size square\n"
                     "set autoscale fix\nset cbrange [0:*]\nplot $data matrix with image\n");
}

static const struct {
    const char *name, *title;
    void (*plot)(const struct co_trace_output *output, FILE *gnuplot);
} plots[] = {
    {"calls", "calls", plot_calls},
    {"depth", "depth by bins", plot_depth},
    {"moments", "queues over time", plot_moments},
    {"talk", "who sends to whom", plot_talk},
};

static int write_one(const struct co_trace_output *output, size_t i, const char *directory, bool is_png, char *why,
                     size_t room)
{
    char path[4096], title[128], name[81];
    const char *slash = strrchr(output->name, '/');
    snprintf(path, sizeof path, "%s/%s.%s", directory, plots[i].name, is_png ? "png" : "svg");
    co_plain_line(name, sizeof name, slash != NULL && slash[1] != '\0' ? slash + 1 : output->name);
    snprintf(title, sizeof title, "%s: %s", name, plots[i].title);
    FILE *gnuplot = is_png ? co_plot_png_open(path, title, why, room) : co_plot_svg_open(path, title, why, room);
    if (gnuplot == NULL) {
        return -ENOENT;
    }
    plots[i].plot(output, gnuplot);
    if (co_plot_close(gnuplot, path) != 0) {
        snprintf(why, room, "gnuplot has not written all of %s", path);
        return -EIO;
    }
    return 0;
}

int co_trace_plots_write(const struct co_trace_output *output, const char *directory, char *why, size_t room)
{
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        int error = -errno;
        snprintf(why, room, "%s: %s", directory, strerror(-error));
        return error;
    }
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        int error = write_one(output, i, directory, false, why, room);
        error = error != 0 ? error : write_one(output, i, directory, true, why, room);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
