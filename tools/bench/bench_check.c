// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the numbers given to castoff bench make sense, before a job or the laboratory is started for them. Pure.
// Cold.
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000000, ROUNDS_MIN = 10, ROUNDS_MIN_BEST = 20, ROUNDS_MAX = 200, SECONDS_MAX = 86400 };

struct complaint {
    char *why;
    size_t room;
};

// NULL text: not given. Returns -EINVAL with a complaint.
static int check_count(const struct complaint *complaint, const char *name, const char *text, long lowest, long *value)
{
    char *end;
    if (!text) {
        return 0;
    }
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end || errno || number < lowest || number > COUNT_MAX) {
        snprintf(complaint->why, complaint->room, "--%s '%s' is no number from %ld to %d", name, text, lowest,
                 COUNT_MAX);
        return -EINVAL;
    }
    *value = number;
    return 0;
}

static int check_seconds(const struct complaint *complaint, const char *text)
{
    char *end;
    if (!text) {
        return 0;
    }
    double seconds = strtod(text, &end);
    if (end == text || *end || !isfinite(seconds) || seconds < 0 || seconds > SECONDS_MAX) {
        snprintf(complaint->why, complaint->room, "--seconds '%s' is no number of seconds from 0 to %d", text,
                 SECONDS_MAX);
        return -EINVAL;
    }
    return 0;
}

static int check_rounds(const struct complaint *complaint, const struct co_bench_request *request)
{
    long least = request->against_best ? ROUNDS_MIN_BEST : ROUNDS_MIN, most = ROUNDS_MAX;
    if (check_count(complaint, "rounds-min", request->rounds_min, 1, &least) ||
        check_count(complaint, "rounds-max", request->rounds_max, 1, &most)) {
        return -EINVAL;
    }
    if (least > most) {
        snprintf(complaint->why, complaint->room, "--rounds-min %ld is above --rounds-max %ld", least, most);
        return -EINVAL;
    }
    return 0;
}

static int check_root(const struct complaint *complaint, const struct co_bench_request *request)
{
    long root = 0;
    if (check_count(complaint, "root", request->root, 0, &root)) {
        return -EINVAL;
    }
    for (int i = 0; i < request->ranks_count; i++) {
        if (root >= request->ranks[i]) {
            snprintf(complaint->why, complaint->room, "--root %ld is no rank of %d (0 to %d)", root, request->ranks[i],
                     request->ranks[i] - 1);
            return -EINVAL;
        }
    }
    return 0;
}

static int check_compute(const struct complaint *complaint, const char *text)
{
    if (!text || strcmp(text, "osu") == 0 || strcmp(text, "steps") == 0 || strcmp(text, "sleep") == 0) {
        return 0;
    }
    snprintf(complaint->why, complaint->room, "--compute '%s' is none of osu, steps, sleep", text);
    return -EINVAL;
}

static int check_blocks(const struct complaint *complaint, const char *text)
{
    if (!text || strcmp(text, "growing") == 0 || strcmp(text, "equal") == 0 || strcmp(text, "long") == 0) {
        return 0;
    }
    snprintf(complaint->why, complaint->room, "--blocks '%s' is none of growing, equal, long", text);
    return -EINVAL;
}

static int check_pin(const struct complaint *complaint, const char *text)
{
    if (!text || strcmp(text, "none") == 0 || strcmp(text, "measured") == 0 || strcmp(text, "shared") == 0) {
        return 0;
    }
    snprintf(complaint->why, complaint->room, "--pin '%s' is none of none, measured, shared", text);
    return -EINVAL;
}

static int check_family(const struct complaint *complaint, const char *text)
{
    if (!text || strcmp(text, "open-mpi") == 0 || strcmp(text, "mpich") == 0) {
        return 0;
    }
    snprintf(complaint->why, complaint->room, "--family '%s' is none of open-mpi, mpich", text);
    return -EINVAL;
}

int co_bench_request_check(const struct co_bench_request *request, char *why, size_t why_room)
{
    struct complaint complaint = {why, why_room};
    long unused;
    int failed = check_seconds(&complaint, request->seconds);
    failed = failed ? failed : check_rounds(&complaint, request);
    failed = failed ? failed : check_count(&complaint, "batch", request->batch, 0, &unused);
    failed = failed ? failed : check_count(&complaint, "late-ms", request->late_ms, 0, &unused);
    failed = failed ? failed : check_compute(&complaint, request->compute);
    failed = failed ? failed : check_blocks(&complaint, request->blocks);
    failed = failed ? failed : check_pin(&complaint, request->pin);
    failed = failed ? failed : check_family(&complaint, request->family);
    return failed ? failed : check_root(&complaint, request);
}
