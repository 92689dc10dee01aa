// SPDX-License-Identifier: BSD-3-Clause
//
// A job of `castoff info --check`: a program on each host, started by mpirun or srun. Cold.
#ifndef CASTOFF_TOOLS_INFO_CHECK_JOB_H
#define CASTOFF_TOOLS_INFO_CHECK_JOB_H

#include <stdbool.h>
#include <stddef.h>

#include "info_check.h"

struct co_check_job {
    char *const *program;                  // and its arguments, NULL-terminated
    void (*line)(void *arg, char *line);   // each line of its output as it comes; NULL: nobody asks
    bool (*waits)(void *arg, int seconds); // nothing has come for so long: is there time? NULL: there is
    void *arg;
};

struct co_check_output {
    char *text[2]; // standard output, standard error
    size_t used[2], told;
    bool stood_still; // and was ended
};

// An exit status; why a job has failed is said, but not of one that stood still. The output is the caller's to free in
// any case.
int co_check_job_run(struct co_check_output *output, const struct co_check_request *request,
                     const struct co_check_job *job);
void co_check_output_free(struct co_check_output *output);

#endif
