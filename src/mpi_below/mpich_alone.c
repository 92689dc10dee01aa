// SPDX-License-Identifier: BSD-3-Clause
//
// A program of Open MPI under the library for MPICH: its handles are pointers, and our functions, which take numbers,
// would cut them. So it must not meet any of them: before main the process says so and begins again without us. Only
// who preloads this library by hand comes here, and only once in a process.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include "base/launched_rank.h"
#include "base/log.h"
#include "base/preload.h"
#include "base/settings.h"

static const char our_name[] = "libcastoff-mpich.so";

__attribute__((constructor)) static void leave_open_mpi(int count, char **words)
{
    // Where it is, in the environment, it may well become shorter.
    char *preloads = (char *)co_environment("LD_PRELOAD");
    if (count < 1 || preloads == NULL || dlsym(RTLD_NEXT, "ompi_mpi_comm_world") == NULL ||
        !co_preload_leave_out(preloads, our_name)) {
        return;
    }
    if (co_launched_rank() <= 0) {
        co_settings_load();
        co_log(
            CO_LOG_WARN, CO_SUBSYS_PMPI,
            "castoff is off for this job, which runs on native MPI: %s is for MPICH, and this program is linked with "
            "Open MPI; castoff run chooses the right one",
            our_name);
    }
    execv("/proc/self/exe", words);
}
