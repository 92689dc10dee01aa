// SPDX-License-Identifier: BSD-3-Clause
//
// The `castoff` command: finds the subcommand in a table and hands over. Owns messages and usage texts that all
// subcommands share. Runs once; single thread.
#define _GNU_SOURCE // vasprintf
#include "command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_text.h"
#include "base/settings/settings_nearest.h"
#include "tools/output/output_file.h"
#include "version.h"

static const struct co_command *const commands[] = {
    &co_command_mpirun,        &co_command_run,   &co_command_ab,    &co_command_bench,       &co_command_info,
    &co_command_top,           &co_command_trace, &co_command_proxy, &co_command_coordinator, &co_command_hop,
    &co_command_onesided_copy,
};
enum { COMMANDS = sizeof commands / sizeof *commands };

void co_command_complain(const struct co_command *command, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0) {
        text = NULL;
    }
    va_end(arguments);
    fflush(stdout);
    fprintf(stderr, "castoff %s: ", command->name);
    co_plain_put(stderr, text != NULL ? text : format);
    fputc('\n', stderr);
    free(text);
}

void co_command_usage(const struct co_command *command, FILE *stream)
{
    fprintf(stream, "usage: castoff %s %s\n%s\n\n%s", command->name, command->arguments, command->summary,
            command->details);
}

int co_command_odd_value(const struct co_command *command, const struct option *options, int option, const char *text)
{
    while (options->name != NULL && options->val != option) {
        options++;
    }
    co_command_complain(command, "--%s cannot be '%s'; castoff %s -h says what it takes",
                        options->name != NULL ? options->name : "?", text, command->name);
    return TOOL_USAGE;
}

int co_command_odd_option(const struct co_command *command, int option)
{
    if (option == 'h') {
        co_command_usage(command, stdout);
        return TOOL_OK;
    }
    fprintf(stderr, "castoff %s -h lists the options\n", command->name);
    return TOOL_USAGE;
}

static void print_usage(FILE *stream)
{
    fputs("usage: castoff COMMAND [ARGUMENT...]\n\n"
          "Faster MPI_Bcast, MPI_Ibcast, MPI_Allgather, MPI_Iallgather and messages for unmodified MPI programs.\n\n",
          stream);
    for (int i = 0; i < COMMANDS; i++) {
        fprintf(stream, "  %-13s %s\n", commands[i]->name, commands[i]->summary);
    }
    fputs("\ncastoff COMMAND -h says more; castoff(1) and castoff(7) say everything.\n", stream);
}

// getopt begins its complaints with argv[0].
static int hand_over(const struct co_command *command, int argc, char **argv)
{
    static char name[32];
    snprintf(name, sizeof name, "castoff %s", command->name);
    argv[0] = name;
    return command->run(argc, argv);
}

// The command that somebody probably meant to write, or NULL.
static const char *nearest(const char *name)
{
    char names[256];
    size_t used = 0;
    for (int i = 0; i < COMMANDS; i++) {
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? "|" : "", commands[i]->name);
    }
    int place = co_word_nearest(name, names);
    return place >= 0 ? commands[place]->name : NULL;
}

static const struct co_command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++) {
        if (strcmp(name, commands[i]->name) == 0) {
            return commands[i];
        }
    }
    fputs("castoff: unknown command '", stderr);
    co_plain_put(stderr, name);
    const char *meant = nearest(name);
    fprintf(stderr, meant != NULL ? "'; did you mean %s? castoff -h lists them\n" : "'; castoff -h lists them\n",
            meant);
    return NULL;
}

static int help(const char *name)
{
    if (name == NULL) {
        print_usage(stdout);
        return TOOL_OK;
    }
    if (strcmp(name, "help") == 0) {
        puts("usage: castoff help [COMMAND]\nsay what castoff, or one of its commands, takes");
        return TOOL_OK;
    }
    const struct co_command *command = find(name);
    if (command == NULL) {
        return TOOL_USAGE;
    }
    co_command_usage(command, stdout);
    return TOOL_OK;
}

static int dispatch(int argc, char **argv)
{
    const char *name = argv[1];
    if (strcmp(name, "-h") == 0 || strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        return help(argv[2]);
    }
    if (strcmp(name, "-V") == 0 || strcmp(name, "--version") == 0) {
        co_version_print(stdout);
        return TOOL_OK;
    }
    const struct co_command *command = find(name);
    return command != NULL ? hand_over(command, argc - 1, argv + 1) : TOOL_USAGE;
}

// What was printed may wait in memory until here: a full disk is an error of every command.
static int finish(int status)
{
    int error = co_output_close(stdout);
    if (error != 0) {
        fprintf(stderr, "castoff: standard output is not complete: %s\n", strerror(-error));
        return status == TOOL_OK ? TOOL_FAILED : status;
    }
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return TOOL_USAGE;
    }
    return finish(dispatch(argc, argv));
}
