// SPDX-License-Identifier: BSD-3-Clause
//
// What `castoff info` says of a job that would be started here: which calls would be taken, from which size to which,
// on this host and between hosts. Cold.
#ifndef CASTOFF_TOOLS_INFO_JOB_H
#define CASTOFF_TOOLS_INFO_JOB_H

#include <stdio.h>

#include "info_transports.h"

// Needs co_settings_load. By the settings, the table that they name, and what is usable here.
void co_info_job_print(FILE *stream, const struct co_transport_state states[CO_TRANSPORTS]);

#endif
