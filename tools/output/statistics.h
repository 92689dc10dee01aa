// SPDX-License-Identifier: BSD-3-Clause
//
// What the tables say about samples: quantiles, and the ratio of two sides measured in pairs with an interval that
// assumes nothing about their distribution. Pure. Cold.
#ifndef CASTOFF_TOOLS_OUTPUT_STATISTICS_H
#define CASTOFF_TOOLS_OUTPUT_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

// Sorts in place.
void co_statistics_sort(double *values, size_t count);

// Of sorted values; count > 0. The median of an even count is the mean of the two in the middle; quantile is the
// smallest value that is not below the share `q` of all (nearest rank), q in (0, 1].
double co_statistics_median(const double *sorted, size_t count);
double co_statistics_quantile(const double *sorted, size_t count, double q);

enum co_verdict { CO_NO_DIFFERENCE, CO_FASTER, CO_SLOWER, CO_TOO_FEW };

// How many times as fast the second side is: the median of first[i] / second[i].
struct co_ratio {
    double ratio;
    double low, high;        // holds the true median with at least 95 % (order statistics, as in the sign test)
    enum co_verdict verdict; // CO_TOO_FEW: under six pairs there is no such interval; low and high are the extremes
};

// Pairs were measured next to each other in time, so that drift of the machine cancels. Values > 0.
// An interval that holds 1, or a ratio within 1 % of it, is CO_NO_DIFFERENCE. -ENOMEM or 0; count > 0.
int co_statistics_ratio(struct co_ratio *out, const double *first, const double *second, size_t count);

// Position k (from 1) such that the k-th smallest and k-th largest of `count` values enclose the median with at least
// 95 %; 0 when no such pair exists.
size_t co_statistics_interval_rank(size_t count);

double co_statistics_geometric_mean(const double *values, size_t count);

// The interval, "2.04 - 2.11", or "too few pairs" for one.
void co_statistics_ratio_text(const struct co_ratio *ratio, char *text, size_t room);

#endif
