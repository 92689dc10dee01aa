// SPDX-License-Identifier: BSD-3-Clause
//
// Plain-character plots, and the pipe to gnuplot for SVG. Cold.
#define _GNU_SOURCE // memmem
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "tools/launch/program.h"

void co_plot_strip(char line[CO_PLOT_WIDTH + 1], const double *values, size_t count, double low, double high)
{
    static const char levels[] = " .:oO@"; // 0, 1, 2, 3-4, 5-8, more
    int found[CO_PLOT_WIDTH] = {0};
    double span = high > low ? high - low : 1;
    for (size_t i = 0; i < count; i++) {
        double place = (values[i] - low) / span * CO_PLOT_WIDTH;
        int column = place < 0 ? 0 : place >= CO_PLOT_WIDTH ? CO_PLOT_WIDTH - 1 : (int)place;
        found[column]++;
    }
    for (int i = 0; i < CO_PLOT_WIDTH; i++) {
        int level = found[i] <= 2 ? found[i] : found[i] <= 4 ? 3 : found[i] <= 8 ? 4 : 5;
        line[i] = levels[level];
    }
    line[CO_PLOT_WIDTH] = '\0';
}

void co_plot_ratio(char line[CO_PLOT_WIDTH + 1], double ratio, double extreme)
{
    const int middle = CO_PLOT_WIDTH / 2;
    double share = log(ratio) / log(extreme);
    int reach = (int)lround(fmin(fmax(share, -1), 1) * (middle - 1));
    memset(line, ' ', CO_PLOT_WIDTH);
    line[CO_PLOT_WIDTH] = '\0';
    for (int i = 1; i <= reach; i++) {
        line[middle + i] = i == reach ? '>' : '=';
    }
    for (int i = 1; i <= -reach; i++) {
        line[middle - i] = i == -reach ? '<' : '-';
    }
    line[middle] = '|';
}

void co_plot_ratios_print(FILE *stream, const struct co_plot_row *rows, size_t count)
{
    double extreme = 2;
    bool has_uncertain = false;
    int width = 20; // of the labels
    for (size_t i = 0; i < count; i++) {
        int length = (int)strlen(rows[i].label);
        width = length > width ? length : width;
        has_uncertain |= rows[i].is_uncertain;
        double away = rows[i].ratio < 1 ? 1 / rows[i].ratio : rows[i].ratio;
        extreme = away > extreme ? ceil(away) : extreme;
    }
    fprintf(stream, "# %-*s  stock is faster %*s castoff is faster   (ends: %.0f times%s)\n", width, "",
            CO_PLOT_WIDTH - 36, "", extreme, has_uncertain ? "; ?: not certain" : "");
    for (size_t i = 0; i < count; i++) {
        char line[CO_PLOT_WIDTH + 1];
        co_plot_ratio(line, rows[i].ratio, extreme);
        fprintf(stream, "# %-*s [%s] %.2f%s\n", width, rows[i].label, line, rows[i].ratio,
                rows[i].is_uncertain ? " ?" : "");
    }
}

void co_plot_put_text(FILE *stream, const char *title)
{
    char shown[256];
    co_plain_line(shown, sizeof shown, title);
    for (const char *at = shown; *at != '\0'; at++) {
        fputs(*at == '\'' ? "''" : (char[]){*at, '\0'}, stream);
    }
}

struct page {
    const char *terminal;
    int width, height; // pixels
    const char *head;  // how its title is said
};

static FILE *open_plot(const char *path, const char *title, struct page page, char *why, size_t why_room)
{
    char gnuplot[PATH_MAX];
    if (co_program_find(gnuplot, "gnuplot", co_environment("PATH"))) {
        snprintf(why, why_room, "gnuplot is not on PATH; install gnuplot-nox to get plots");
        return NULL;
    }
    if (strpbrk(path, "'\n")) {
        snprintf(why, why_room, "the name of a plot cannot hold quotes");
        return NULL;
    }
    FILE *file = fopen(path, "w"); // a clear word now instead of gnuplot's later; of names see output_file.h
    if (!file) {
        snprintf(why, why_room, "%s", strerror(errno));
        return NULL;
    }
    fclose(file);
    FILE *stream = popen("gnuplot", "w");
    if (!stream) {
        snprintf(why, why_room, "gnuplot cannot be started: %s", strerror(errno));
        return NULL;
    }
    fprintf(stream, "set terminal %s size %d,%d noenhanced background rgb 'white'\nset output '%s'\n%s '",
            page.terminal, page.width, page.height, path, page.head);
    co_plot_put_text(stream, title);
    fputs("'\nset grid\n", stream);
    return stream;
}

FILE *co_plot_svg_open(const char *path, const char *title, char *why, size_t why_room)
{
    return open_plot(path, title, (struct page){"svg", 900, 520, "set title"}, why, why_room);
}

FILE *co_plot_panels_open(const char *path, const char *title, int columns, int rows, char *why, size_t why_room)
{
    struct page page = {"svg", CO_PLOT_PANEL * (columns > 1 ? columns : 2), CO_PLOT_PANEL * rows,
                        "set multiplot title"};
    return open_plot(path, title, page, why, why_room);
}

FILE *co_plot_png_open(const char *path, const char *title, char *why, size_t why_room)
{
    return open_plot(path, title, (struct page){"pngcairo", 900, 520, "set title"}, why, why_room);
}

// gnuplot says nothing of a full disk. What is no file, a pipe say, cannot be looked at.
static bool has_end(const char *path)
{
    enum { END_BYTES = 16 };
    char end[END_BYTES];
    struct stat state;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_file = file >= 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode);
    ssize_t got = is_file && state.st_size >= END_BYTES ? pread(file, end, END_BYTES, state.st_size - END_BYTES) : 0;
    if (file >= 0) {
        close(file);
    }
    return !is_file || (got == END_BYTES &&
                        (memmem(end, END_BYTES, "</svg>", 6) != NULL || memmem(end, END_BYTES, "IEND", 4) != NULL));
}

int co_plot_close(FILE *gnuplot, const char *path)
{
    return pclose(gnuplot) == 0 && has_end(path) ? 0 : -EIO;
}
