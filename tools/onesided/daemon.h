// SPDX-License-Identifier: BSD-3-Clause
//
// What the subcommands share that run until a signal: a line a log message on standard error, and the signals.
#ifndef CASTOFF_TOOLS_ONESIDED_DAEMON_H
#define CASTOFF_TOOLS_ONESIDED_DAEMON_H

#include "tools/launch/command.h"

// Set by SIGINT, SIGTERM and SIGHUP after co_daemon_catch_signals.
extern _Atomic int co_daemon_stop;
void co_daemon_catch_signals(void);

// "castoff NAME: line", in one write.
void co_daemon_log(const struct co_command *command, const char *line);

#endif
