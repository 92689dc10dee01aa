// SPDX-License-Identifier: BSD-3-Clause
//
// castoff info: what this castoff is, what it is set to, and what it could use on this host. Cold.
#include "tools/launch/command.h"

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "base/plain_json.h"
#include "base/plain_text.h"
#include "base/settings.h"
#include "base/settings/settings_print.h"
#include "info_decisions.h"
#include "tools/launch/places.h"
#include "tools/launch/program.h"
#include "tools/launch/version.h"
#include "info_transports.h"

enum {
    SHOW_TRANSPORTS = 2,
    SHOW_SETTINGS = 4,
    SHOW_TEMPLATE = 8,
    SHOW_MAN = 16,
    SHOW_TUNE = 32,
    SHOW_ALL = 64,
    SHOW_SCREEN = 128 // what all of it comes to
};

static const struct option long_options[] = {
    {"all", no_argument, NULL, 'a'},        {"settings", no_argument, NULL, 's'}, {"template", no_argument, NULL, 't'},
    {"transports", no_argument, NULL, 'n'}, {"tune", no_argument, NULL, 'd'},     {"json", no_argument, NULL, 'j'},
    {"man", no_argument, NULL, 'm'},        {"help", no_argument, NULL, 'h'},     {NULL, 0, NULL, 0},
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

static void print_version(void)
{
    char library[PATH_MAX], mpirun[PATH_MAX];
    find_parts(library, mpirun);
    printf("castoff %s%s%s, %s\n", co_version_number(), *co_version_commit() != '\0' ? ", commit " : "",
           co_version_commit(), co_version_compiler());
    printf("built for   %s\n", co_version_mpi());
    print_line("library     ", *library ? library : "not found (neither beside the castoff command nor in ../lib)");
    print_line("mpirun      ", *mpirun ? mpirun : "not on PATH");
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

static void print_screen(void)
{
    struct co_transport_state states[CO_TRANSPORTS];
    co_transports_probe(states);
    print_version();
    putchar('\n');
    print_transports(states);
    putchar('\n');
    co_info_job_print(stdout, states);
    putchar('\n');
    if (co_settings_print_changed(stdout, "setting     ") == 0) {
        puts("settings    all at their defaults");
    }
    puts("castoff info --settings lists what can be set, --tune the table of decisions; castoff bench measures.");
}

static json_t *json_settings(void)
{
    json_t *rows = json_array();
    for (int id = 0; id < CO_SETTING_COUNT; id++) {
        const struct co_setting_row *row = co_setting_row((enum co_setting_id)id);
        char number[CO_SETTING_NUMBER_MAX], range[128];
        co_setting_range_print(range, (enum co_setting_id)id);
        json_t *entry = json_pack("{s:s, s:o, s:s, s:b, s:s, s:s, s:s}", "name", row->name, "value",
                                  co_plain_json(co_setting_value_print(number, (enum co_setting_id)id)), "default",
                                  row->value, "is_default", co_setting_is_default((enum co_setting_id)id), "tier",
                                  row->tier == CO_SETTING_USER ? "user" : "expert", "range", range, "help", row->help);
        json_array_append_new(rows, entry);
    }
    return rows;
}

static int print_json(void)
{
    struct co_transport_state states[CO_TRANSPORTS];
    char library[PATH_MAX], mpirun[PATH_MAX];
    json_t *transports = json_array(), *complaints = json_array();
    find_parts(library, mpirun);
    co_transports_probe(states);
    for (int i = 0; i < CO_TRANSPORTS; i++) {
        json_array_append_new(transports, json_pack("{s:s, s:b, s:o}", "name", states[i].name, "usable",
                                                    states[i].is_usable, "detail", co_plain_json(states[i].detail)));
    }
    for (size_t i = 0; warning(i); i++) {
        json_array_append_new(complaints, co_plain_json(warning(i)));
    }
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "version", co_version_number(), "commit",
                             co_version_commit(), "compiler", co_version_compiler(), "built_for", co_version_mpi(),
                             "library", co_plain_json(library), "mpirun", co_plain_json(mpirun), "transports",
                             transports, "settings", json_settings(), "warnings", complaints);
    if (!root || json_dumpf(root, stdout, JSON_INDENT(1))) {
        return TOOL_FAILED;
    }
    putchar('\n');
    json_decref(root);
    return TOOL_OK;
}

static int print_parts(int parts)
{
    int failed = 0;
    if (parts & SHOW_SCREEN) {
        print_screen();
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
    return failed;
}

static int run(int argc, char **argv)
{
    int parts = 0, option;
    bool as_json = false;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        switch (option) {
        case 'a':
            parts |= SHOW_SETTINGS | SHOW_ALL;
            break;
        case 's':
            parts |= SHOW_SETTINGS;
            break;
        case 't':
            parts |= SHOW_TEMPLATE;
            break;
        case 'n':
            parts |= SHOW_TRANSPORTS;
            break;
        case 'm':
            parts |= SHOW_MAN;
            break;
        case 'd':
            parts |= SHOW_TUNE;
            break;
        case 'j':
            as_json = true;
            break;
        default:
            return co_command_odd_option(&co_command_info, option);
        }
    }
    if (optind < argc) {
        co_command_complain(&co_command_info, "'%s' is not an option", argv[optind]);
        return TOOL_USAGE;
    }
    co_settings_load();
    if (as_json) {
        return print_json();
    }
    int failed = print_parts(parts ? parts : SHOW_SCREEN);
    return failed || ferror(stdout) || fflush(stdout) ? TOOL_FAILED : TOOL_OK;
}

const struct co_command co_command_info = {
    "info",
    run,
    "[OPTION...]",
    "print on a screen: version, transports (usable, or why not), which calls a job here would take, and the settings that "
    "are not at their default; wrong ones are named",
    "  --settings        the settings with default and meaning, but for those of experts that are at their default\n"
    "  --all             all settings\n"
    "  --tune            only the table that decides which calls are taken, and what its rows mean\n"
    "  --template        the settings as a file to edit and source (env.example)\n"
    "  --transports      only the transports\n"
    "  --man             the settings as the section ENVIRONMENT of castoff(7)\n"
    "  --json            everything as JSON\n",
};
