// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one command at a time and waits for it: wall time, exit status, its output handed over by pieces. Signals that
// would end us are passed on to the command first. Single thread. Cold.
#ifndef CASTOFF_TOOLS_LAUNCH_CHILD_H
#define CASTOFF_TOOLS_LAUNCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*co_child_output_fn)(void *arg, const char *bytes, size_t count);

struct co_child_result {
    int status;          // exit status as a shell would give it: 128 + signal when killed
    uint64_t elapsed_ns; // from start to end
    int interrupted;     // signal that we were sent meanwhile, 0: none
};

// Runs argv (found on PATH) with standard input from /dev/null; `output` gets its standard output as it comes, and
// `errors` its standard error, NULL: that goes where ours goes. 0, or -errno when it could not be started. A signal
// that is ignored stays so.
int co_child_run(struct co_child_result *result, char *const *argv, co_child_output_fn output,
                 co_child_output_fn errors, void *arg);

// Asked each second in which nothing has come, of so many since something did; false: end it, by SIGTERM.
typedef bool (*co_child_wait_fn)(void *arg, int seconds);

// The same of one that may stand still.
int co_child_run_while(struct co_child_result *result, char *const *argv, co_child_output_fn output,
                       co_child_output_fn errors, co_child_wait_fn waits, void *arg);

#endif
