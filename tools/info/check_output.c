// SPDX-License-Identifier: BSD-3-Clause
//
// Reads what the benchmark program and castoff's report say, line by line. Pure but for memory. Cold.
#include "check_output.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1 << 24 };

// "row CALL BYTES BATCH SIDE WRONG COUNT ns ns ...": the times, to be freed; NULL where it is another line.
static double *read_row(const char *line, char side[32], size_t *count, int *batch, unsigned long long *wrong)
{
    int at = 0;
    if (sscanf(line, "row %*s %*s %d %31s %llu %zu%n", batch, side, wrong, count, &at) != 4 || *count == 0 ||
        *count > COUNT_MAX) {
        return NULL;
    }
    double *times = calloc(*count, sizeof *times);
    const char *next = line + at;
    for (size_t i = 0; times != NULL && i < *count; i++) {
        char *end;
        times[i] = strtod(next, &end);
        next = end;
    }
    return times;
}

static int compare_times(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double sort_for_median(double *times, size_t count)
{
    if (times == NULL) {
        return 0;
    }
    qsort(times, count, sizeof *times, compare_times);
    return times[count / 2];
}

bool co_check_read_rows(struct co_check_result *result, char *text)
{
    double *times[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    int batch = 1;
    bool is_right = true;
    char *state = NULL, side[32];
    for (char *line = strtok_r(text, "\n", &state); line != NULL; line = strtok_r(NULL, "\n", &state)) {
        size_t count;
        unsigned long long wrong;
        double *row = read_row(line, side, &count, &batch, &wrong);
        if (row == NULL) {
            continue;
        }
        int which = strcmp(side, "castoff") != 0;
        is_right = is_right && wrong == 0;
        free(times[which]);
        times[which] = row;
        counts[which] = count;
    }
    if (times[0] != NULL && times[1] != NULL) {
        size_t both = counts[0] < counts[1] ? counts[0] : counts[1];
        result->fades_after_s = co_check_fades_after(times[0], times[1], both, batch);
    }
    result->castoff_ns = sort_for_median(times[0], counts[0]);
    result->stock_ns = sort_for_median(times[1], counts[1]);
    free(times[0]);
    free(times[1]);
    return is_right;
}

static void keep_reason(struct co_check_result *result, const char *why)
{
    if (result->why[0] == '\0') {
        snprintf(result->why, sizeof result->why, "%s", why);
    }
}

void co_check_read_report(struct co_check_result *result, char *text)
{
    static const char off[] = "castoff is off for this job, which runs on native MPI: ", unused[] = "not used: ";
    unsigned long long again = 0, placed = 0, unheard = 0, number;
    char *state = NULL, name[64];
    for (char *line = strtok_r(text, "\n", &state); line != NULL; line = strtok_r(NULL, "\n", &state)) {
        const char *found = strstr(line, off);
        if (found != NULL) {
            keep_reason(result, found + strlen(off));
        } else if (strncmp(line, "udp: ", 5) == 0 || strncmp(line, "verbs: ", 7) == 0) {
            const char *rest = strchr(line, ' ') + 1;
            if (strncmp(rest, unused, strlen(unused)) == 0) {
                keep_reason(result, rest + strlen(unused));
            } else {
                result->has_multicast = true;
            }
        } else if (sscanf(line, " %63s %llu", name, &number) == 2) {
            again = strcmp(name, "retransmitted_bytes") == 0 ? number : again;
            placed = strcmp(name, "data_bytes_placed") == 0 ? number : placed;
            unheard = strcmp(name, "unheard_bytes") == 0 ? number : unheard;
        }
    }
    result->again = placed > 0 ? (double)again / (double)placed : 0;
    co_check_judge_end(result, unheard);
    // What came another way is none of the network's doing.
    result->has_multicast = result->has_multicast && placed > 0;
    keep_reason(result, "no broadcast went by it, and nothing says why (CASTOFF_LOG=debug)");
}
