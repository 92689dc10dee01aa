// SPDX-License-Identifier: BSD-3-Clause
//
// Who is started by nohup, or in the background of a script, has been told to go on: commands that catch signals ask
// here first. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_IGNORED_SIGNAL_H
#define CASTOFF_TOOLS_LAUNCH_IGNORED_SIGNAL_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

static inline bool co_signal_is_ignored(int signal)
{
    struct sigaction now;
    return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

#endif
