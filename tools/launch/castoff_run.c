// SPDX-License-Identifier: BSD-3-Clause
//
// castoff run: becomes the given program with the library preloaded. It stands right of a launcher (mpirun, srun),
// so that LD_PRELOAD reaches the ranks and neither the launcher nor a shell. Replaces itself by exec: exit
// status and signals are the program's own.
#define _GNU_SOURCE // asprintf
#include "command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/launched_rank.h"
#include "base/plain_text.h"
#include "base/preload.h"
#include "base/settings.h"
#include "families.h"
#include "places.h"
#include "program.h"
#include "set_option.h"

enum { OPTION_ENV = 256, OPTION_PATH, OPTION_RECORD };

static const struct option long_options[] = {
    {"set", required_argument, NULL, 's'},
    {"report", required_argument, NULL, 'r'},
    {"record", required_argument, NULL, OPTION_RECORD},
    {"off", no_argument, NULL, 'o'},
    {"verbose", no_argument, NULL, 'v'},
    {"dry-run", no_argument, NULL, 'n'},
    {"env", required_argument, NULL, OPTION_ENV},
    {"path", required_argument, NULL, OPTION_PATH},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct plan {
    const char *folders; // where to look for the program, NULL: PATH
    bool verbose, dry;
    bool preloads; // something of castoff's
    char *preload; // LD_PRELOAD of the program; for life
};

static int take_set(const char *text)
{
    char name[CO_SET_NAME_MAX];
    const char *value = co_set_option_take(&co_command_run, text, name);
    if (!value) {
        return TOOL_USAGE;
    }
    setenv(name, value, 1);
    return TOOL_OK;
}

// "NAME=VALUE" of --env: any name, and it gives way to what is there.
static int take_env(const char *text)
{
    const char *equals = strchr(text, '=');
    char *name = equals && equals != text ? strndup(text, (size_t)(equals - text)) : NULL;
    if (!name) {
        co_command_complain(&co_command_run, "'%s' is not NAME=VALUE", text);
        return TOOL_USAGE;
    }
    setenv(name, equals + 1, 0);
    free(name);
    return TOOL_OK;
}

// As seen from here: the program may change its folder before it writes there.
static int take_record(const char *directory)
{
    char here[PATH_MAX], path[2 * PATH_MAX];
    if (directory[0] == '/' || directory[0] == '\0' || !getcwd(here, sizeof here)) {
        setenv("CASTOFF_RECORD", directory, 1);
        return TOOL_OK;
    }
    snprintf(path, sizeof path, "%s/%s", here, directory);
    setenv("CASTOFF_RECORD", path, 1);
    return TOOL_OK;
}

static int take_option(struct plan *plan, int option)
{
    switch (option) {
    case 's':
        return take_set(optarg);
    case OPTION_ENV:
        return take_env(optarg);
    case 'r':
        setenv("CASTOFF_REPORT", optarg, 1);
        return TOOL_OK;
    case OPTION_RECORD:
        return take_record(optarg);
    case 'o':
        setenv("CASTOFF_ENABLE", "0", 1);
        return TOOL_OK;
    case 'v':
        plan->verbose = true;
        return TOOL_OK;
    case 'n':
        plan->dry = true;
        return TOOL_OK;
    default: // OPTION_PATH
        plan->folders = optarg;
        return TOOL_OK;
    }
}

static int complain_of_memory(void)
{
    co_command_complain(&co_command_run, "out of memory");
    return TOOL_FAILED;
}

// Puts a library in front of what is preloaded, unless it is there: in a run inside a run.
static int put_first(struct plan *plan, const char *library)
{
    char *before = plan->preload;
    if (strpbrk(library, " :")) {
        co_command_complain(&co_command_run, "%s: the dynamic linker cannot preload from a path with a space or colon",
                            library);
        return TOOL_FAILED;
    }
    if (co_preload_names(before, library)) {
        return TOOL_OK;
    }
    if (asprintf(&plan->preload, "%s%s%s", library, before[0] != '\0' ? ":" : "", before) < 0) {
        return complain_of_memory();
    }
    free(before);
    return TOOL_OK;
}

static bool records(void)
{
    const char *directory = co_environment("CASTOFF_RECORD");
    return directory && *directory;
}

// One line is enough for a job, as far as launchers tell their ranks.
static bool is_first_of_job(void)
{
    return co_launched_rank() <= 0;
}

// What is preloaded already, but for what is castoff's and not for this program: a run inside a run knows that, and the
// outer one only this command.
static int read_preload(struct plan *plan, bool is_open_mpi, bool is_mpich)
{
    const char *before = co_environment("LD_PRELOAD");
    plan->preload = strdup(before ? before : "");
    if (!plan->preload) {
        return complain_of_memory();
    }
    if (!is_open_mpi) {
        co_preload_leave_out(plan->preload, "libcastoff.so");
        co_preload_leave_out(plan->preload, "libcastoff-record.so");
    }
    if (!is_mpich) {
        co_preload_leave_out(plan->preload, CO_FAMILY_LIBRARY_MPICH);
    }
    return TOOL_OK;
}

// Ours first, so that we see calls before they reach libmpi; what was there stays behind us. What records them stands
// before all: it is to see the program's calls and none of ours.
static int make_preload(struct plan *plan, bool is_mpich)
{
    char library[PATH_MAX];
    if ((is_mpich ? co_places_preload(library, CO_FAMILY_LIBRARY_MPICH) : co_places_library(library))) {
        co_command_complain(&co_command_run, "libcastoff.so is neither beside the castoff command nor in ../lib; "
                                             "build it with make or install it again");
        return TOOL_FAILED;
    }
    int status = put_first(plan, library);
    if (status || !records()) {
        return status;
    }
    if (is_mpich) {
        if (is_first_of_job()) {
            co_command_complain(&co_command_run, "calls of MPICH are not recorded; the program runs without that");
        }
        return TOOL_OK;
    }
    if (co_places_recorder(library)) {
        co_command_complain(&co_command_run, "libcastoff-record.so, which records, is not beside libcastoff.so; build "
                                             "it with make or install it again");
        return TOOL_FAILED;
    }
    return put_first(plan, library);
}

// As bash and others read it: what would steer a terminal, or begin a line, by its number.
static void show_odd_word(FILE *stream, const char *word)
{
    fputs("$'", stream);
    while (*word) {
        unsigned bytes = co_plain_bytes(word);
        if (bytes == 0 || *word == '\n' || *word == '\t') {
            fprintf(stream, "\\%03o", (unsigned char)*word++);
            continue;
        }
        fputs(*word == '\'' || *word == '\\' ? "\\" : "", stream);
        fwrite(word, 1, bytes, stream);
        word += bytes;
    }
    fputc('\'', stream);
}

// In quotes where a shell would take it apart or change it.
static void show_word(FILE *stream, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
    if (*word && word[strspn(word, plain)] == '\0') {
        fputs(word, stream);
        return;
    }
    if (co_plain_put(NULL, word) != strlen(word)) {
        show_odd_word(stream, word);
        return;
    }
    fputc('\'', stream);
    for (; *word; word++) {
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stream);
    }
    fputc('\'', stream);
}

static void show(const struct plan *plan, FILE *stream, char **argv)
{
    for (int id = 0; id < CO_SETTING_COUNT; id++) {
        const char *name = co_setting_row((enum co_setting_id)id)->name;
        const char *value = co_environment(name);
        if (value && *value) {
            fprintf(stream, "%s=", name);
            show_word(stream, value);
            fputc(' ', stream);
        }
    }
    if (plan->preloads) {
        fputs("LD_PRELOAD=", stream);
        show_word(stream, plan->preload);
        fputc(' ', stream);
    }
    for (; *argv; argv++) {
        show_word(stream, *argv);
        fputs(argv[1] ? " " : "\n", stream);
    }
    fflush(stream);
}

// Why nothing is preloaded, as the end of the sentence "PROGRAM ..."; NULL: nothing stands in the way.
static const char *find_obstacle(const char *path, bool is_mpich)
{
    char library[PATH_MAX];
    const char *obstacle = co_program_kind_text(co_program_look(path));
    if (!obstacle && is_mpich && co_places_preload(library, CO_FAMILY_LIBRARY_MPICH)) {
        obstacle = "is linked with MPICH or a relative of it, and " CO_FAMILY_LIBRARY_MPICH
                   " is not beside libcastoff.so (make mpich builds it, for MPICH 4)";
    }
    return obstacle;
}

// By --off or the environment: nobody misses what he has switched off.
static bool is_wanted(void)
{
    const char *value = co_environment("CASTOFF_ENABLE");
    int64_t is_on = 1;
    return !value || co_setting_parse(co_setting_row(CO_SET_ENABLE), value, &is_on) != 0 || is_on != 0;
}

static int preload(struct plan *plan, const char *name, const char *path)
{
    bool is_mpich = co_family_links_mpich(path);
    const char *obstacle = find_obstacle(path, is_mpich);
    int status = read_preload(plan, !obstacle && !is_mpich, !obstacle && is_mpich);
    plan->preloads = !obstacle;
    if (obstacle && is_wanted() && is_first_of_job()) {
        co_command_complain(&co_command_run, "%s %s; it runs without castoff", name, obstacle);
    }
    return status || obstacle ? status : make_preload(plan, is_mpich);
}

static int become(struct plan *plan, char **argv)
{
    char path[PATH_MAX];
    const char *folders = plan->folders ? plan->folders : co_environment("PATH");
    int failed = co_program_find(path, argv[0], folders ? folders : "/usr/local/bin:/usr/bin:/bin");
    if (failed) {
        co_command_complain(&co_command_run, "cannot execute '%s': %s", argv[0],
                            failed == -ENOENT && !strchr(argv[0], '/') ? "not found on PATH" : strerror(-failed));
        return failed == -EACCES || failed == -EISDIR ? TOOL_CANNOT_EXECUTE : TOOL_NOT_FOUND;
    }
    int status = preload(plan, argv[0], path);
    if (status) {
        return status;
    }
    if (plan->dry || plan->verbose) {
        show(plan, plan->dry ? stdout : stderr, argv);
    }
    if (plan->dry) {
        return TOOL_OK;
    }
    if (plan->preload[0] != '\0') {
        setenv("LD_PRELOAD", plan->preload, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
    execv(path, argv);
    co_command_complain(&co_command_run, "cannot execute '%s': %s", path, strerror(errno));
    return TOOL_CANNOT_EXECUTE;
}

static int run(int argc, char **argv)
{
    struct plan plan = {0};
    int option;
    while ((option = getopt_long(argc, argv, "+nvh", long_options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            return co_command_odd_option(&co_command_run, option);
        }
        int status = take_option(&plan, option);
        if (status) {
            return status;
        }
    }
    if (optind == argc) {
        co_command_complain(&co_command_run, "no program given (usage: castoff run %s)", co_command_run.arguments);
        return TOOL_USAGE;
    }
    return become(&plan, argv + optind);
}

const struct co_command co_command_run = {
    "run",
    run,
    "[OPTION...] [--] PROGRAM [ARGUMENT...]",
    "run one process with castoff preloaded; stands right of any launcher: srun castoff run ./app",
    "  --set NAME=VALUE  set CASTOFF_NAME; unknown names and wrong values are refused\n"
    "  --report FILE     write castoff's report there at MPI_Finalize (- is stderr, x.json gives JSON)\n"
    "  --record DIR      write a trace of the program's MPI calls there, a file a rank, for castoff trace\n"
    "  --off             preload, but leave every call to the MPI below (CASTOFF_ENABLE=0)\n"
    "  --env NAME=VALUE  set a variable unless the environment has it\n"
    "  --path FOLDERS    look for PROGRAM there instead of PATH\n"
    "  -n, --dry-run     print what would be executed, and stop\n"
    "  -v, --verbose     print it, and go on\n",
};
