// SPDX-License-Identifier: BSD-3-Clause
//
// castoff trace: how a program's messages would match, from its traces (DUMPI, its text, or castoff run --record). What
// cannot be read is named with file, place and cause, and the rest is analyzed. Runs once.
#include "tools/launch/command.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "number_list.h"
#include "tools/output/output_file.h"
#include "trace_archive.h"
#include "trace_calls.h"
#include "trace_compare.h"
#include "trace_output.h"
#include "trace_run.h"

static const struct option long_options[] = {
    {"bins", required_argument, NULL, 'b'},
    {"lanes", required_argument, NULL, 'l'},
    {"json", required_argument, NULL, 'j'},
    {"csv", required_argument, NULL, 'c'},
    {"plots", required_argument, NULL, 'P'},
    {"cache", required_argument, NULL, 'C'},
    {"no-cache", no_argument, NULL, 'N'},
    {"print", no_argument, NULL, 'p'},
    {"calls", no_argument, NULL, 'a'},
    {"no-times", no_argument, NULL, 't'},
    {"kinds", no_argument, NULL, 'k'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct choice {
    struct co_trace_run_options run;
    const char *json, *csv, *plots;
    bool prints, lists_calls, hides_times, shows_kinds;
};

static int parse_numbers(struct co_number_list *list, const char *what, const char *text, uint32_t most)
{
    int error = co_number_list_parse(list, text, most);
    if (error != 0) {
        co_command_complain(&co_command_trace, "--%s %s: %s 1 to %" PRIu32 ", such as 1,16,32 or 1-%" PRIu32, what,
                            text, error == -E2BIG ? "too many numbers; there can be 64 of" : "wanted are numbers from",
                            most, most);
    }
    return error;
}

static int parse(struct choice *choice, int argc, char **argv)
{
    int option, error = 0;
    while (error == 0 && (option = getopt_long(argc, argv, "ph", long_options, NULL)) != -1) {
        switch (option) {
        case 'b':
            error = parse_numbers(&choice->run.bins, "bins", optarg, CO_REPLAY_BINS_MAX);
            break;
        case 'l':
            error = parse_numbers(&choice->run.lanes, "lanes", optarg, CO_REPLAY_LANES_MAX);
            break;
        case 'j':
            choice->json = optarg;
            break;
        case 'c':
            choice->csv = optarg;
            break;
        case 'P':
            choice->plots = optarg;
            break;
        case 'C':
            choice->run.cache = optarg;
            break;
        case 'N':
            choice->run.has_no_cache = true;
            break;
        case 'p':
            choice->prints = true;
            break;
        case 'a':
            choice->lists_calls = true;
            break;
        case 't':
            choice->hides_times = true;
            break;
        case 'k':
            choice->shows_kinds = true;
            break;
        default:
            return co_command_odd_option(&co_command_trace, option) == TOOL_OK ? 1 : -EINVAL;
        }
    }
    return error;
}

static int say_failed(const char *what, const char *path, int error)
{
    co_command_complain(&co_command_trace, "%s cannot be written to %s: %s", what, path, strerror(-error));
    return TOOL_FAILED;
}

static int write_results(const struct choice *choice, const struct co_trace_output *output)
{
    char why[256] = "";
    int status = TOOL_OK, error;
    if (!co_output_is_piped(choice->json)) {
        co_trace_summary_print(output, stdout);
    }
    if (choice->json != NULL && (error = co_trace_json_write(output, choice->json)) != 0) {
        status = say_failed("the JSON", choice->json, error);
    }
    if (choice->csv != NULL && (error = co_trace_csv_write(output, choice->csv)) != 0) {
        status = say_failed("tables", choice->csv, error);
    }
    if (choice->plots != NULL && co_trace_plots_write(output, choice->plots, why, sizeof why) != 0) {
        co_command_complain(&co_command_trace, "no plots: %s", why);
        status = TOOL_FAILED;
    }
    return status;
}

static int analyze(const struct choice *choice, char **paths, int path_count)
{
    struct co_trace_run run;
    int error = co_output_check(choice->json);
    if (error != 0) {
        return say_failed("the JSON", choice->json, error);
    }
    if ((error = co_output_check_directory(choice->csv)) != 0) {
        return say_failed("tables", choice->csv, error);
    }
    if ((error = co_output_check_directory(choice->plots)) != 0) {
        return say_failed("plots", choice->plots, error);
    }
    int status = co_trace_run_open(&run, &choice->run, paths, (size_t)path_count);
    if (run.is_analyzed) {
        const struct co_trace_output output = {paths[0], &run.application, &run.analysis};
        int written = write_results(choice, &output);
        status = status == TOOL_OK ? written : status;
        if (!run.analysis.is_alike) {
            co_command_complain(&co_command_trace, "matchers pair differently: a fault of castoff");
            status = TOOL_FAILED;
        }
    }
    co_trace_run_close(&run);
    return status;
}

static int run(int argc, char **argv)
{
    struct choice choice = {.json = NULL};
    (void)co_number_list_parse(&choice.run.bins, "1,16,32,64,128,256", CO_REPLAY_BINS_MAX);
    (void)co_number_list_parse(&choice.run.lanes, "1,4,32", CO_REPLAY_LANES_MAX);
    signal(SIGXFSZ, SIG_IGN); // a limit on files is said as any other cause
    int parsed = parse(&choice, argc, argv);
    if (parsed != 0) {
        return parsed > 0 ? TOOL_OK : TOOL_USAGE;
    }
    if (choice.shows_kinds) {
        co_trace_calls_print_kinds();
        return TOOL_OK;
    }
    if (optind < argc && strcmp(argv[optind], "compare") == 0) {
        return co_trace_compare(&choice.run, argv + optind + 1, argc - optind - 1);
    }
    if (optind == argc) {
        co_command_complain(&co_command_trace, "no trace given (usage: castoff trace %s)", co_command_trace.arguments);
        return TOOL_USAGE;
    }
    return choice.prints || choice.lists_calls
               ? co_trace_calls(argv + optind, argc - optind, choice.prints, !choice.hides_times)
               : analyze(&choice, argv + optind, argc - optind);
}

const struct co_command co_command_trace = {
    "trace",
    run,
    "[OPTION...] DIRECTORY|ARCHIVE|FILE..., or compare A B",
    "how a program's messages would match: does hashing help it, with how many bins",
    "Reads DUMPI traces, the text of dumpi2ascii, and what castoff run --record wrote: a file for each rank.\n\n"
    "  --bins LIST       numbers of bins, 1 to 4096: 1,16,32, or 1-256, which doubles (default 1,16,32,64,128,256)\n"
    "  --lanes LIST      messages matched at once, 1 to 64 (default 1,4,32)\n"
    "  --json FILE       everything as JSON; - is standard output, in place of the summary\n"
    "  --csv DIRECTORY   tables\n"
    "  --plots DIRECTORY plots as SVG and PNG, by gnuplot\n"
    "  --cache DIRECTORY where parsed traces are kept (default .castoff-cache beside them)\n"
    "  --no-cache        keeps nothing\n"
    "  --calls           of castoff's own traces: which calls, how often, how long\n"
    "  -p, --print       of castoff's own traces: every call of every rank, a line each\n"
    "  --no-times        without times and threads, so that two runs can be compared\n"
    "  --kinds           the kinds of records and their fields, as docs/trace-format.md has them\n",
};
