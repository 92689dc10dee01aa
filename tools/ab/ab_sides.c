// SPDX-License-Identifier: BSD-3-Clause
//
// The two command lines that castoff ab compares. For mpirun's the preload goes before the program; where the line
// holds "castoff run" already (srun castoff run ./app) the side without leaves it out; any other command is run under
// "castoff run" itself. Cold.
#include "ab.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/launch/launcher.h"

// Position of the word "castoff" in front of "run", or -1.
static int find_castoff_run(char **argv)
{
    for (int i = 0; argv[i] && argv[i + 1]; i++) {
        const char *slash = strrchr(argv[i], '/');
        if (strcmp(slash ? slash + 1 : argv[i], "castoff") == 0 && strcmp(argv[i + 1], "run") == 0) {
            return i;
        }
    }
    return -1;
}

// The words of `argv` with those from `at` to `until` replaced, by none where count is 0.
static char **splice(char **argv, int argc, int at, int until, char *const *words, int count)
{
    char **result = calloc((size_t)(argc + count) + 1, sizeof *result);
    if (result) {
        memcpy(result, argv, (size_t)at * sizeof *argv);
        if (count > 0) {
            memcpy(result + at, words, (size_t)count * sizeof *words);
        }
        memcpy(result + at + count, argv + until, (size_t)(argc - until) * sizeof *argv);
    }
    return result;
}

// Where the program stands behind "castoff run" and its options.
static int program_after(char **argv, int at)
{
    static const char *const with_value[] = {"--set", "--report", "--env", "--path"};
    at += 2;
    while (argv[at] && argv[at][0] == '-') {
        bool is_end = strcmp(argv[at], "--") == 0;
        for (int i = 0; i < 4 && argv[at + 1]; i++) {
            if (strcmp(argv[at], with_value[i]) == 0) {
                at++;
                break;
            }
        }
        at++;
        if (is_end) {
            break;
        }
    }
    return at;
}

static int make(struct co_ab_sides *sides, int argc, char **argv, char *why, size_t why_room)
{
    const struct co_wrapper *wrapper = &sides->wrapper;
    int at = find_castoff_run(argv);
    if (at >= 0) {
        int program = program_after(argv, at);
        // Their own options stay, ours come behind them so that --set wins.
        bool has_end = strcmp(argv[program - 1], "--") == 0;
        sides->made[AB_WITHOUT] = splice(argv, argc, at, program, NULL, 0);
        sides->made[AB_WITH] = splice(argv, argc, program - has_end, program, wrapper->words + 2, wrapper->count - 2);
        return sides->made[AB_WITHOUT] && sides->made[AB_WITH] ? 0 : -ENOMEM;
    }
    if (co_launcher_is_mpirun(argv[0])) {
        struct co_launcher_plan plan;
        int failed = co_launcher_plan_make(&plan, argc, argv, wrapper->words, wrapper->count, why, why_room);
        sides->made[AB_WITH] = failed ? NULL : plan.argv;
        return failed;
    }
    sides->made[AB_WITH] = splice(argv, argc, 0, 0, wrapper->words, wrapper->count);
    return sides->made[AB_WITH] ? 0 : -ENOMEM;
}

int co_ab_sides_make(struct co_ab_sides *sides, char *const *settings, int argc, char **argv, char *why,
                     size_t why_room)
{
    *sides = (struct co_ab_sides){0};
    snprintf(why, why_room, "out of memory, or too many CASTOFF_ variables");
    int failed = co_wrapper_make(&sides->wrapper, settings);
    failed = failed ? failed : make(sides, argc, argv, why, why_room);
    if (failed) {
        co_ab_sides_release(sides);
        return failed;
    }
    for (int side = 0; side < AB_SIDES; side++) {
        sides->argv[side] = sides->made[side] ? sides->made[side] : argv;
    }
    return 0;
}

void co_ab_sides_release(struct co_ab_sides *sides)
{
    free(sides->made[AB_WITHOUT]);
    free(sides->made[AB_WITH]);
    co_wrapper_release(&sides->wrapper);
    *sides = (struct co_ab_sides){0};
}
