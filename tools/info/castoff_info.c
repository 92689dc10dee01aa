// SPDX-License-Identifier: BSD-3-Clause
//
// castoff info: what this castoff is, what it is set to, and what it could use on this host. Cold.
#include "tools/launch/command.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "base/settings/settings_print.h"
#include "host_facts.h"
#include "info_check.h"
#include "info_decisions.h"
#include "tools/launch/places.h"
#include "tools/launch/program.h"
#include "tools/launch/version.h"
#include "info_families.h"
#include "info_groups.h"
#include "info_json.h"
#include "info_transports.h"

enum {
    SHOW_TRANSPORTS = 2,
    SHOW_SETTINGS = 4,
    SHOW_TEMPLATE = 8,
    SHOW_MAN = 16,
    SHOW_TUNE = 32,
    SHOW_ALL = 64,
    SHOW_SCREEN = 128, // what all of it comes to
    SHOW_FACTS = 256
};

enum {
    OPTION_CHECK = 256,
    OPTION_TRANSPORTS,
    OPTION_FACTS,
    OPTION_PER_HOST,
    OPTION_SECONDS,
    OPTION_MPIRUN,
    OPTION_SRUN
};

struct request {
    int parts;
    bool as_json, checks, has_check_option;
    struct co_info_job job;
    struct co_check_request check;
};

static const struct option long_options[] = {
    {"all", no_argument, NULL, 'a'},
    {"settings", no_argument, NULL, 's'},
    {"template", no_argument, NULL, 't'},
    {"transports", no_argument, NULL, OPTION_TRANSPORTS},
    {"tune", no_argument, NULL, 'd'},
    {"json", no_argument, NULL, 'j'},
    {"man", no_argument, NULL, 'm'},
    {"ranks-per-host", required_argument, NULL, OPTION_PER_HOST},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"mpirun-options", required_argument, NULL, OPTION_MPIRUN},
    {"srun", optional_argument, NULL, OPTION_SRUN},
    {"facts", no_argument, NULL, OPTION_FACTS},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// What the start of a job would say about the settings: the table's complaints, then those that only the parts that
// use a text can find. NULL behind the last one.
static const char *warning(size_t i)
{
    static char other[640];
    char cause[512];
    size_t complaints = 0;
    while (co_settings_complaint(complaints)) {
        complaints++;
    }
    if (i < complaints) {
        return co_settings_complaint(i);
    }
    if (i > complaints || !co_info_tune_check(cause, sizeof cause)) {
        return NULL;
    }
    snprintf(other, sizeof other, "CASTOFF_TUNE: %s (castoff would be off)", cause);
    return other;
}

// Where the output is data for a program, standard error has the complaints.
static void tell_warnings(void)
{
    for (size_t i = 0; warning(i); i++) {
        co_command_complain(&co_command_info, "%s", warning(i));
    }
}

static void find_parts(char library[PATH_MAX], char mpirun[PATH_MAX])
{
    if (co_places_library(library)) {
        *library = '\0';
    }
    if (co_program_find(mpirun, "mpirun", co_environment("PATH"))) {
        *mpirun = '\0';
    }
}

// Paths, settings and what others say of them.
static void print_line(const char *what, const char *text)
{
    fputs(what, stdout);
    co_plain_put(stdout, text);
    putchar('\n');
}

// Which MPI libraries are here, and what castoff does under each.
static void print_families(const char *mpirun)
{
    struct co_family_found *found = calloc(CO_FAMILIES_MAX, sizeof *found);
    int count = found != NULL ? co_families_find(found, mpirun) : 0;
    for (int i = 0; i < count; i++) {
        bool is_served = co_family_is_served(found[i].family);
        printf("MPI here    ");
        co_plain_put(stdout, found[i].text);
        printf(is_served ? ", served: " : ", not served, castoff stays off: ");
        co_plain_put(stdout, found[i].path);
        putchar('\n');
    }
    if (count == 0) {
        puts("MPI here    none that the dynamic linker finds, or beside mpirun");
    }
    free(found);
}

static void print_version(void)
{
    char library[PATH_MAX], mpirun[PATH_MAX];
    find_parts(library, mpirun);
    printf("castoff %s%s%s, %s\n", co_version_number(), *co_version_commit() != '\0' ? ", commit " : "",
           co_version_commit(), co_version_compiler());
    printf("built for   %s\n", co_version_mpi());
    print_line("library     ", *library ? library : "not found (neither beside the castoff command nor in ../lib)");
    print_line("mpirun      ", *mpirun ? mpirun : "not on PATH");
    print_families(mpirun);
    for (size_t i = 0; warning(i); i++) {
        print_line("warning     ", warning(i));
    }
}

static void print_transports(const struct co_transport_state states[CO_TRANSPORTS])
{
    for (int i = 0; i < CO_TRANSPORTS; i++) {
        printf("%-6s %-11s ", states[i].name, states[i].is_usable ? "usable:" : "not usable:");
        print_line("", states[i].detail);
    }
}

static void print_groups(void)
{
    struct co_groups_joined joined[CO_GROUPS_INTERFACES];
    int count = co_groups_find(joined, CO_GROUPS_INTERFACES);
    for (int i = 0; i < count; i++) {
        uint32_t ip = joined[i].first_ip;
        fputs("groups      ", stdout);
        co_plain_put(stdout, joined[i].interface);
        printf(": %u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
        if (joined[i].count > 1) {
            printf(" and %d more", joined[i].count - 1);
        }
        puts(joined[i].count > 1 ? " are joined by jobs that run here" : " is joined by a job that runs here");
    }
    if (count <= 0) {
        printf("groups      none of %s is joined: no job with castoff's multicast runs here\n",
               co_setting_text(CO_SET_UDP_GROUP));
    }
}

static void print_screen(const struct co_info_job *job)
{
    struct co_transport_state states[CO_TRANSPORTS];
    co_transports_probe(states);
    print_version();
    putchar('\n');
    print_transports(states);
    print_groups();
    putchar('\n');
    co_info_job_print(stdout, states, job);
    putchar('\n');
    if (co_settings_print_changed(stdout, "setting     ") == 0) {
        puts("settings    all at their defaults");
    }
    puts("castoff info --settings lists what can be set, --tune the table of decisions; castoff bench measures.");
}

static int print_json(void)
{
    char library[PATH_MAX], mpirun[PATH_MAX];
    find_parts(library, mpirun);
    return co_info_json_print(library, mpirun, warning) != 0 ? TOOL_FAILED : TOOL_OK;
}

static int print_parts(int parts, const struct co_info_job *job)
{
    int failed = 0;
    if (parts & SHOW_SCREEN) {
        print_screen(job);
    } else if (parts & (SHOW_TRANSPORTS | SHOW_SETTINGS | SHOW_TUNE)) {
        tell_warnings();
    }
    if (parts & SHOW_TRANSPORTS) {
        struct co_transport_state states[CO_TRANSPORTS];
        co_transports_probe(states);
        print_transports(states);
    }
    if (parts & SHOW_SETTINGS) {
        co_settings_print_values(stdout, parts & SHOW_ALL);
        if (!(parts & SHOW_ALL)) {
            puts("castoff info --all: the expert settings, too");
        }
    }
    if (parts & SHOW_TUNE) {
        failed = co_info_tune_print(stdout);
    }
    if (parts & SHOW_TEMPLATE) {
        co_settings_print_template(stdout);
    }
    if (parts & SHOW_MAN) {
        co_settings_print_man(stdout);
    }
    if (parts & SHOW_FACTS) {
        struct co_host_facts facts;
        co_host_facts_find(&facts, 0);
        failed = co_host_facts_print(stdout, &facts);
    }
    return failed;
}

static bool take_number(int *number, const char *what)
{
    char *end;
    long value = strtol(optarg, &end, 10);
    bool is_right = end != optarg && *end == '\0' && value >= 1 && value <= 1 << 24;
    if (is_right) {
        *number = (int)value;
    } else {
        co_command_complain(&co_command_info, "'%s' is no number of %s", optarg, what);
    }
    return is_right;
}

static bool take_seconds(struct co_check_request *check)
{
    char *end;
    double seconds = strtod(optarg, &end);
    bool is_right = end != optarg && *end == '\0' && seconds > 0 && seconds <= 86400;
    if (is_right) {
        check->seconds = optarg;
    } else {
        co_command_complain(&co_command_info, "'%s' is no number of seconds", optarg);
    }
    return is_right;
}

static int part_of(int option)
{
    switch (option) {
    case 'a':
        return SHOW_SETTINGS | SHOW_ALL;
    case 's':
        return SHOW_SETTINGS;
    case 't':
        return SHOW_TEMPLATE;
    case OPTION_TRANSPORTS:
        return SHOW_TRANSPORTS;
    case 'm':
        return SHOW_MAN;
    case 'd':
        return SHOW_TUNE;
    case OPTION_FACTS:
        return SHOW_FACTS;
    default:
        return 0;
    }
}

static bool take_option(struct request *request, int option)
{
    switch (option) {
    case 'j':
        request->as_json = true;
        return true;
    case 'n':
        return take_number(&request->job.ranks, "ranks");
    case OPTION_PER_HOST:
        return take_number(&request->job.ranks_per_host, "ranks");
    case OPTION_CHECK:
        request->checks = true;
        return true;
    case OPTION_SECONDS:
        request->has_check_option = true;
        return take_seconds(&request->check);
    case OPTION_MPIRUN:
        request->has_check_option = true;
        request->check.mpirun_arguments = optarg;
        return true;
    case OPTION_SRUN:
        request->has_check_option = true;
        request->check.srun_arguments = optarg != NULL ? optarg : "";
        return true;
    default:
        request->parts |= part_of(option);
        return true;
    }
}

static int run(int argc, char **argv)
{
    struct request request = {.check.seconds = "3"};
    int option;
    while ((option = getopt_long(argc, argv, "n:h", long_options, NULL)) != -1) {
        if (option == 'h' || option == '?') {
            return co_command_odd_option(&co_command_info, option);
        }
        if (!take_option(&request, option)) {
            return TOOL_USAGE;
        }
    }
    if (request.has_check_option && !request.checks) {
        co_command_complain(&co_command_info,
                            "--seconds, --mpirun-options and --srun belong to --check, which is missing");
        return TOOL_USAGE;
    }
    if (optind < argc && !request.checks) {
        co_command_complain(&co_command_info, "'%s' is not an option", argv[optind]);
        return TOOL_USAGE;
    }
    co_settings_load();
    if (request.checks) {
        tell_warnings();
        request.check.hosts = argv + optind;
        return co_info_check(&request.check);
    }
    if (request.as_json) {
        return print_json();
    }
    int failed = print_parts(request.parts ? request.parts : SHOW_SCREEN, &request.job);
    return failed || ferror(stdout) || fflush(stdout) ? TOOL_FAILED : TOOL_OK;
}

const struct co_command co_command_info = {
    "info",
    run,
    "[OPTION...], or --check [OPTION...] [HOST...]",
    "print what is here, and what castoff would make of it; or try multicast between hosts (--check)",
    "Without options: version, MPI libraries, transports (usable, or why not), groups that are joined, which calls a job\n"
    "here would take, and the settings that are not at their default.\n\n"
    "  --settings        the settings with default and meaning, but for those of experts that are at their default\n"
    "  --all             all settings\n"
    "  --tune            only the table that decides which calls are taken, and what its rows mean\n"
    "  --template        the settings as a file to edit and source (env.example)\n"
    "  --transports      only the transports\n"
    "  --man             the settings as the section ENVIRONMENT of castoff(7)\n"
    "  --json            everything as JSON\n"
    "  -n RANKS          which calls a job of so many ranks would take, on this host and over hosts\n"
    "  --ranks-per-host K  with so many of them on a host (1)\n"
    "  --check [HOST...] starts short jobs over these hosts, or those of the batch system's allocation, and says whether\n"
    "                    multicast passes, at which rate, with what loss, and what to change; status 0: it passes\n"
    "  --seconds S       of --check: how long broadcasts are measured (3; more than 260 finds switches that forget)\n"
    "  --mpirun-options TEXT  of --check: more words for mpirun\n"
    "  --srun[=TEXT]     of --check: by srun of Slurm instead of mpirun, with these words\n"
    "  --facts           what --check asks each host: a line of JSON\n",
};
