// SPDX-License-Identifier: BSD-3-Clause
//
// What castoff info says about decisions. Needs co_settings_load. Cold.
#ifndef CASTOFF_TOOLS_INFO_TUNE_H
#define CASTOFF_TOOLS_INFO_TUNE_H

#include <stddef.h>
#include <stdio.h>

#include "engine/decide/tune_table.h"

// The table in force. 0 or -errno with the cause, as the start of a job has it.
int co_info_tune_load(struct co_tune_table *table, char *why, size_t why_room);

// Whether the file of CASTOFF_TUNE can be used: 0, or -errno with the cause, which names it.
int co_info_tune_check(char *why, size_t why_room);

// The table in force with what a row means, in its text form. 0 or -errno: it cannot be read.
int co_info_tune_print(FILE *stream);

#endif
