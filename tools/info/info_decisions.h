// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff info` says about decisions. Needs co_settings_load. Cold.
#ifndef CASTOFF_TOOLS_INFO_DECISIONS_H
#define CASTOFF_TOOLS_INFO_DECISIONS_H

#include <stddef.h>
#include <stdio.h>

#include "info_transports.h"

// Whether the file of CASTOFF_TUNE can be used: 0, or -errno with the cause, which names it.
int co_info_tune_check(char *why, size_t why_room);

// The table in force with what a row means, in its text form. 0 or -errno: it cannot be read.
int co_info_tune_print(FILE *stream);

struct co_info_job {
    int ranks;          // 0: as many as there are cores, and between hosts four hosts
    int ranks_per_host; // between hosts; 0: one
};

// Of a job that would be started here: which calls would be taken, from which size to which, on this host and between
// hosts, by the settings, the table that they name, and what is usable.
void co_info_job_print(FILE *stream, const struct co_transport_state states[CO_TRANSPORTS],
                       const struct co_info_job *job);

#endif
