// SPDX-License-Identifier: BSD-3-Clause
//
// castoff bench: the built-in comparison of collectives, on this machine or in the laboratory (bench_lab.c).
// Reads options, has the jobs run (bench_job.c), prints and writes what came out. Cold.
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/settings.h"
#include "tools/launch/command.h"
#include "tools/output/output_file.h"
#include "tools/launch/set_option.h"

enum {
    OPTION_LAB = 256,
    OPTION_RATE,
    OPTION_LAB_ARGUMENTS,
    OPTION_FAMILY,
    OPTION_CALLS,
    OPTION_SIZES,
    OPTION_DEPTHS,
    OPTION_BEST,
    OPTION_STOCK_ONLY,
    OPTION_FORCE,
    OPTION_IN_TURN,
    OPTION_SECONDS,
    OPTION_ROUNDS_MIN,
    OPTION_ROUNDS_MAX,
    OPTION_BATCH,
    OPTION_LATE,
    OPTION_ROOT,
    OPTION_COMPUTE,
    OPTION_BLOCKS,
    OPTION_PIN,
    OPTION_MPIRUN,
    OPTION_SET,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_SVG,
    OPTION_TUNE,
    OPTION_PLOT
};

static const struct option long_options[] = {
    {"lab", required_argument, NULL, OPTION_LAB},
    {"rate", required_argument, NULL, OPTION_RATE},
    {"lab-options", required_argument, NULL, OPTION_LAB_ARGUMENTS},
    {"family", required_argument, NULL, OPTION_FAMILY},
    {"calls", required_argument, NULL, OPTION_CALLS},
    {"sizes", required_argument, NULL, OPTION_SIZES},
    {"depths", required_argument, NULL, OPTION_DEPTHS},
    {"stock-best", no_argument, NULL, OPTION_BEST},
    {"stock-only", no_argument, NULL, OPTION_STOCK_ONLY},
    {"force", no_argument, NULL, OPTION_FORCE},
    {"in-turn", no_argument, NULL, OPTION_IN_TURN},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"rounds-min", required_argument, NULL, OPTION_ROUNDS_MIN},
    {"rounds-max", required_argument, NULL, OPTION_ROUNDS_MAX},
    {"batch", required_argument, NULL, OPTION_BATCH},
    {"late-ms", required_argument, NULL, OPTION_LATE},
    {"root", required_argument, NULL, OPTION_ROOT},
    {"compute", required_argument, NULL, OPTION_COMPUTE},
    {"blocks", required_argument, NULL, OPTION_BLOCKS},
    {"pin", required_argument, NULL, OPTION_PIN},
    {"mpirun-options", required_argument, NULL, OPTION_MPIRUN},
    {"set", required_argument, NULL, OPTION_SET},
    {"json", required_argument, NULL, OPTION_JSON},
    {"csv", required_argument, NULL, OPTION_CSV},
    {"svg", required_argument, NULL, OPTION_SVG},
    {"tune", required_argument, NULL, OPTION_TUNE},
    {"plot", no_argument, NULL, OPTION_PLOT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// Options that are one string kept as it is; NULL for the others.
static const char **text_option(struct co_bench_request *request, struct co_bench_lab *lab, int option)
{
    switch (option) {
    case OPTION_LAB:
        return &lab->hosts;
    case OPTION_RATE:
        return &lab->rate;
    case OPTION_LAB_ARGUMENTS:
        return &lab->arguments;
    case OPTION_FAMILY:
        return &request->family;
    case OPTION_CALLS:
        return &request->calls_given;
    case OPTION_SECONDS:
        return &request->seconds;
    case OPTION_ROUNDS_MIN:
        return &request->rounds_min;
    case OPTION_ROUNDS_MAX:
        return &request->rounds_max;
    case OPTION_BATCH:
        return &request->batch;
    case OPTION_LATE:
        return &request->late_ms;
    case OPTION_COMPUTE:
        return &request->compute;
    case OPTION_BLOCKS:
        return &request->blocks;
    case OPTION_PIN:
        return &request->pin;
    case OPTION_ROOT:
        return &request->root;
    case OPTION_MPIRUN:
        return &request->mpirun_arguments;
    case OPTION_JSON:
        return &request->json;
    case OPTION_CSV:
        return &request->csv;
    case OPTION_SVG:
        return &request->svg;
    case OPTION_TUNE:
        return &request->tune;
    default:
        return NULL;
    }
}

static bool take_list(int count, const char *what)
{
    if (count < 1) {
        co_command_complain(&co_command_bench, "'%s' is no list of %s", optarg, what);
    }
    return count >= 1;
}

static bool take_option(struct co_bench_request *request, struct co_bench_lab *lab, int option)
{
    const char **text = text_option(request, lab, option);
    if (text) {
        *text = optarg;
        return true;
    }
    switch (option) {
    case 'n':
        request->ranks_count = co_bench_ranks_parse(optarg, request->ranks, BENCH_RANKS_MAX);
        return take_list(request->ranks_count, "numbers of ranks such as 2 or 2,4,8");
    case OPTION_SIZES:
        request->size_count = co_bench_sizes_parse(optarg, request->sizes, BENCH_SIZES_MAX);
        return take_list(request->size_count, "sizes such as 8,4K or 8:8M (below 2G)");
    case OPTION_DEPTHS:
        request->depth_count = co_bench_depths_parse(optarg, request->depths, BENCH_SIZES_MAX);
        return take_list(request->depth_count, "depths such as 0,16,4K or 16:16K");
    case OPTION_SET:
        if (request->setting_count == BENCH_SETTINGS_MAX) {
            co_command_complain(&co_command_bench, "more than %d --set", BENCH_SETTINGS_MAX);
            return false;
        }
        if (!co_set_option_take(&co_command_bench, optarg, (char[CO_SET_NAME_MAX]){0})) {
            return false;
        }
        request->settings[request->setting_count++] = optarg;
        return true;
    case OPTION_BEST:
        request->against_best = true;
        return true;
    case OPTION_STOCK_ONLY:
        request->without_castoff = true;
        return true;
    case OPTION_FORCE:
        request->forces = true;
        return true;
    case OPTION_IN_TURN:
        request->takes_turns = true;
        return true;
    default: // OPTION_PLOT
        request->plots = true;
        return true;
    }
}

// What became of a file: nothing to say where `failed` is 0.
static int refuse_file(const char *path, int failed, const char *why)
{
    if (!failed) {
        return TOOL_OK;
    }
    co_command_complain(&co_command_bench, "cannot write %s: %s", path, why && *why ? why : strerror(-failed));
    return TOOL_FAILED;
}

static int refuse_table(const char *why) // which names the file
{
    co_command_complain(&co_command_bench, "the table is not written: %s", why);
    return TOOL_FAILED;
}

static int write_files(const struct co_bench_request *request, const struct co_bench_results *results)
{
    char svg_why[256] = "", tune_why[PATH_MAX + 256] = "";
    const char *json = request->json, *csv = request->csv, *svg = request->svg, *tune = request->tune;
    int status = refuse_file(json, json ? co_bench_json_write(results, json) : 0, NULL);
    status |= refuse_file(csv, csv ? co_bench_csv_write(results, csv) : 0, NULL);
    status |= refuse_file(svg, svg ? co_bench_svg_write(results, svg, svg_why, sizeof svg_why) : 0, svg_why);
    if (tune && co_bench_tune_write(results, tune, request->command, tune_why, sizeof tune_why)) {
        status |= refuse_table(tune_why);
    }
    return status;
}

static int check_files(const struct co_bench_request *request)
{
    const char *const paths[] = {request->json, request->csv, request->svg};
    char why[PATH_MAX + 256];
    for (int i = 0; i < 3; i++) {
        int failed = co_output_check(paths[i]);
        if (failed) {
            return refuse_file(paths[i], failed, NULL);
        }
    }
    return request->tune && co_bench_tune_check(request->tune, why, sizeof why) ? refuse_table(why) : TOOL_OK;
}

static int measure(const struct co_bench_request *request)
{
    if (check_files(request)) {
        return TOOL_FAILED;
    }
    struct co_bench_results results = {0};
    int status = co_bench_jobs_run(request, &results);
    if (status == TOOL_OK && (co_bench_results_judge(&results, request->against_best) ||
                              (request->takes_turns && co_bench_turns_judge(&results, request->calls)))) {
        co_command_complain(&co_command_bench, "out of memory");
        status = TOOL_FAILED;
    }
    if (status == TOOL_OK) {
        bool is_piped = co_output_is_piped(request->json) || co_output_is_piped(request->csv);
        FILE *stream = is_piped ? stderr : stdout;
        if (request->without_castoff) {
            fputs("# stock against stock: castoff is not there, its columns are stock once more\n", stream);
        }
        co_bench_table_print(&results, stream);
        co_bench_turns_print(&results, stream);
        if (request->plots) {
            co_bench_plot_print(&results, stream);
        }
        status = write_files(request, &results);
        if (!co_bench_results_are_right(&results)) {
            co_command_complain(&co_command_bench, "wrong bytes arrived; see the check column");
            status = TOOL_FAILED;
        }
    }
    co_bench_results_release(&results);
    return status;
}

// `castoff bench p2p` is about messages, `castoff bench` about collectives; what is left unsaid depends on it.
static bool complete_request(struct co_bench_request *request)
{
    char why[BENCH_CALLS_TEXT + 128];
    if (request->is_p2p &&
        (request->tune || request->root || request->late_ms || request->compute || request->blocks || request->pin)) {
        co_command_complain(&co_command_bench, "--tune, --root, --late-ms, --compute, --blocks and --pin are for "
                                               "collectives, not for p2p");
        return false;
    }
    if (!request->is_p2p && request->depth_count > 0) {
        co_command_complain(&co_command_bench, "--depths are for messages: castoff bench p2p");
        return false;
    }
    if (request->calls_given && co_bench_calls_check(request->calls_given, request->is_p2p, why, sizeof why)) {
        co_command_complain(&co_command_bench, "%s", why);
        return false;
    }
    if (request->calls_given) {
        snprintf(request->calls, sizeof request->calls, "%s", request->calls_given);
    } else if (request->is_p2p) {
        co_bench_calls_all(true, request->calls, sizeof request->calls);
    } else {
        snprintf(request->calls, sizeof request->calls, "bcast,ibcast,allgather,iallgather");
    }
    if (request->takes_turns && co_bench_calls_check_turns(request->calls, why, sizeof why)) {
        co_command_complain(&co_command_bench, "%s", why);
        return false;
    }
    if (request->size_count == 0) {
        request->size_count = co_bench_sizes_parse(request->is_p2p ? "1:4M" : "8:1M", request->sizes, BENCH_SIZES_MAX);
    }
    if (request->depth_count == 0) {
        request->depth_count = co_bench_depths_parse("0,16,128,1K,4K,16K", request->depths, BENCH_SIZES_MAX);
    }
    for (int i = 0; i < request->ranks_count && request->is_p2p; i++) {
        if (request->ranks[i] % 2 != 0) {
            co_command_complain(&co_command_bench, "p2p wants pairs of ranks, and %d is odd", request->ranks[i]);
            return false;
        }
    }
    return true;
}

static int run(int argc, char **argv)
{
    struct co_bench_request request = {0};
    struct co_bench_lab lab = {0};
    char command[1024], why[256];
    int option;
    co_bench_command_print(command, sizeof command, argc, argv);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--model") == 0) {
            return co_bench_model_run(argc, argv);
        }
    }
    while ((option = getopt_long(argc, argv, "n:h", long_options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            return co_command_odd_option(&co_command_bench, option);
        }
        if (!take_option(&request, &lab, option)) {
            return TOOL_USAGE;
        }
    }
    if (optind < argc && strcmp(argv[optind], "p2p") == 0) {
        request.is_p2p = true;
        optind++;
    }
    if (optind < argc) {
        co_command_complain(&co_command_bench, "'%s' is not an option", argv[optind]);
        return TOOL_USAGE;
    }
    if (!lab.hosts && (lab.rate || lab.arguments)) {
        co_command_complain(&co_command_bench, "--rate and --lab-options are the laboratory's: --lab HOSTS is missing");
        return TOOL_USAGE;
    }
    if (request.ranks_count == 0) { // a number of hosts that is none is for the laboratory to refuse
        int count = co_bench_ranks_parse(lab.hosts ? lab.hosts : "2", request.ranks, 1);
        request.ranks_count = count < 0 ? 0 : count;
    }
    if (!complete_request(&request)) {
        return TOOL_USAGE;
    }
    if (co_bench_request_check(&request, why, sizeof why)) {
        co_command_complain(&co_command_bench, "%s", why);
        return TOOL_USAGE;
    }
    // Inside the laboratory the words that led here are still there.
    if (lab.hosts && !co_environment("CASTOFF_LAB_MPIRUN")) {
        return co_bench_lab_enter(&lab, argc, argv);
    }
    request.forces = request.forces || request.tune;
    request.command = command;
    // Half of the samples choose the best side, the other half must still carry an interval.
    request.rounds_min = request.rounds_min ? request.rounds_min : request.against_best ? "20" : NULL;
    return measure(&request);
}

const struct co_command co_command_bench = {
    "bench",
    run,
    "[p2p] [OPTION...]",
    "compare castoff with stock MPI in one job, size by size, on this machine or in the laboratory",
    "  -n RANKS             number of ranks, or a list: 2,4 (2; in the laboratory one a host)\n"
    "  p2p                  messages between pairs of ranks instead of collectives, with CASTOFF_P2P=yes\n"
    "  --calls LIST         of bcast, ibcast, allgather, iallgather (the default), allgatherv, iallgatherv, ialltoall,\n"
    "                       ialltoallv (both by proxies), persistent-bcast, persistent-allgather, persistent-allgatherv\n"
    "                       (start and wait of one that was made before), istart, overlap (of iallgather),\n"
    "                       overlap-ibcast, overlap-iallgatherv, overlap-ialltoall, overlap-ialltoallv;\n"
    "                       with p2p of latency, bandwidth, one-way, exchange, sendrecv, persistent, probe, test, ssend,\n"
    "                       vector, rate, posting, posted, unexpected, and the last two with -reverse, -any, -any-reverse\n"
    "                       behind them (all)\n"
    "  --sizes LIST         8,4K or 8:8M (steps of 4) or 8:8M:2 (steps of 2); the default is 8:1M, with p2p 1:4M\n"
    "  --depths LIST        p2p: receives or messages that wait beside what is timed (0,16,128,1K,4K,16K)\n"
    "  --stock-best         compare with the best of stock's algorithms and components at each size; p2p: with the\n"
    "                       better of stock's default and its component ucx\n"
    "  --stock-only         stock against stock: what this machine's noise looks like\n"
    "  --force              take every call that can be taken at all\n"
    "  --in-turn            the calls of a size in the same rounds, and how many times as long the first one of --calls\n"
    "                       takes as each other one\n"
    "  --set NAME=VALUE     a setting for castoff\n"
    "  --seconds S          time for each call and size (0.5), within\n"
    "  --rounds-min N, --rounds-max N   samples of each side (10, or 20 with --stock-best; 200)\n"
    "  --batch N            calls in a sample (so many that it lasts about a millisecond)\n"
    "  --root R             root of broadcasts (0)\n"
    "  --late-ms MS         istart: how late the last rank comes (20)\n"
    "  --compute KIND       overlap: osu (units of work until the time is over, the default), steps (a fixed\n"
    "                       amount of work) or sleep (the processor is free, as with an accelerator)\n"
    "  --pin KIND           measured: rank 0 alone on the first core, where it alone computes; other ranks and proxies on\n"
    "                       the other cores. shared: a rank on each core in turn, proxies on all. none (the default)\n"
    "  --blocks KIND        of the allgatherv and alltoallv calls: growing (each rank's longer than the one before, the default),\n"
    "                       equal, or long (the first rank's ten times the others')\n"
    "  --mpirun-options W   more words for mpirun, separated by blanks\n"
    "  --family FAMILY      of the MPI: open-mpi (the default), or mpich (make bench-mpich), where stock is MPICH's own choice\n"
    "                       and messages stay its own\n"
    "  --lab HOSTS          in the laboratory, with so many hosts (needs root)\n"
    "  --rate RATE          rate of its links, such as 200mbit, or none\n"
    "  --lab-options W      more words for tests/lab/lab.sh\n"
    "  --plot               plot in the terminal\n"
    "  --json FILE, --csv FILE, --svg FILE   write the results (- is standard output)\n"
    "  --tune FILE          write the table for CASTOFF_TUNE; rows of other calls and places stay, but those\n"
    "                       of a node give way to the numbers of ranks given now: -n 2,4,8 (castoff info --tune\n"
    "                       says what a row means)\n"
    "  --model              no measurement: links used on a fat tree\n"
    "      --hosts P --radix R --collective allgather|bcast --bytes N --leaf HOSTS --pod HOSTS\n",
};
