// SPDX-License-Identifier: BSD-3-Clause
//
// The table of castoff's subcommands (castoff.c) and what they share: messages, usage, exit statuses. Each
// subcommand is one function in a file of its own, called once by main. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_COMMAND_H
#define CASTOFF_TOOLS_LAUNCH_COMMAND_H

#include <getopt.h>
#include <stdio.h>

// Exit statuses of the command itself; those of a job are passed through.
enum {
    TOOL_OK = 0,
    TOOL_FAILED = 1,
    TOOL_USAGE = 2,
    TOOL_SKIPPED = 77,
    TOOL_CANNOT_EXECUTE = 126,
    TOOL_NOT_FOUND = 127
};

struct co_command {
    const char *name;
    int (*run)(int argc, char **argv); // argv[0] is the subcommand's name; returns the exit status
    const char *arguments;             // as in the usage line
    const char *summary;               // one line
    const char *details;               // option list for -h
};

extern const struct co_command co_command_mpirun, co_command_run, co_command_ab, co_command_bench, co_command_info,
    co_command_trace, co_command_top, co_command_proxy, co_command_coordinator, co_command_hop,
    co_command_onesided_copy;

// Prints "castoff NAME: message" on stderr.
void co_command_complain(const struct co_command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void co_command_usage(const struct co_command *command, FILE *stream);

// Complains about what was given to an option of the table; gives TOOL_USAGE.
int co_command_odd_value(const struct co_command *command, const struct option *options, int option, const char *text);

// What a subcommand does when getopt_long returned an option it has no case for: -h prints the usage and gives
// TOOL_OK, anything else points at -h and gives TOOL_USAGE (getopt has said what is wrong).
int co_command_odd_option(const struct co_command *command, int option);

#endif
