// SPDX-License-Identifier: BSD-3-Clause
//
// The jobs of `castoff info --check`: command lines of mpirun or srun, and what is read out of their output. Single
// thread. Cold.
#include "info_check.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "check_output.h"
#include "check_verdict.h"
#include "tools/launch/child.h"
#include "tools/launch/command.h"
#include "tools/launch/places.h"
#include "tools/launch/wrapper.h"

enum { WORDS_MAX = 512, HOSTS_MAX = 4096, OUTPUT_MAX = 1 << 26, SHOWN_MAX = 12 };

#define BCAST_BYTES "1048576"
#define ROUNDS_MAX "100000"

struct words {
    char *list[WORDS_MAX];
    int count;
};

// What a job has written.
struct output {
    char *text[2]; // standard output, standard error
    size_t used[2];
    FILE *streams[2];
};

static void put(struct words *words, const char *word)
{
    if (words->count < WORDS_MAX - 1) {
        words->list[words->count++] = strdup(word);
    }
}

static void put_split(struct words *words, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t blank = strspn(text, " "), length = strcspn(text + blank, " ");
        char *word = strndup(text + blank, length);
        if (word != NULL && length > 0) {
            put(words, word);
        }
        free(word);
        text += blank + length;
    }
}

static void put_hosts(struct words *words, const char *option, char *const *hosts)
{
    char *list = NULL;
    size_t used = 0;
    FILE *stream = hosts[0] != NULL ? open_memstream(&list, &used) : NULL;
    if (stream == NULL) {
        return;
    }
    for (int i = 0; hosts[i] != NULL; i++) {
        fprintf(stream, "%s%s", i > 0 ? "," : "", hosts[i]);
    }
    if (fclose(stream) == 0) {
        put(words, option);
        put(words, list);
    }
    free(list);
}

static void put_mpirun(struct words *words, const struct co_check_request *request)
{
    put(words, "mpirun");
    if (geteuid() == 0) {
        put(words, "--allow-run-as-root");
    }
    put_split(words, "--bind-to none --map-by ppr:1:node");
    put_split(words, request->mpirun_arguments);
    put_hosts(words, "--host", request->hosts);
}

// One of srun's names may stand for many hosts ("node[1-4]"): 0, and Slurm counts them.
static int count_hosts(char *const *hosts)
{
    int count = 0;
    for (; hosts[count] != NULL; count++) {
        if (strpbrk(hosts[count], "[,") != NULL) {
            return 0;
        }
    }
    return count;
}

static void put_srun(struct words *words, const struct co_check_request *request)
{
    // What an allocation was asked for stands in the environment of what runs in it, and srun would take it for this
    // step, too, which has a task for each host.
    static const char *const asked_for[] = {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE",
                                            "SLURM_TASKS_PER_NODE", "SLURM_DISTRIBUTION"};
    int count = count_hosts(request->hosts);
    for (size_t i = 0; i < sizeof asked_for / sizeof asked_for[0]; i++) {
        unsetenv(asked_for[i]);
    }
    put_split(words, "srun --mpi=pmix --ntasks-per-node=1 --kill-on-bad-exit=1");
    if (count > 0) {
        char nodes[32];
        snprintf(nodes, sizeof nodes, "--nodes=%d", count);
        put(words, nodes);
    }
    put_split(words, request->srun_arguments);
    put_hosts(words, "--nodelist", request->hosts);
}

// A rank on each host, under "castoff run", which carries settings there.
static int put_launcher(struct words *words, const struct co_check_request *request)
{
    static char report[] = "CASTOFF_REPORT=-", bcast[] = "CASTOFF_BCAST=yes";
    char *const settings[] = {report, bcast, NULL};
    struct co_wrapper wrapper;
    if (request->srun_arguments != NULL) {
        put_srun(words, request);
    } else {
        put_mpirun(words, request);
    }
    int failed = co_wrapper_make(&wrapper, settings);
    for (int i = 0; i < wrapper.count && !failed; i++) {
        put(words, wrapper.words[i]);
    }
    co_wrapper_release(&wrapper);
    return failed;
}

static void keep(struct output *output, int which, const char *bytes, size_t count)
{
    fflush(output->streams[which]);
    if (output->used[which] + count <= OUTPUT_MAX) {
        fwrite(bytes, 1, count, output->streams[which]);
    }
}

static void keep_output(void *arg, const char *bytes, size_t count)
{
    keep(arg, 0, bytes, count);
}

static void keep_errors(void *arg, const char *bytes, size_t count)
{
    keep(arg, 1, bytes, count);
}

static void output_free(struct output *output)
{
    free(output->text[0]);
    free(output->text[1]);
    *output = (struct output){0};
}

// The first lines that a job that failed has complained with.
static void show_errors(const char *text)
{
    int lines = 0;
    for (const char *at = text; *at != '\0' && lines < SHOWN_MAX;) {
        size_t length = strcspn(at, "\n");
        char *line = strndup(at, length);
        if (line != NULL && length > 0) {
            fputs("    ", stderr);
            co_plain_put(stderr, line);
            fputc('\n', stderr);
            lines++;
        }
        free(line);
        at += length + (at[length] == '\n');
    }
}

// An exit status; the output is the caller's to free in any case.
static int run_job(struct output *output, const struct co_check_request *request, char *const *program)
{
    struct words words = {.count = 0};
    struct co_child_result result = {.status = 0};
    *output = (struct output){0};
    for (int i = 0; i < 2; i++) {
        output->streams[i] = open_memstream(&output->text[i], &output->used[i]);
    }
    int failed = output->streams[0] == NULL || output->streams[1] == NULL ? -1 : put_launcher(&words, request);
    for (int i = 0; program[i] != NULL; i++) {
        put(&words, program[i]);
    }
    if (!failed) {
        failed = co_child_run(&result, words.list, keep_output, keep_errors, output);
    }
    for (int i = 0; i < 2; i++) {
        if (output->streams[i] != NULL) {
            fclose(output->streams[i]);
        }
    }
    for (int i = 0; i < words.count; i++) {
        free(words.list[i]);
    }
    if (failed) {
        co_command_complain(&co_command_info, "%s cannot be started: %s",
                            request->srun_arguments != NULL ? "srun" : "mpirun", strerror(-failed));
        return TOOL_NOT_FOUND;
    }
    if (result.status != 0) {
        co_command_complain(&co_command_info, "the job over the hosts ended with status %d:", result.status);
        show_errors(output->text[1]);
        return result.interrupted ? 128 + result.interrupted : TOOL_FAILED;
    }
    return TOOL_OK;
}

static int compare_hosts(const void *left, const void *right)
{
    return strcmp(((const struct co_host_facts *)left)->host, ((const struct co_host_facts *)right)->host);
}

// A status; `facts` has room for HOSTS_MAX.
static int ask_hosts(struct co_host_facts *facts, int *count, const struct co_check_request *request)
{
    static char info[] = "info", option[] = "--facts";
    char self[PATH_MAX], *program[] = {self, info, option, NULL};
    struct output output;
    *count = 0;
    if (co_places_self(self)) {
        return TOOL_FAILED;
    }
    int status = run_job(&output, request, program);
    char *state = NULL;
    for (char *line = status == TOOL_OK ? strtok_r(output.text[0], "\n", &state) : NULL;
         line != NULL && *count < HOSTS_MAX; line = strtok_r(NULL, "\n", &state)) {
        *count += co_host_facts_parse(&facts[*count], line);
    }
    output_free(&output);
    qsort(facts, (size_t)*count, sizeof *facts, compare_hosts);
    return status;
}

// A status.
static int measure(struct co_check_result *result, const struct co_check_request *request)
{
    static char words[][20] = {"--calls", "bcast", "--sizes", BCAST_BYTES, "--rounds-max", ROUNDS_MAX, "--seconds"};
    char program_path[PATH_MAX], seconds[32], *program[10] = {program_path};
    struct output output;
    if (co_places_bench_program(program_path, "coll")) {
        co_command_complain(&co_command_info, "the benchmark program is missing; make bench-programs builds it");
        return TOOL_NOT_FOUND;
    }
    for (int i = 0; i < 7; i++) {
        program[1 + i] = words[i];
    }
    snprintf(seconds, sizeof seconds, "%s", request->seconds);
    program[8] = seconds;
    result->bytes = strtoul(BCAST_BYTES, NULL, 10);
    int status = run_job(&output, request, program);
    if (status == TOOL_OK) {
        bool is_right = co_check_read_rows(result, output.text[0]);
        co_check_read_report(result, output.text[1]);
        if (!is_right) {
            co_command_complain(&co_command_info, "wrong bytes arrived");
            status = TOOL_FAILED;
        }
    }
    output_free(&output);
    return status;
}

static bool all_can(const struct co_host_facts *facts, int count)
{
    for (int i = 0; i < count; i++) {
        if (!facts[i].has_multicast || !facts[i].has_library) {
            return false;
        }
    }
    return true;
}

static int check(const struct co_check_request *request, struct co_host_facts *facts, struct co_host_facts *later,
                 int64_t *overflows)
{
    struct co_check_result result = {.hosts = facts, .overflows = overflows};
    int later_count = 0, status = ask_hosts(facts, &result.host_count, request);
    if (status != TOOL_OK) {
        return status;
    }
    if (result.host_count < 2) {
        co_command_complain(&co_command_info, "%s: two hosts at least, or the allocation of a batch system",
                            result.host_count == 0 ? "no host has answered" : "there is one host");
        return result.host_count == 0 ? TOOL_FAILED : TOOL_USAGE;
    }
    if (all_can(facts, result.host_count)) {
        status = measure(&result, request);
        if (status == TOOL_OK) {
            status = ask_hosts(later, &later_count, request);
        }
        if (status != TOOL_OK) {
            return status;
        }
    } else {
        snprintf(result.why, sizeof result.why, "not all hosts can take part");
    }
    for (int i = 0; i < result.host_count && later_count == result.host_count; i++) {
        overflows[i] = later[i].overflows - facts[i].overflows;
    }
    bool passes = co_check_print(stdout, &result);
    return fflush(stdout) != 0 || !passes ? TOOL_FAILED : TOOL_OK;
}

int co_info_check(const struct co_check_request *request)
{
    struct co_host_facts *facts = calloc(HOSTS_MAX, sizeof *facts), *later = calloc(HOSTS_MAX, sizeof *later);
    int64_t *overflows = calloc(HOSTS_MAX, sizeof *overflows);
    int status = TOOL_FAILED;
    if (facts != NULL && later != NULL && overflows != NULL) {
        status = check(request, facts, later, overflows);
    } else {
        co_command_complain(&co_command_info, "out of memory");
    }
    free(facts);
    free(later);
    free(overflows);
    return status;
}
