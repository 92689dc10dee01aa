// SPDX-License-Identifier: BSD-3-Clause
//
// Table, terminal plot, JSON, CSV and SVG of an A/B comparison, and the reading of castoff's report. Cold.
#include "ab.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_json.h"
#include "base/plain_text.h"
#include "tools/output/output_file.h"
#include "tools/output/plot.h"

const char *const co_ab_side_names[AB_SIDES] = {"without", "with"};

static double *sorted_copy(const struct co_ab *ab, int side)
{
    double *copy = malloc(ab->pairs * sizeof *copy);
    if (copy) {
        memcpy(copy, ab->seconds[side], ab->pairs * sizeof *copy);
        co_statistics_sort(copy, ab->pairs);
    }
    return copy;
}

static void print_output_check(const struct co_ab *ab, FILE *stream)
{
    if (ab->repeats == CO_DIGEST_DIFFERENT) {
        fputs("# output: changes from run to run without castoff too, so it was not compared\n", stream);
    } else if (ab->match == CO_DIGEST_DIFFERENT) {
        fputs("# output: DIFFERENT with castoff\n", stream);
    } else {
        fprintf(stream, "# output: the same on both sides%s\n",
                ab->match == CO_DIGEST_SAME_LINES || ab->repeats == CO_DIGEST_SAME_LINES ? " (lines in another order)"
                                                                                         : "");
    }
}

static void print_plot(double *const sorted[AB_SIDES], size_t pairs, FILE *stream)
{
    double low = sorted[AB_WITHOUT][0], high = sorted[AB_WITHOUT][pairs - 1];
    low = sorted[AB_WITH][0] < low ? sorted[AB_WITH][0] : low;
    high = sorted[AB_WITH][pairs - 1] > high ? sorted[AB_WITH][pairs - 1] : high;
    for (int side = 0; side < AB_SIDES; side++) {
        char line[CO_PLOT_WIDTH + 1];
        co_plot_strip(line, sorted[side], pairs, low, high);
        fprintf(stream, "# %-8s [%s]\n", co_ab_side_names[side], line);
    }
    fprintf(stream, "# %8s  %-*.4f%*.4f s\n", "", CO_PLOT_WIDTH / 2, low, CO_PLOT_WIDTH / 2, high);
}

// An interval that holds 1 says that nothing is proven, not that both sides are equally fast.
static void print_ratio(const struct co_ratio *ratio, FILE *stream)
{
    static const char *const words[] = {
        [CO_NO_DIFFERENCE] = "no certain difference",
        [CO_FASTER] = "castoff is faster",
        [CO_SLOWER] = "castoff is slower",
        [CO_TOO_FEW] = "too few pairs",
    };
    fprintf(stream, "# ratio without/with %.3f   %s %.3f - %.3f   %s\n", ratio->ratio,
            ratio->verdict == CO_TOO_FEW ? "all pairs" : "95% interval", ratio->low, ratio->high,
            words[ratio->verdict]);
}

void co_ab_print(const struct co_ab *ab, FILE *stream)
{
    double *sorted[AB_SIDES] = {sorted_copy(ab, AB_WITHOUT), sorted_copy(ab, AB_WITH)};
    fprintf(stream, "# castoff ab: %zu pairs, interleaved, wall time of", ab->pairs);
    for (char *const *word = ab->command; *word; word++) {
        fputc(' ', stream);
        co_plain_put(stream, *word);
    }
    fputs("\n# side        median s       min s       max s\n", stream);
    for (int side = 0; side < AB_SIDES && sorted[AB_WITHOUT] && sorted[AB_WITH]; side++) {
        fprintf(stream, "%-10s %11.4f %11.4f %11.4f\n", co_ab_side_names[side],
                co_statistics_median(sorted[side], ab->pairs), sorted[side][0], sorted[side][ab->pairs - 1]);
    }
    print_ratio(&ab->ratio, stream);
    if (*ab->taken) {
        fputs("# taken by castoff: ", stream);
        co_plain_put(stream, ab->taken);
        fputc('\n', stream);
    }
    if (co_ab_calls_are_timed(&ab->calls)) {
        co_ab_calls_print(&ab->calls, stream);
    }
    print_output_check(ab, stream);
    if (sorted[AB_WITHOUT] && sorted[AB_WITH]) {
        print_plot(sorted, ab->pairs, stream);
    }
    free(sorted[AB_WITHOUT]);
    free(sorted[AB_WITH]);
}

static json_t *json_command(const struct co_ab *ab)
{
    json_t *words = json_array();
    for (char *const *word = ab->command; *word; word++) {
        json_array_append_new(words, co_plain_json(*word));
    }
    return words;
}

static json_t *json_times(const struct co_ab *ab, int side)
{
    json_t *values = json_array();
    for (size_t i = 0; i < ab->pairs; i++) {
        json_array_append_new(values, json_real(ab->seconds[side][i]));
    }
    return values;
}

int co_ab_write_json(const struct co_ab *ab, const char *path)
{
    static const char *const verdicts[] = {"no difference", "faster", "slower", "too few pairs"};
    static const char *const matches[] = {"same", "same lines in another order", "different"};
    json_t *root = json_pack("{s:o, s:i, s:o, s:o, s:f, s:f, s:f, s:s, s:s, s:s, s:o}", "command", json_command(ab),
                             "pairs", (int)ab->pairs, "without_s", json_times(ab, AB_WITHOUT), "with_s",
                             json_times(ab, AB_WITH), "ratio", ab->ratio.ratio, "low", ab->ratio.low, "high",
                             ab->ratio.high, "verdict", verdicts[ab->ratio.verdict], "output", matches[ab->match],
                             "output_repeats", matches[ab->repeats], "taken", co_plain_json(ab->taken));
    if (!root) {
        return -ENOMEM;
    }
    if (co_ab_calls_are_timed(&ab->calls)) {
        json_object_set_new(root, "by_call", co_ab_calls_json(&ab->calls));
    }
    FILE *file = co_output_open(path);
    int failed = file ? 0 : -errno;
    if (file) {
        failed = json_dumpf(root, file, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) ? -EIO : 0;
        fputc('\n', file);
        int closed = co_output_close(file);
        failed = closed != 0 ? closed : failed;
    }
    json_decref(root);
    return failed;
}

int co_ab_write_csv(const struct co_ab *ab, const char *path)
{
    FILE *file = co_output_open(path);
    if (!file) {
        return -errno;
    }
    fputs("pair,without_s,with_s\n", file);
    for (size_t i = 0; i < ab->pairs; i++) {
        fprintf(file, "%zu,%.9f,%.9f\n", i + 1, ab->seconds[AB_WITHOUT][i], ab->seconds[AB_WITH][i]);
    }
    return co_output_close(file);
}

int co_ab_write_svg(const struct co_ab *ab, const char *path, char *why, size_t why_room)
{
    char title[120];
    snprintf(title, sizeof title, "castoff ab: ratio without/with %.3f (%.3f - %.3f)", ab->ratio.ratio, ab->ratio.low,
             ab->ratio.high);
    FILE *gnuplot = co_plot_svg_open(path, title, why, why_room);
    if (!gnuplot) {
        return -EIO;
    }
    fputs("set xlabel 'pair'\nset ylabel 'wall time, s'\nset yrange [0:*]\n"
          "plot '-' using 1:2 with linespoints title 'without', '-' using 1:2 with linespoints title 'with'\n",
          gnuplot);
    for (int side = 0; side < AB_SIDES; side++) {
        for (size_t i = 0; i < ab->pairs; i++) {
            fprintf(gnuplot, "%zu %.9f\n", i + 1, ab->seconds[side][i]);
        }
        fputs("e\n", gnuplot);
    }
    snprintf(why, why_room, "gnuplot has not written all of it");
    return co_plot_close(gnuplot, path);
}

void co_ab_read_report(const char *path, char *text, size_t room)
{
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error), *call;
    const char *name;
    size_t used = 0;
    *text = '\0';
    json_object_foreach(json_object_get(root, "calls"), name, call)
    {
        long long seen = json_integer_value(json_object_get(call, "seen"));
        long long taken = json_integer_value(json_object_get(call, "taken"));
        if (seen > 0 && used < room) {
            used +=
                (size_t)snprintf(text + used, room - used, "%s%s %lld of %lld", used ? ", " : "", name, taken, seen);
        }
    }
    json_decref(root);
}
