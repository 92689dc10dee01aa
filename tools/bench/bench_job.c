// SPDX-License-Identifier: BSD-3-Clause
//
// Starts the benchmark program under its launcher (bench_launcher.c) and reads its rows. One job
// has castoff, stock and stock's algorithms side by side; what can be chosen of the stock MPI for a whole job only
// (components sm, han, adapt, for messages ucx; tuned's algorithms for MPI_Allgatherv) gets jobs of its own, each with
// castoff beside it. Cold.
#include "bench.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "bench_launcher.h"
#include "tools/launch/child.h"
#include "tools/launch/command.h"
#include "tools/launch/families.h"
#include "tools/launch/places.h"
#include "tools/launch/wrapper.h"

enum { LINE_MAX_BYTES = 1 << 25, FORCED = 9, PROXIED = 4 };

struct job {
    const char *name, *variable, *value;
    const char *words; // more of them for mpirun
    bool is_local_only;
    bool is_for_collectives, is_for_messages;
    const char *only_call; // NULL: for all
    int only_ranks;        // 0: for any number
};

static const struct job jobs[] = {
    {"default", NULL, NULL, NULL, false, true, true, NULL, 0},
    {"sm", "coll_sm_priority", "100", NULL, true, true, false, NULL, 0},
    {"han", "coll_han_priority", "100", NULL, false, true, false, NULL, 0},
    {"adapt", "coll_adapt_priority", "100", NULL, false, true, false, NULL, 0},
    // Open MPI 4.1 has no control variable for these that could be written.
    {"allgatherv-1", "coll_tuned_allgatherv_algorithm", "1", NULL, false, true, false, "allgatherv", 0},
    {"allgatherv-2", "coll_tuned_allgatherv_algorithm", "2", NULL, false, true, false, "allgatherv", 0},
    {"allgatherv-3", "coll_tuned_allgatherv_algorithm", "3", NULL, false, true, false, "allgatherv", 0},
    {"allgatherv-4", "coll_tuned_allgatherv_algorithm", "4", NULL, false, true, false, "allgatherv", 0},
    {"allgatherv-5", "coll_tuned_allgatherv_algorithm", "5", NULL, false, true, false, "allgatherv", 2},
    // Open MPI leaves ucx alone where it finds none of the network adapters that it knows, unless it is told not to
    // look.
    {"ucx", "pml", "ucx", "--mca opal_common_ucx_tls any --mca opal_common_ucx_devices any", false, false, true, NULL,
     0},
};

// Messages are off by default, and a comparison without them is none: unless somebody says otherwise they are on.
static int put_forced(const struct co_bench_request *request, char **settings)
{
    static char forced[][32] = {"CASTOFF_BCAST=yes",      "CASTOFF_IBCAST=yes",         "CASTOFF_ALLGATHER=yes",
                                "CASTOFF_IALLGATHER=yes", "CASTOFF_ALLGATHERV=yes",     "CASTOFF_IALLGATHERV=yes",
                                "CASTOFF_BCAST_INIT=yes", "CASTOFF_ALLGATHER_INIT=yes", "CASTOFF_ALLGATHERV_INIT=yes"};
    _Static_assert(sizeof forced / sizeof *forced == FORCED, "there is room for them");
    static char messages[] = "CASTOFF_P2P=yes";
    if (request->is_p2p && co_bench_is_mpich(request)) {
        return 0; // which keeps them
    }
    if (request->is_p2p) {
        settings[0] = messages;
        return request->forces || !co_environment("CASTOFF_P2P");
    }
    for (int i = 0; i < FORCED && request->forces; i++) {
        settings[i] = forced[i];
    }
    return request->forces ? FORCED : 0;
}

// What proxies carry, and where they are. Without them a comparison of these calls is none, so unless somebody says
// otherwise there are proxies.
static int put_proxies(const struct co_bench_request *request, char **settings)
{
    static char with[][32] = {"CASTOFF_PROXY=yes", "CASTOFF_IALLTOALL=yes", "CASTOFF_IALLTOALLV=yes"};
    static char cores[48];
    long last = sysconf(_SC_NPROCESSORS_ONLN) - 1;
    int count = 0;
    if (!strstr(request->calls, "alltoall")) {
        return 0;
    }
    for (size_t i = 0; i < sizeof with / sizeof *with && !co_environment("CASTOFF_PROXY"); i++) {
        settings[count++] = with[i];
    }
    if (request->pin && strcmp(request->pin, "none") != 0 && last > 0 && !co_environment("CASTOFF_PROXY_CORES")) {
        snprintf(cores, sizeof cores, "CASTOFF_PROXY_CORES=%d-%ld", strcmp(request->pin, "measured") == 0, last);
        settings[count++] = cores;
    }
    return count;
}

static int put_wrapper(struct co_bench_words *words, const struct co_bench_request *request)
{
    struct co_wrapper wrapper;
    char *settings[BENCH_SETTINGS_MAX + FORCED + PROXIED + 1];
    int count = put_forced(request, settings);
    count += put_proxies(request, settings + count);
    for (int i = 0; i < request->setting_count; i++) {
        settings[count++] = request->settings[i];
    }
    settings[count] = NULL;
    int failed = co_wrapper_make(&wrapper, settings);
    for (int i = 0; i < wrapper.count && !failed; i++) {
        co_bench_words_put(words, wrapper.words[i]);
    }
    return failed;
}

static void put_numbers(struct co_bench_words *words, const char *name, const size_t *numbers, int count)
{
    char text[BENCH_SIZES_MAX * 24] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%zu", i ? "," : "", numbers[i]);
    }
    co_bench_words_put_pair(words, name, text);
}

static void put_program(struct co_bench_words *words, const struct co_bench_request *request, const char *program,
                        const struct job *job)
{
    bool is_default = !job->variable;
    co_bench_words_put(words, program);
    co_bench_words_put_pair(words, "--calls", job->only_call ? job->only_call : request->calls);
    put_numbers(words, "--sizes", request->sizes, request->size_count);
    if (request->is_p2p) {
        put_numbers(words, "--depths", request->depths, request->depth_count);
    }
    co_bench_words_put_pair(words, "--seconds", request->seconds);
    co_bench_words_put_pair(words, "--rounds-min", request->rounds_min);
    co_bench_words_put_pair(words, "--rounds-max", request->rounds_max);
    co_bench_words_put_pair(words, "--batch", request->batch);
    co_bench_words_put_pair(words, "--late-ms", request->late_ms);
    co_bench_words_put_pair(words, "--root", request->root);
    co_bench_words_put_pair(words, "--compute", request->compute);
    co_bench_words_put_pair(words, "--blocks", request->blocks);
    co_bench_words_put_pair(words, "--pin", request->pin);
    if (request->takes_turns && !job->only_call) {
        co_bench_words_put(words, "--in-turn");
    }
    if (request->against_best && is_default && !request->is_p2p) {
        co_bench_words_put(words, "--algorithms");
    }
}

struct reader {
    struct co_bench_results *results;
    const char *job;
    int ranks, rows, failed;
    char *line;
    size_t used, room;
    char error[4096]; // a line of standard error
    size_t error_used;
    bool in_lab, is_off; // castoff has said that it leaves this job to native MPI
};

static void end_line(struct reader *reader)
{
    reader->line[reader->used] = '\0';
    int failed = co_bench_results_take(reader->results, reader->line, reader->job, reader->ranks);
    reader->failed = reader->failed ? reader->failed : failed;
    reader->rows += strncmp(reader->line, "row ", 4) == 0 || strncmp(reader->line, "overlap", 7) == 0;
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r%s job, %d ranks: %d rows ", reader->job, reader->ranks, reader->rows);
    }
    reader->used = 0;
}

static void end_error(struct reader *reader)
{
    reader->error[reader->error_used] = '\0';
    reader->is_off = reader->is_off || strstr(reader->error, "castoff is off for this job, which runs on native MPI: ");
    if (!reader->in_lab || !strstr(reader->error, "plm:rsh: Warning: setpgid(")) {
        co_plain_put_lines(stderr, reader->error);
    }
    reader->error_used = 0;
}

static void take_output(void *arg, const char *bytes, size_t count)
{
    struct reader *reader = arg;
    for (size_t i = 0; i < count && !reader->failed; i++) {
        if (reader->used + 1 >= reader->room) {
            size_t room = reader->room ? reader->room * 2 : 4096;
            char *grown = room > LINE_MAX_BYTES ? NULL : realloc(reader->line, room);
            if (!grown) {
                reader->failed = -ENOMEM;
                return;
            }
            reader->line = grown;
            reader->room = room;
        }
        if (bytes[i] == '\n') {
            end_line(reader);
        } else {
            reader->line[reader->used++] = bytes[i];
        }
    }
}

// All is passed on, but in the laboratory for a line that mpirun prints when a process that it started is faster than
// itself, which harms nothing.
static void take_errors(void *arg, const char *bytes, size_t count)
{
    struct reader *reader = arg;
    for (size_t i = 0; i < count; i++) {
        reader->error[reader->error_used++] = bytes[i];
        if (bytes[i] == '\n' || reader->error_used + 1 == sizeof reader->error) {
            end_error(reader);
        }
    }
}

static int complain_of_nothing(const char *why)
{
    co_command_complain(&co_command_bench, "%s: nothing to compare; --stock-only holds stock against stock", why);
    return TOOL_FAILED;
}

static int judge_run(const struct job *job, const struct co_child_result *result, const struct reader *reader)
{
    if (result->interrupted) {
        return 128 + result->interrupted;
    }
    if (reader->is_off) {
        return complain_of_nothing("castoff is off in this job, as said above");
    }
    if (result->status == 0 && reader->rows > 0 && !reader->failed) {
        return TOOL_OK;
    }
    // A component of stock that does not work here is stock's matter.
    if (job->variable) {
        printf("# stock with %s=%s gave no result here (status %d) and is left out\n", job->variable, job->value,
               result->status);
        return TOOL_OK;
    }
    co_command_complain(&co_command_bench, "the benchmark program ended with status %d%s", result->status,
                        reader->failed ? "; its output could not be read" : "");
    return result->status ? result->status : TOOL_FAILED;
}

static int run_job(const struct co_bench_request *request, struct co_bench_results *results, const struct job *job,
                   int ranks, const char *program)
{
    struct co_bench_words words = {.count = 0};
    struct reader reader = {
        .results = results, .job = job->name, .ranks = ranks, .in_lab = co_environment("CASTOFF_LAB_MPIRUN") != NULL};
    struct co_child_result result;
    struct co_bench_stock stock = {job->variable, job->value, job->words};
    co_bench_launcher_put(&words, request, &stock, ranks);
    if (!request->without_castoff && put_wrapper(&words, request)) {
        co_command_complain(&co_command_bench, "too many settings");
        return TOOL_FAILED;
    }
    put_program(&words, request, program, job);
    int failed = co_child_run(&result, words.list, take_output, take_errors, &reader);
    end_error(&reader);
    if (isatty(STDERR_FILENO)) {
        fputs("\r                                          \r", stderr);
    }
    int status = TOOL_NOT_FOUND;
    if (failed) {
        co_command_complain(&co_command_bench, "cannot start %s: %s", words.list[0], strerror(-failed));
    } else {
        status = judge_run(job, &result, &reader);
    }
    free(reader.line);
    co_bench_words_release(&words);
    return status;
}

// What castoff will read in these jobs; NULL: nothing.
static const char *setting_of(const struct co_bench_request *request, enum co_setting_id id)
{
    const char *name = co_setting_row(id)->name, *value = co_environment(name);
    size_t prefix = strlen("CASTOFF_"), length = strlen(name);
    for (int i = 0; i < request->setting_count; i++) {
        const char *setting = request->settings[i];
        const char *wanted = strncmp(setting, name, prefix) == 0 ? name : name + prefix;
        size_t count = wanted == name ? length : length - prefix;
        if (strncmp(setting, wanted, count) == 0 && setting[count] == '=') {
            value = setting + count + 1;
        }
    }
    return value && *value ? value : NULL;
}

// How many ranks of a host castoff will count as a node.
static int node_ranks_of(const struct co_bench_request *request)
{
    const char *value = request->without_castoff ? NULL : setting_of(request, CO_SET_NODE_RANKS);
    return value ? atoi(value) : 0;
}

// It says nothing in jobs that are not to have it.
static bool is_switched_off(const struct co_bench_request *request)
{
    const char *value = request->without_castoff ? NULL : setting_of(request, CO_SET_ENABLE);
    int64_t is_on = 1;
    return value && co_setting_parse(co_setting_row(CO_SET_ENABLE), value, &is_on) == 0 && !is_on;
}

static bool is_for(const struct job *job, const struct co_bench_request *request, int ranks)
{
    bool is_for_them = request->is_p2p ? job->is_for_messages : job->is_for_collectives;
    return is_for_them && (job->only_ranks == 0 || job->only_ranks == ranks) &&
           !(job->variable && co_bench_is_mpich(request)) &&
           (!job->only_call || co_bench_calls_have(request->calls, job->only_call));
}

// Exit status.
static int find_parts(const struct co_bench_request *request, char program[PATH_MAX])
{
    bool is_mpich = co_bench_is_mpich(request);
    const char *name = request->is_p2p ? "p2p" : "coll";
    const char *in_mpich = request->is_p2p ? "mpich/p2p" : "mpich/coll";
    const char *needed = is_mpich ? CO_FAMILY_LIBRARY_MPICH : "libcastoff.so";
    char library[PATH_MAX];
    if (co_places_bench_program(program, is_mpich ? in_mpich : name)) {
        co_command_complain(&co_command_bench, "the benchmark program is missing; make %s builds it",
                            is_mpich ? "bench-mpich" : "bench-programs");
        return TOOL_NOT_FOUND;
    }
    if (!request->without_castoff && co_places_preload(library, needed)) {
        co_command_complain(&co_command_bench, "%s is neither beside the castoff command nor in ../lib", needed);
        return TOOL_FAILED;
    }
    return TOOL_OK;
}

int co_bench_jobs_run(const struct co_bench_request *request, struct co_bench_results *results)
{
    char program[PATH_MAX];
    int lacking = find_parts(request, program);
    if (lacking) {
        return lacking;
    }
    if (is_switched_off(request)) {
        return complain_of_nothing("castoff is off by CASTOFF_ENABLE");
    }
    bool is_lab = co_environment("CASTOFF_LAB_MPIRUN") != NULL;
    results->node_ranks = node_ranks_of(request);
    for (int i = 0; i < request->ranks_count; i++) {
        for (size_t j = 0; j < sizeof jobs / sizeof *jobs && (j == 0 || request->against_best); j++) {
            if ((jobs[j].is_local_only && is_lab) || !is_for(&jobs[j], request, request->ranks[i])) {
                continue;
            }
            int status = run_job(request, results, &jobs[j], request->ranks[i], program);
            if (status) {
                return status;
            }
        }
    }
    return TOOL_OK;
}
