// SPDX-License-Identifier: BSD-3-Clause
//
// Quantiles and paired ratios. The interval is that of the sign test: with a true median m each ratio lies below m
// with probability one half, so the number below is binomial, whatever the distribution. Pure. Cold.
#include "statistics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const double smallest_difference = 0.01;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void co_statistics_sort(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
}

double co_statistics_median(const double *sorted, size_t count)
{
    size_t middle = count / 2;
    return count % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double co_statistics_quantile(const double *sorted, size_t count, double q)
{
    double rank = ceil(q * (double)count);
    size_t index = rank < 1 ? 0 : (size_t)rank - 1;
    return sorted[index < count ? index : count - 1];
}

size_t co_statistics_interval_rank(size_t count)
{
    // Probability that at most k of `count` fair coins show heads, summed from k = 0 on in logarithms.
    double n = (double)count, below = 0;
    size_t rank = 0;
    for (size_t k = 0; k < count; k++) {
        double heads = (double)k;
        below += exp(lgamma(n + 1) - lgamma(heads + 1) - lgamma(n - heads + 1) - n * log(2));
        if (below > 0.025) {
            break;
        }
        rank = k + 1;
    }
    return rank;
}

static enum co_verdict judge(const struct co_ratio *ratio)
{
    bool holds_one = ratio->low <= 1 && ratio->high >= 1;
    if (holds_one || fabs(ratio->ratio - 1) < smallest_difference) {
        return CO_NO_DIFFERENCE;
    }
    return ratio->ratio > 1 ? CO_FASTER : CO_SLOWER;
}

int co_statistics_ratio(struct co_ratio *out, const double *first, const double *second, size_t count)
{
    double *ratios = malloc(count * sizeof *ratios);
    if (!ratios) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        ratios[i] = first[i] / second[i];
    }
    co_statistics_sort(ratios, count);
    size_t rank = co_statistics_interval_rank(count);
    size_t inner = rank ? rank - 1 : 0;
    out->ratio = co_statistics_median(ratios, count);
    out->low = ratios[inner];
    out->high = ratios[count - 1 - inner];
    out->verdict = rank ? judge(out) : CO_TOO_FEW;
    free(ratios);
    return 0;
}

double co_statistics_geometric_mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += log(values[i]);
    }
    return count ? exp(sum / (double)count) : NAN;
}

void co_statistics_ratio_text(const struct co_ratio *ratio, char *text, size_t room)
{
    if (ratio->verdict == CO_TOO_FEW) {
        snprintf(text, room, "too few pairs");
    } else {
        snprintf(text, room, "%.2f - %.2f", ratio->low, ratio->high);
    }
}
