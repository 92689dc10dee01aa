// SPDX-License-Identifier: BSD-3-Clause
//
// castoff info --check: tries multicast between hosts by three short jobs, a rank on each host: what the hosts say of
// themselves, broadcasts with castoff and stock in turn, and once more what the hosts say. Cold.
#ifndef CASTOFF_TOOLS_INFO_CHECK_H
#define CASTOFF_TOOLS_INFO_CHECK_H

struct co_check_request {
    char *const *hosts;           // NULL-terminated; none: those that the launcher has from its batch system
    const char *mpirun_arguments; // in words without blanks; NULL: none
    const char *srun_arguments;   // likewise, of srun, which then starts the jobs; NULL: mpirun does
    const char *seconds;          // how long broadcasts are measured
};

// Prints what was found; an exit status: TOOL_OK where multicast passes between all hosts.
int co_info_check(const struct co_check_request *request);

#endif
