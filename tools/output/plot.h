// SPDX-License-Identifier: BSD-3-Clause
//
// Plots: strips and bars in plain characters for the terminal, and SVG files by way of gnuplot. Cold.
#ifndef CASTOFF_TOOLS_OUTPUT_PLOT_H
#define CASTOFF_TOOLS_OUTPUT_PLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CO_PLOT_WIDTH 56

// One character for each of CO_PLOT_WIDTH equal steps from `low` to `high`: how many of the values fall there.
void co_plot_strip(char line[CO_PLOT_WIDTH + 1], const double *values, size_t count, double low, double high);

// A bar from 1 (the middle) on a logarithmic scale that reaches `extreme` (> 1) at either end.
void co_plot_ratio(char line[CO_PLOT_WIDTH + 1], double ratio, double extreme);

// A row of a bar plot: what it is, and how many times as fast.
struct co_plot_row {
    char label[32];
    double ratio;
    bool is_uncertain; // marked: the bar may be noise
};
void co_plot_ratios_print(FILE *stream, const struct co_plot_row *rows, size_t count);

// Starts gnuplot with its output going to `path` as SVG; the caller writes commands and closes. NULL with a sentence
// in why when there is no gnuplot or the file cannot be written.
FILE *co_plot_svg_open(const char *path, const char *title, char *why, size_t why_room);
FILE *co_plot_png_open(const char *path, const char *title, char *why, size_t why_room);
// A picture of panels, rows and columns of them, under one title: the caller places them.
#define CO_PLOT_PANEL 480 // pixels of a side
FILE *co_plot_panels_open(const char *path, const char *title, int columns, int rows, char *why, size_t why_room);
// Inside gnuplot's single quotes, where two of them are one.
void co_plot_put_text(FILE *gnuplot, const char *text);
int co_plot_close(FILE *gnuplot, const char *path); // 0, or -EIO when gnuplot failed or the picture has no end

#endif
