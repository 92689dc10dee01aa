// SPDX-License-Identifier: BSD-3-Clause
//
// The command lines of mpirun or srun that start a program on each host, and what such a job has written. Single
// thread. Cold.
#include "check_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "tools/launch/child.h"
#include "tools/launch/command.h"
#include "tools/launch/wrapper.h"

enum { WORDS_MAX = 512, OUTPUT_MAX = 1 << 26, SHOWN_MAX = 12 };

struct words {
    char *list[WORDS_MAX];
    int count;
};

struct streams {
    struct co_check_output *output;
    FILE *of[2];
    const struct co_check_job *job;
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

// Open MPI cuts names at their first dot, from "node1.a.org" it would ask for node1, and would take node1.b.org for the
// same host. By the environment, where each version (4, 5) looks for its own and no other, and options are stronger.
static void keep_whole_names(void)
{
    setenv("OMPI_MCA_orte_keep_fqdn_hostnames", "1", 0);
    setenv("PRTE_MCA_prte_keep_fqdn_hostnames", "1", 0);
}

static void put_mpirun(struct words *words, const struct co_check_request *request)
{
    if (request->hosts[0] != NULL) {
        keep_whole_names();
    }
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

static void keep(struct streams *streams, int which, const char *bytes, size_t count)
{
    fflush(streams->of[which]);
    if (streams->output->used[which] + count <= OUTPUT_MAX) {
        fwrite(bytes, 1, count, streams->of[which]);
    }
}

// Whole lines go to who asked for them, too.
static void keep_output(void *arg, const char *bytes, size_t count)
{
    struct streams *streams = arg;
    struct co_check_output *output = streams->output;
    keep(streams, 0, bytes, count);
    fflush(streams->of[0]);
    char *end;
    while (streams->job->line != NULL && output->text[0] != NULL &&
           (end = memchr(output->text[0] + output->told, '\n', output->used[0] - output->told)) != NULL) {
        char *line = strndup(output->text[0] + output->told, (size_t)(end - output->text[0]) - output->told);
        output->told = (size_t)(end - output->text[0]) + 1;
        if (line != NULL) {
            line[strcspn(line, "\r")] = '\0';
            streams->job->line(streams->job->arg, line);
        }
        free(line);
    }
}

static void keep_errors(void *arg, const char *bytes, size_t count)
{
    keep(arg, 1, bytes, count);
}

void co_check_output_free(struct co_check_output *output)
{
    free(output->text[0]);
    free(output->text[1]);
    *output = (struct co_check_output){0};
}

static bool waits(void *arg, int seconds)
{
    struct streams *streams = arg;
    streams->output->stood_still = streams->output->stood_still || !streams->job->waits(streams->job->arg, seconds);
    return !streams->output->stood_still;
}

// The first lines that a job that failed has complained with.
static void show_errors(const char *text)
{
    int lines = 0;
    for (const char *at = text; *at != '\0' && lines < SHOWN_MAX;) {
        size_t length = strcspn(at, "\n");
        bool has_return = length > 0 && at[length - 1] == '\r'; // ssh's, before it has a terminal of its own
        char *line = strndup(at, length - has_return);
        if (line != NULL && length > has_return) {
            fputs("    ", stderr);
            co_plain_put(stderr, line);
            fputc('\n', stderr);
            lines++;
        }
        free(line);
        at += length + (at[length] == '\n');
    }
}

static int judge(const struct co_child_result *result, const struct co_check_request *request,
                 const struct co_check_output *output, int failed)
{
    if (failed) {
        co_command_complain(&co_command_info, "%s cannot be started: %s",
                            request->srun_arguments != NULL ? "srun" : "mpirun", strerror(-failed));
        return TOOL_NOT_FOUND;
    }
    if (result->interrupted) {
        return 128 + result->interrupted;
    }
    if (result->status != 0 && !output->stood_still) {
        co_command_complain(&co_command_info, "the job over the hosts ended with status %d:", result->status);
        show_errors(output->text[1]);
        return TOOL_FAILED;
    }
    return output->stood_still ? TOOL_FAILED : TOOL_OK;
}

int co_check_job_run(struct co_check_output *output, const struct co_check_request *request,
                     const struct co_check_job *job)
{
    struct words words = {.count = 0};
    struct co_child_result result = {.status = 0};
    struct streams streams = {.output = output, .job = job};
    *output = (struct co_check_output){0};
    for (int i = 0; i < 2; i++) {
        streams.of[i] = open_memstream(&output->text[i], &output->used[i]);
    }
    int failed = streams.of[0] == NULL || streams.of[1] == NULL ? -ENOMEM : put_launcher(&words, request);
    for (int i = 0; job->program[i] != NULL; i++) {
        put(&words, job->program[i]);
    }
    if (!failed) {
        failed = co_child_run_while(&result, words.list, keep_output, keep_errors, job->waits != NULL ? waits : NULL,
                                    &streams);
    }
    for (int i = 0; i < 2; i++) {
        if (streams.of[i] != NULL) {
            fclose(streams.of[i]);
        }
    }
    for (int i = 0; i < words.count; i++) {
        free(words.list[i]);
    }
    return judge(&result, request, output, failed);
}
