// SPDX-License-Identifier: BSD-3-Clause
//
// An A/B comparison of whole commands: its two command lines, what it has measured, and its outputs. Cold.
#ifndef CASTOFF_TOOLS_AB_H
#define CASTOFF_TOOLS_AB_H

#include <stddef.h>
#include <stdio.h>

#include "ab_calls.h"
#include "ab_side.h"
#include "digest.h"
#include "tools/output/statistics.h"
#include "tools/launch/wrapper.h"

struct co_ab {
    char *const *command; // as the user gave it
    double *seconds[AB_SIDES];
    size_t pairs;
    struct co_digest first_output[AB_SIDES];
    enum co_digest_match repeats; // whether the runs without castoff agree among themselves
    enum co_digest_match match;   // whether those with castoff print what those without print
    char taken[1024];             // "MPI_Bcast 40 of 40, ..." as castoff reported, or ""
    struct co_ratio ratio;
    struct co_ab_calls calls; // without traces where they were not timed
};

extern const char *const co_ab_side_names[AB_SIDES];

struct co_ab_sides {
    char **argv[AB_SIDES]; // command lines, NULL at the end
    char **made[AB_SIDES]; // of these, the ones that are not the user's own
    struct co_wrapper wrapper;
};

// ab_sides.c: both command lines for the one that the user gave (argc words, NULL at the end); `settings`, NAME=VALUE
// and NULL at the end, are for the side with castoff. 0 or -errno with one sentence in why. The user's words stay the
// user's, and must stay.
int co_ab_sides_make(struct co_ab_sides *sides, char *const *settings, int argc, char **argv, char *why,
                     size_t why_room);
void co_ab_sides_release(struct co_ab_sides *sides);

// ab_timed.c: runs both sides once more, with `settings` on the side with castoff, and times their calls by traces in
// `folder`, which stays empty afterwards. 0, or the status with which a run ended. Where nothing could be recorded
// `calls` has no traces.
int co_ab_time_calls(struct co_ab_calls *calls, const char *folder, char *const *settings, int argc, char **argv);

// ab_output.c
void co_ab_print(const struct co_ab *ab, FILE *stream);
// 0 or -errno; `path` "-" is standard output for JSON and CSV.
int co_ab_write_json(const struct co_ab *ab, const char *path);
int co_ab_write_csv(const struct co_ab *ab, const char *path);
int co_ab_write_svg(const struct co_ab *ab, const char *path, char *why, size_t why_room);

// Reads "MPI_X taken of seen, ..." out of a JSON report; "" when there is none or nothing was seen.
void co_ab_read_report(const char *path, char *text, size_t room);

#endif
