// SPDX-License-Identifier: BSD-3-Clause
//
// The option --set NAME=VALUE of castoff run, ab and bench: one check for all of them. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_SET_OPTION_H
#define CASTOFF_TOOLS_LAUNCH_SET_OPTION_H

#include "command.h"

enum { CO_SET_NAME_MAX = 256 };

// Writes the full name, with CASTOFF_ in front, and returns the value, a part of `text`. NULL when there is no such
// setting or it cannot have this value: `command` has said so.
const char *co_set_option_take(const struct co_command *command, const char *text, char name[CO_SET_NAME_MAX]);

#endif
