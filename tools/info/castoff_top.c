// SPDX-License-Identifier: BSD-3-Clause
//
// castoff top: what the ranks of this host are doing, from their counters while they run: a table, once or again and
// again, all counters, or JSON. Asks no rank anything, so one that hangs or is stopped is shown, too. Cold.
#include "tools/launch/command.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain_json.h"
#include "base/plain_text.h"
#include "live_ranks.h"

struct request {
    bool is_once, shows_all, as_json;
    int pid;
    const char *job;
    double interval_s;
};

// A column of the table: the sum of these counters, in this unit.
static const struct column {
    const char *heading;
    uint64_t unit;
    enum co_counter_id ids[7];
    int count;
} columns[] = {
    {"sent MB", 1000000, {CO_COUNT_DATA_SENT_BYTES}, 1},
    {"placed MB", 1000000, {CO_COUNT_DATA_PLACED_BYTES}, 1},
    {"shared MB", 1000000, {CO_COUNT_SHM_BYTES, CO_COUNT_SINGLE_COPY_BYTES}, 2},
    {"messages", 1, {CO_COUNT_MESSAGES_SENT}, 1},
    {"nacks", 1, {CO_COUNT_NACKS_SENT}, 1},
    {"stalls", 1, {CO_COUNT_WINDOW_STALLS, CO_COUNT_CREDIT_STALLS}, 2},
    {"dropped",
     1,
     {CO_COUNT_DROP_FORGED, CO_COUNT_DROP_MALFORMED, CO_COUNT_DROP_REPLAYED, CO_COUNT_DROP_STRAY,
      CO_COUNT_DROP_NO_MEMORY, CO_COUNT_STAGING_FULL, CO_COUNT_SEND_REFUSED},
     7},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static const struct option long_options[] = {
    {"once", no_argument, NULL, 'o'},      {"all", no_argument, NULL, 'a'},
    {"json", no_argument, NULL, 'j'},      {"pid", required_argument, NULL, 'p'},
    {"job", required_argument, NULL, 'n'}, {"interval", required_argument, NULL, 'i'},
    {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0},
};

static uint64_t column_sum(const struct column *column, const struct co_live_counters *counters)
{
    uint64_t sum = 0;
    for (int i = 0; i < column->count; i++) {
        sum += counters->values[column->ids[i]];
    }
    return sum;
}

static const struct co_live_rank *before_of(const struct co_live_ranks *before, const struct co_live_rank *rank)
{
    for (size_t i = 0; before != NULL && i < before->count; i++) {
        const struct co_live_rank *other = &before->ranks[i];
        if (other->pid == rank->pid && other->counters.started_ns == rank->counters.started_ns) {
            return other;
        }
    }
    return NULL;
}

static const char *state_text(char state)
{
    switch (state) {
    case 'R':
        return "runs";
    case 'S':
        return "sleeps";
    case 'D':
        return "blocked";
    case 'T':
    case 't':
        return "stopped";
    default:
        return "?";
    }
}

// Since the look before, a second, if there was one; else since the start.
static void print_rank(const struct co_live_rank *rank, const struct co_live_rank *before, double took_s)
{
    printf("  %5d %8d %-8s", rank->counters.rank, rank->pid, state_text(rank->state));
    for (int i = 0; i < COLUMNS; i++) {
        double value = (double)column_sum(&columns[i], &rank->counters);
        if (before != NULL && took_s > 0) {
            value = (value - (double)column_sum(&columns[i], &before->counters)) / took_s;
        }
        printf(" %10.*f", columns[i].unit > 1 ? 1 : 0, value / (double)columns[i].unit);
    }
    bool moves =
        before == NULL || memcmp(before->counters.values, rank->counters.values, sizeof rank->counters.values) != 0;
    printf("%s\n", moves ? "" : "  still");
}

static void print_heading(const struct co_live_ranks *found, size_t first, bool is_rate)
{
    const struct co_live_rank *rank = &found->ranks[first];
    size_t here = 0;
    while (first + here < found->count && strcmp(found->ranks[first + here].counters.job, rank->counters.job) == 0) {
        here++;
    }
    uint64_t now_ns = co_clock_wall_ns(), began_ns = rank->counters.started_ns;
    printf("job ");
    co_plain_put(stdout, rank->counters.job[0] != '\0' ? rank->counters.job : "without a name");
    printf(": ");
    co_plain_put(stdout, rank->command);
    printf(", %zu of %d rank%s here, for %.0f s%s\n", here, rank->counters.ranks, rank->counters.ranks == 1 ? "" : "s",
           now_ns > began_ns ? (double)(now_ns - began_ns) / 1e9 : 0, is_rate ? "; a second" : "");
    printf("  %5s %8s %-8s", "rank", "pid", "state");
    for (int i = 0; i < COLUMNS; i++) {
        printf(" %10s", columns[i].heading);
    }
    putchar('\n');
}

static void print_counters(const struct co_live_rank *rank)
{
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        if (rank->counters.values[i] > 0) {
            const struct co_counter_row *row = co_counter_row((enum co_counter_id)i);
            printf("        %-36s %14" PRIu64 " %s\n", row->name, rank->counters.values[i], row->unit);
        }
    }
}

static void print_table(const struct request *request, const struct co_live_ranks *found,
                        const struct co_live_ranks *before, double took_s)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct co_live_rank *rank = &found->ranks[i];
        if (i == 0 || strcmp(found->ranks[i - 1].counters.job, rank->counters.job) != 0) {
            print_heading(found, i, before != NULL);
        }
        print_rank(rank, before_of(before, rank), took_s);
        if (request->shows_all) {
            print_counters(rank);
        }
    }
    if (found->others > 0) {
        printf("%zu process%s of another version of castoff\n", found->others, found->others == 1 ? "" : "es");
    }
}

static int print_json(const struct co_live_ranks *found)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < found->count; i++) {
        const struct co_live_rank *rank = &found->ranks[i];
        json_t *counters = json_object();
        for (int id = 0; id < CO_COUNTER_COUNT; id++) {
            json_object_set_new(counters, co_counter_row((enum co_counter_id)id)->name,
                                json_integer((json_int_t)rank->counters.values[id]));
        }
        json_array_append_new(rows, json_pack("{s:o, s:i, s:i, s:i, s:s, s:o, s:o}", "job",
                                              co_plain_json(rank->counters.job), "rank", rank->counters.rank, "ranks",
                                              rank->counters.ranks, "pid", rank->pid, "state", state_text(rank->state),
                                              "command", co_plain_json(rank->command), "counters", counters));
    }
    json_t *root = json_pack("{s:o, s:I}", "ranks", rows, "of_other_versions", (json_int_t)found->others);
    if (root == NULL || json_dumpf(root, stdout, JSON_INDENT(1)) != 0) {
        return TOOL_FAILED;
    }
    putchar('\n');
    json_decref(root);
    return TOOL_OK;
}

static void keep_job(struct co_live_ranks *found, const char *job)
{
    size_t kept = 0;
    for (size_t i = 0; job != NULL && i < found->count; i++) {
        if (strcmp(found->ranks[i].counters.job, job) == 0) {
            found->ranks[kept++] = found->ranks[i];
        }
    }
    found->count = job != NULL ? kept : found->count;
}

static int look(const struct request *request, struct co_live_ranks *found)
{
    int error = co_live_ranks_find(found, request->pid);
    bool is_picky = request->pid != 0 || request->job != NULL;
    keep_job(found, request->job);
    if (error != 0) {
        co_command_complain(&co_command_top, "cannot look for ranks: %s", strerror(-error));
    } else if (found->count == 0 && !request->as_json) {
        co_command_complain(&co_command_top, "no rank of yours that castoff serves runs here%s%s",
                            is_picky ? " under that --job or --pid (castoff top --once lists all)" : "",
                            found->others > 0 ? ", but one of another version of castoff does" : "");
    }
    return error != 0 || (found->count == 0 && !request->as_json) ? TOOL_FAILED : TOOL_OK;
}

// Until the ranks have ended, or the user.
static int watch(const struct request *request)
{
    struct co_live_ranks before = {0}, now;
    uint64_t looked_ns = 0;
    int status = look(request, &now);
    while (status == TOOL_OK) {
        uint64_t now_ns = co_clock_now_ns();
        fputs("\033[H\033[J", stdout);
        print_table(request, &now, looked_ns != 0 ? &before : NULL, (double)(now_ns - looked_ns) / 1e9);
        fflush(stdout);
        co_live_ranks_free(&before);
        before = now;
        looked_ns = now_ns;
        struct timespec wait = {(time_t)request->interval_s,
                                (long)((request->interval_s - (double)(time_t)request->interval_s) * 1e9)};
        nanosleep(&wait, NULL);
        co_live_ranks_find(&now, request->pid);
        keep_job(&now, request->job);
        if (now.count == 0) {
            break;
        }
    }
    co_live_ranks_free(&before);
    co_live_ranks_free(&now);
    return status;
}

static int run_once(const struct request *request)
{
    struct co_live_ranks found;
    int status = look(request, &found);
    if (status == TOOL_OK && request->as_json) {
        status = print_json(&found);
    } else if (status == TOOL_OK) {
        print_table(request, &found, NULL, 0);
    }
    co_live_ranks_free(&found);
    return status != TOOL_OK || ferror(stdout) || fflush(stdout) ? TOOL_FAILED : TOOL_OK;
}

// False: it is no number, or out of bounds.
static bool read_number(const char *text, double least, double most, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number >= least && *number <= most;
}

static int run(int argc, char **argv)
{
    struct request request = {.interval_s = 1};
    double pid = 0;
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        bool is_right = true;
        switch (option) {
        case 'o':
            request.is_once = true;
            break;
        case 'a':
            request.shows_all = true;
            break;
        case 'j':
            request.as_json = request.is_once = true;
            break;
        case 'n':
            request.job = optarg;
            break;
        case 'p':
            is_right = read_number(optarg, 1, 4194304, &pid);
            request.pid = (int)pid;
            break;
        case 'i':
            is_right = read_number(optarg, 0.1, 3600, &request.interval_s);
            break;
        default:
            return co_command_odd_option(&co_command_top, option);
        }
        if (!is_right) {
            co_command_complain(&co_command_top, "'%s' is no %s", optarg,
                                option == 'p' ? "number of a process" : "interval of 0.1 to 3600 seconds");
            return TOOL_USAGE;
        }
    }
    if (optind < argc) {
        co_command_complain(&co_command_top, "'%s' is not an option", argv[optind]);
        return TOOL_USAGE;
    }
    return request.is_once || !isatty(STDOUT_FILENO) ? run_once(&request) : watch(&request);
}

const struct co_command co_command_top = {
    "top",
    run,
    "[OPTION...]",
    "show what the ranks of this host are doing while they run: bytes, messages, losses; yours only",
    "  --once              since the start, once; so too where the output is no terminal\n"
    "  --interval SECONDS  between two looks (1); from the second on the numbers are a second's\n"
    "  --all               below each rank all of its counters that have moved\n"
    "  --job NAME          only the ranks of this job\n"
    "  --pid PID           only this process\n"
    "  --json              all counters of all ranks as JSON, once\n",
};
