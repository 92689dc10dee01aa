// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the programs in a launcher's command line and puts a wrapper before each, so that the preload reaches the
// ranks and not the launcher. Knows Open MPI's mpirun (4.1, and 5 where its options are the same). Pure. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_LAUNCHER_H
#define CASTOFF_TOOLS_LAUNCH_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

struct co_launcher_plan {
    char **argv; // the new command line, NULL at its end; the words belong to the inputs
    int argc;
    const char *programs[64]; // as written, one for each program of the job
    int program_count;
    bool may_be_elsewhere; // hosts, folders or paths are given: a program need not be visible from here
    bool only_informs;     // --help, --version: starts nothing
};

// Is this word (a path or a name) mpirun or one of its names?
bool co_launcher_is_mpirun(const char *word);

// `argv` is the launcher's own command line (argv[0] the launcher). `wrapper` is put before every program. 0; or
// -EINVAL with one sentence in why; -ENOMEM. On success the caller releases the plan.
int co_launcher_plan_make(struct co_launcher_plan *plan, int argc, char **argv, char *const *wrapper, int wrapper_count,
                          char *why, size_t why_room);
void co_launcher_plan_release(struct co_launcher_plan *plan);

#endif
