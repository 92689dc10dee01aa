// SPDX-License-Identifier: BSD-3-Clause
//
// Reads mpirun's command line as mpirun does: options with their arguments, a program, its arguments, ':' and the
// next program. Unknown options are refused, because guessing how many words belong to one would wrap the wrong
// word. Pure. Cold.
#include "launcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct option_row {
    const char *name; // without dashes: mpirun takes one or two
    int arguments;
    enum { PLAIN, ELSEWHERE, SEARCH_PATH, INFORMS, APPFILE, COPIES_PROGRAM } effect;
};

static const struct option_row rows[] = {
    {"mca", 2, PLAIN},
    {"gmca", 2, PLAIN},
    {"omca", 2, PLAIN},
    {"prtemca", 2, PLAIN},
    {"pmixmca", 2, PLAIN},
    {"am", 1, PLAIN},
    {"app", 1, APPFILE},
    {"bind-to", 1, PLAIN},
    {"c", 1, PLAIN},
    {"np", 1, PLAIN},
    {"n", 1, PLAIN},
    {"N", 1, PLAIN},
    {"cf", 1, PLAIN},
    {"cartofile", 1, PLAIN},
    {"cpu-list", 1, PLAIN},
    {"cpu-set", 1, PLAIN},
    {"cpus-per-proc", 1, PLAIN},
    {"cpus-per-rank", 1, PLAIN},
    {"debugger", 1, PLAIN},
    {"default-hostfile", 1, ELSEWHERE},
    {"display", 1, PLAIN},
    {"dvm-uri", 1, PLAIN},
    {"H", 1, ELSEWHERE},
    {"host", 1, ELSEWHERE},
    {"hostfile", 1, ELSEWHERE},
    {"machinefile", 1, ELSEWHERE},
    {"add-host", 1, ELSEWHERE},
    {"add-hostfile", 1, ELSEWHERE},
    {"hnp", 1, PLAIN},
    {"launch-agent", 1, PLAIN},
    {"map-by", 1, PLAIN},
    {"rank-by", 1, PLAIN},
    {"max-restarts", 1, PLAIN},
    {"max-vm-size", 1, PLAIN},
    {"npernode", 1, PLAIN},
    {"npersocket", 1, PLAIN},
    {"ompi-server", 1, PLAIN},
    {"output", 1, PLAIN},
    {"output-filename", 1, PLAIN},
    {"path", 1, SEARCH_PATH},
    {"personality", 1, PLAIN},
    {"ppr", 1, PLAIN},
    {"prefix", 1, PLAIN},
    {"preload-files", 1, PLAIN},
    {"report-events", 1, PLAIN},
    {"report-pid", 1, PLAIN},
    {"report-uri", 1, PLAIN},
    {"rf", 1, ELSEWHERE},
    {"rankfile", 1, ELSEWHERE},
    {"runtime-options", 1, PLAIN},
    {"stdin", 1, PLAIN},
    {"timeout", 1, PLAIN},
    {"tune", 1, PLAIN},
    {"wd", 1, ELSEWHERE},
    {"wdir", 1, ELSEWHERE},
    {"x", 1, PLAIN},
    {"xml-file", 1, PLAIN},
    {"xterm", 1, PLAIN},
    {"h", 0, INFORMS},
    {"help", 0, INFORMS},
    {"V", 0, INFORMS},
    {"version", 0, INFORMS},
    {"s", 0, COPIES_PROGRAM},
    {"preload-binary", 0, COPIES_PROGRAM},
    {"allow-run-as-root", 0, PLAIN},
    {"bind-to-core", 0, PLAIN},
    {"bind-to-socket", 0, PLAIN},
    {"bycore", 0, PLAIN},
    {"bynode", 0, PLAIN},
    {"byslot", 0, PLAIN},
    {"continuous", 0, PLAIN},
    {"d", 0, PLAIN},
    {"debug-devel", 0, PLAIN},
    {"debug", 0, PLAIN},
    {"debug-daemons", 0, PLAIN},
    {"debug-daemons-file", 0, PLAIN},
    {"disable-recovery", 0, PLAIN},
    {"display-allocation", 0, PLAIN},
    {"display-devel-allocation", 0, PLAIN},
    {"display-devel-map", 0, PLAIN},
    {"display-diffable-map", 0, PLAIN},
    {"display-map", 0, PLAIN},
    {"display-topo", 0, PLAIN},
    {"do-not-launch", 0, PLAIN},
    {"do-not-resolve", 0, PLAIN},
    {"dvm", 0, PLAIN},
    {"enable-instant-on-support", 0, PLAIN},
    {"enable-recovery", 0, PLAIN},
    {"fwd-mpirun-port", 0, PLAIN},
    {"get-stack-traces", 0, PLAIN},
    {"index-argv-by-rank", 0, PLAIN},
    {"leave-session-attached", 0, PLAIN},
    {"merge-stderr-to-stdout", 0, PLAIN},
    {"nolocal", 0, ELSEWHERE},
    {"nooversubscribe", 0, PLAIN},
    {"noprefix", 0, PLAIN},
    {"novm", 0, PLAIN},
    {"output-proctable", 0, PLAIN},
    {"oversubscribe", 0, PLAIN},
    {"pernode", 0, PLAIN},
    {"q", 0, PLAIN},
    {"quiet", 0, PLAIN},
    {"report-bindings", 0, PLAIN},
    {"report-child-jobs-separately", 0, PLAIN},
    {"report-state-on-timeout", 0, PLAIN},
    {"set-cwd-to-session-dir", 0, ELSEWHERE},
    {"show-progress", 0, PLAIN},
    {"tag-output", 0, PLAIN},
    {"terminate", 0, PLAIN},
    {"timestamp-output", 0, PLAIN},
    {"tv", 0, PLAIN},
    {"use-hwthread-cpus", 0, PLAIN},
    {"use-regexp", 0, PLAIN},
    {"v", 0, PLAIN},
    {"verbose", 0, PLAIN},
    {"xml", 0, PLAIN},
};

struct reader {
    struct co_launcher_plan *plan;
    char **argv;
    int argc, at;
    char *const *wrapper;
    int wrapper_count;
    char *search_path; // of this program
    char *why;
    size_t why_room;
};

bool co_launcher_is_mpirun(const char *word)
{
    static const char *const names[] = {"mpirun", "mpiexec", "orterun", "prterun", "lab-mpirun", NULL};
    const char *slash = strrchr(word, '/');
    const char *name = slash ? slash + 1 : word;
    for (int i = 0; names[i]; i++) {
        size_t bytes = strlen(names[i]);
        // Debian calls it mpirun.openmpi too.
        if (strncmp(name, names[i], bytes) == 0 && (!name[bytes] || strcmp(name + bytes, ".openmpi") == 0)) {
            return true;
        }
    }
    return false;
}

static const struct option_row *find_row(const char *word, bool *has_value)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t bytes = strcspn(name, "=");
    *has_value = name[bytes] == '=';
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strlen(rows[i].name) == bytes && memcmp(rows[i].name, name, bytes) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void put(struct reader *reader, char *word)
{
    reader->plan->argv[reader->plan->argc++] = word;
}

static int take_option(struct reader *reader)
{
    char *word = reader->argv[reader->at];
    bool has_value;
    const struct option_row *row = find_row(word, &has_value);
    if (!row) {
        snprintf(reader->why, reader->why_room,
                 "mpirun's option '%s' is not known here, so the program cannot be told from its argument; "
                 "write: mpirun ... castoff run PROGRAM",
                 word);
        return -EINVAL;
    }
    if (row->effect == APPFILE || row->effect == COPIES_PROGRAM) {
        snprintf(reader->why, reader->why_room, "%s cannot be combined with castoff mpirun; %s", word,
                 row->effect == APPFILE ? "use mpirun and write 'castoff run' before each program in that file"
                                        : "copy the program first, or use mpirun ... castoff run PROGRAM");
        return -EINVAL;
    }
    int arguments = row->arguments - (has_value && row->arguments > 0);
    if (reader->at + arguments >= reader->argc) {
        snprintf(reader->why, reader->why_room, "mpirun's option '%s' lacks its argument", word);
        return -EINVAL;
    }
    reader->plan->only_informs |= row->effect == INFORMS;
    reader->plan->may_be_elsewhere |= row->effect == ELSEWHERE || row->effect == SEARCH_PATH;
    if (row->effect == SEARCH_PATH) {
        reader->search_path = has_value ? strchr(word, '=') + 1 : reader->argv[reader->at + 1];
    }
    for (int i = 0; i <= arguments; i++) {
        put(reader, reader->argv[reader->at++]);
    }
    return 0;
}

// The wrapper ends in "--"; the search path goes before that.
static void put_wrapper(struct reader *reader)
{
    static char path_option[] = "--path";
    for (int i = 0; i < reader->wrapper_count; i++) {
        if (i == reader->wrapper_count - 1 && reader->search_path) {
            put(reader, path_option);
            put(reader, reader->search_path);
        }
        put(reader, reader->wrapper[i]);
    }
}

// One program with its options and arguments, up to ':' or the end.
static int take_program(struct reader *reader)
{
    struct co_launcher_plan *plan = reader->plan;
    reader->search_path = NULL;
    while (reader->at < reader->argc && reader->argv[reader->at][0] == '-' && reader->argv[reader->at][1]) {
        if (strcmp(reader->argv[reader->at], "--") == 0) {
            reader->at++;
            break;
        }
        int failed = take_option(reader);
        if (failed) {
            return failed;
        }
        if (plan->only_informs) {
            return 0;
        }
    }
    if (reader->at == reader->argc || strcmp(reader->argv[reader->at], ":") == 0) {
        snprintf(reader->why, reader->why_room, "no program given%s",
                 plan->program_count ? " after ':'"
                                     : " (usage: castoff mpirun [mpirun's options] PROGRAM [ARGUMENT...])");
        return -EINVAL;
    }
    if (plan->program_count < (int)(sizeof plan->programs / sizeof *plan->programs)) {
        plan->programs[plan->program_count++] = reader->argv[reader->at];
    }
    put_wrapper(reader);
    while (reader->at < reader->argc && strcmp(reader->argv[reader->at], ":") != 0) {
        put(reader, reader->argv[reader->at++]);
    }
    return 0;
}

static int take_all(struct reader *reader)
{
    put(reader, reader->argv[reader->at++]);
    for (;;) {
        int failed = take_program(reader);
        if (failed) {
            return failed;
        }
        if (reader->at == reader->argc || reader->plan->only_informs) {
            break;
        }
        put(reader, reader->argv[reader->at++]); // ':'
    }
    while (reader->at < reader->argc) {
        put(reader, reader->argv[reader->at++]);
    }
    reader->plan->argv[reader->plan->argc] = NULL;
    return 0;
}

int co_launcher_plan_make(struct co_launcher_plan *plan, int argc, char **argv, char *const *wrapper, int wrapper_count,
                          char *why, size_t why_room)
{
    memset(plan, 0, sizeof *plan);
    // No program is shorter than one word, so this holds even if every word were one.
    plan->argv = calloc((size_t)argc * (size_t)(wrapper_count + 3) + 1, sizeof *plan->argv);
    if (!plan->argv) {
        snprintf(why, why_room, "out of memory");
        return -ENOMEM;
    }
    struct reader reader = {plan, argv, argc, 0, wrapper, wrapper_count, NULL, why, why_room};
    int failed = take_all(&reader);
    if (failed) {
        co_launcher_plan_release(plan);
    }
    return failed;
}

void co_launcher_plan_release(struct co_launcher_plan *plan)
{
    free(plan->argv);
    plan->argv = NULL;
}
