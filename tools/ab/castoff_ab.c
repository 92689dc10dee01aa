// SPDX-License-Identifier: BSD-3-Clause
//
// castoff ab: runs one command without and with castoff, in turn, and says what the difference is worth. Reads the
// options, runs and compares; the two command lines are made in ab_sides.c, the outputs in ab_output.c. Cold.
#include "tools/launch/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ab.h"
#include "base/preload.h"
#include "base/settings.h"
#include "tools/launch/child.h"
#include "tools/output/output_file.h"
#include "tools/launch/places.h"
#include "tools/launch/set_option.h"
#include "tools/output/scratch.h"

enum { SETTINGS_MAX = 64, OPTION_WARM_UP = 256, OPTION_JSON, OPTION_CSV, OPTION_SVG, OPTION_SHOW, OPTION_NO_CALLS };

struct request {
    int pairs, warm_up;
    const char *json, *csv, *svg;
    bool shows_output, has_no_calls;
    char *settings[SETTINGS_MAX + 3]; // the user's, that of the report, and the end
    int setting_count;
    int argc;
    char **argv; // of the command
    struct co_ab_sides sides;
    struct co_scratch scratch; // for what castoff writes; without a path when no place was found
    char *report;              // where castoff's side reports, NULL when it is the user's
};

static const struct option long_options[] = {
    {"warm-up", required_argument, NULL, OPTION_WARM_UP},
    {"json", required_argument, NULL, OPTION_JSON},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"set", required_argument, NULL, 's'},
    {"show", no_argument, NULL, OPTION_SHOW},
    {"no-calls", no_argument, NULL, OPTION_NO_CALLS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool take_number(const char *text, int lowest, int *number)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (*end || end == text || value < lowest || value > 100000) {
        co_command_complain(&co_command_ab, "'%s' is not a number from %d to 100000", text, lowest);
        return false;
    }
    *number = (int)value;
    return true;
}

static bool take_option(struct request *request, int option)
{
    switch (option) {
    case 'n':
        return take_number(optarg, 1, &request->pairs);
    case OPTION_WARM_UP:
        return take_number(optarg, 0, &request->warm_up);
    case OPTION_JSON:
        request->json = optarg;
        return true;
    case OPTION_CSV:
        request->csv = optarg;
        return true;
    case OPTION_SVG:
        request->svg = optarg;
        return true;
    case OPTION_SHOW:
        request->shows_output = true;
        return true;
    case OPTION_NO_CALLS:
        request->has_no_calls = true;
        return true;
    default: // 's'
        if (request->setting_count == SETTINGS_MAX) {
            co_command_complain(&co_command_ab, "more than %d --set", SETTINGS_MAX);
            return false;
        }
        if (!co_set_option_take(&co_command_ab, optarg, (char[CO_SET_NAME_MAX]){0})) {
            return false;
        }
        request->settings[request->setting_count++] = optarg;
        return true;
    }
}

// Where the table and the command's output go: standard output belongs to JSON and CSV when they are asked for there.
static FILE *stream_for_people(const struct request *request)
{
    return co_output_is_piped(request->json) || co_output_is_piped(request->csv) ? stderr : stdout;
}

struct output {
    struct co_digest digest;
    FILE *shown; // NULL: not shown
};

static void take_output(void *arg, const char *bytes, size_t count)
{
    struct output *output = arg;
    co_digest_add(&output->digest, bytes, count);
    if (output->shown) {
        fwrite(bytes, 1, count, output->shown);
    }
}

static enum co_digest_match worse(enum co_digest_match a, enum co_digest_match b)
{
    return a > b ? a : b;
}

// One run of a side; `number` counts from 0 over warm-up and measured pairs.
static int run_side(const struct request *request, struct co_ab *ab, int side, int number)
{
    struct co_child_result result;
    struct output output = {.shown = request->shows_output ? stream_for_people(request) : NULL};
    co_digest_start(&output.digest);
    int failed = co_child_run(&result, request->sides.argv[side], take_output, NULL, &output);
    co_digest_end(&output.digest);
    if (failed) {
        co_command_complain(&co_command_ab, "cannot start '%s': %s", request->sides.argv[side][0], strerror(-failed));
        return failed == -EACCES ? TOOL_CANNOT_EXECUTE : TOOL_NOT_FOUND;
    }
    if (result.interrupted) {
        return 128 + result.interrupted;
    }
    if (result.status) {
        co_command_complain(&co_command_ab, "run %d %s castoff ended with status %d", number + 1,
                            co_ab_side_names[side], result.status);
        return result.status;
    }
    if (number == 0) {
        ab->first_output[side] = output.digest;
    }
    const struct co_digest *expected = &ab->first_output[AB_WITHOUT];
    enum co_digest_match match = co_digest_compare(expected, &output.digest);
    *(side == AB_WITHOUT ? &ab->repeats : &ab->match) = worse(side == AB_WITHOUT ? ab->repeats : ab->match, match);
    if (number >= request->warm_up) {
        ab->seconds[side][number - request->warm_up] = (double)result.elapsed_ns * 1e-9;
    }
    return TOOL_OK;
}

static int run_all(const struct request *request, struct co_ab *ab)
{
    for (int number = 0; number < request->warm_up + request->pairs; number++) {
        // The first without, so that its output is there to compare with; then each side leads in turn.
        for (int i = 0; i < AB_SIDES; i++) {
            int side = number % 2 ? AB_SIDES - 1 - i : i;
            int status = run_side(request, ab, side, number);
            if (status) {
                return status;
            }
        }
        if (isatty(STDERR_FILENO)) {
            fprintf(stderr, "\rpair %d of %d ", number + 1, request->warm_up + request->pairs);
        }
    }
    if (isatty(STDERR_FILENO)) {
        fputs("\r                              \r", stderr);
    }
    return TOOL_OK;
}

static int write_outputs(const struct request *request, const struct co_ab *ab)
{
    char why[200] = "";
    int status = TOOL_OK;
    const struct {
        const char *path;
        int failed;
    } outputs[] = {
        {request->json, request->json ? co_ab_write_json(ab, request->json) : 0},
        {request->csv, request->csv ? co_ab_write_csv(ab, request->csv) : 0},
        {request->svg, request->svg ? co_ab_write_svg(ab, request->svg, why, sizeof why) : 0},
    };
    for (int i = 0; i < 3; i++) {
        if (outputs[i].failed) {
            co_command_complain(&co_command_ab, "cannot write %s: %s", outputs[i].path,
                                i == 2 ? why : strerror(-outputs[i].failed));
            status = TOOL_FAILED;
        }
    }
    return status;
}

static bool sets(const struct request *request, const char *name)
{
    size_t bytes = strlen(name);
    for (int i = 0; i < request->setting_count; i++) {
        const char *given = request->settings[i];
        given += strncmp(given, "CASTOFF_", 8) == 0 ? 8 : 0;
        if (strncmp(given, name, bytes) == 0 && given[bytes] == '=') {
            return true;
        }
    }
    return false;
}

// A report from each run of castoff's side, in a file that only serves the line "taken by castoff".
static void ask_for_report(struct request *request)
{
    static char setting[PATH_MAX];
    if (co_scratch_open(&request->scratch, "castoff-ab") == 0 && !sets(request, "REPORT")) {
        snprintf(setting, sizeof setting, "CASTOFF_REPORT=%s/report.json", request->scratch.path);
        request->report = strchr(setting, '=') + 1;
        request->settings[request->setting_count] = setting;
    }
}

static int check_outputs(const struct request *request)
{
    const char *const paths[] = {request->json, request->csv, request->svg};
    for (int i = 0; i < 3; i++) {
        int failed = co_output_check(paths[i]);
        if (failed) {
            co_command_complain(&co_command_ab, "cannot write %s: %s", paths[i], strerror(-failed));
            return TOOL_FAILED;
        }
    }
    return TOOL_OK;
}

// Of a program without calls that castoff serves none are timed, and of one that is recorded anyway.
static bool times_calls(const struct request *request, const struct co_ab *ab)
{
    bool has_calls = *ab->taken || !request->report;
    return has_calls && request->scratch.path && !request->has_no_calls && !sets(request, "RECORD");
}

static int compare(struct request *request, struct co_ab *ab)
{
    if (check_outputs(request)) {
        return TOOL_FAILED;
    }
    ab->pairs = (size_t)request->pairs;
    for (int side = 0; side < AB_SIDES; side++) {
        ab->seconds[side] = calloc(ab->pairs, sizeof(double));
        if (!ab->seconds[side]) {
            return TOOL_FAILED;
        }
    }
    int status = run_all(request, ab);
    if (status == TOOL_OK) {
        co_ab_read_report(request->report ? request->report : "", ab->taken, sizeof ab->taken);
        if (co_statistics_ratio(&ab->ratio, ab->seconds[AB_WITHOUT], ab->seconds[AB_WITH], ab->pairs)) {
            return TOOL_FAILED;
        }
        int timed = TOOL_OK;
        if (times_calls(request, ab)) {
            timed =
                co_ab_time_calls(&ab->calls, request->scratch.path, request->settings, request->argc, request->argv);
        }
        co_ab_print(ab, stream_for_people(request));
        status = write_outputs(request, ab);
        status = status == TOOL_OK ? timed : status;
        if (status == TOOL_OK && ab->repeats != CO_DIGEST_DIFFERENT && ab->match == CO_DIGEST_DIFFERENT) {
            status = TOOL_FAILED;
        }
    }
    free(ab->seconds[AB_WITHOUT]);
    free(ab->seconds[AB_WITH]);
    return status;
}

static int run(int argc, char **argv)
{
    struct request request = {.pairs = 10, .warm_up = 1};
    struct co_ab ab = {0};
    char why[256], library[PATH_MAX];
    int option;
    while ((option = getopt_long(argc, argv, "+n:h", long_options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            return co_command_odd_option(&co_command_ab, option);
        }
        if (!take_option(&request, option)) {
            return TOOL_USAGE;
        }
    }
    if (optind == argc) {
        co_command_complain(&co_command_ab, "no command given (usage: castoff ab %s)", co_command_ab.arguments);
        return TOOL_USAGE;
    }
    if (co_preload_names(co_environment("LD_PRELOAD"), "libcastoff.so")) {
        co_command_complain(&co_command_ab, "LD_PRELOAD names libcastoff.so already; without it both sides can differ");
        return TOOL_USAGE;
    }
    if (co_places_library(library)) {
        co_command_complain(&co_command_ab, "libcastoff.so is neither beside the castoff command nor in ../lib");
        return TOOL_FAILED;
    }
    ask_for_report(&request);
    request.argc = argc - optind;
    request.argv = argv + optind;
    ab.command = request.argv;
    int status = TOOL_USAGE;
    if (co_ab_sides_make(&request.sides, request.settings, request.argc, request.argv, why, sizeof why)) {
        co_command_complain(&co_command_ab, "%s", why);
    } else {
        status = compare(&request, &ab);
    }
    co_scratch_close(&request.scratch);
    return status;
}

const struct co_command co_command_ab = {
    "ab",
    run,
    "[OPTION...] -- COMMAND [ARGUMENT...]",
    "run the same command without and with castoff, interleaved, and compare wall time and output",
    "  -n PAIRS          pairs to measure (10; at least 6 give an interval)\n"
    "  --warm-up PAIRS   pairs to run before (1)\n"
    "  --set NAME=VALUE  a setting for the side with castoff\n"
    "  --json FILE       every time and the result as JSON (- is standard output)\n"
    "  --csv FILE        every time as CSV (- is standard output)\n"
    "  --svg FILE        plot (needs gnuplot)\n"
    "  --show            let the command's output through\n"
    "  --no-calls        no further run of each side that tells which calls gained the time\n"
    "Fails when a run fails (with its status), or when the output differs with castoff (1).\n",
};
