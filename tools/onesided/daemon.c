// SPDX-License-Identifier: BSD-3-Clause
//
// Signals and log lines of castoff's daemons.
#define _GNU_SOURCE
#include "daemon.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/plain_text.h"
#include "tools/launch/ignored_signal.h"

_Atomic int co_daemon_stop;

static void stop(int signal)
{
    (void)signal;
    co_daemon_stop = 1;
}

void co_daemon_catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = stop}; // without SA_RESTART: a wait ends
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (!co_signal_is_ignored(signals[i])) {
            sigaction(signals[i], &action, NULL);
        }
    }
    signal(SIGPIPE, SIG_IGN);
}

void co_daemon_log(const struct co_command *command, const char *line)
{
    char text[512], shown[441];
    int length =
        snprintf(text, sizeof text, "castoff %s: %s\n", command->name, co_plain_line(shown, sizeof shown, line));
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written; // nobody to tell
}
