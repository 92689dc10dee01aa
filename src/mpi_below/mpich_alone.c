// SPDX-License-Identifier: BSD-3-Clause
//
// A program of Open MPI under the library for MPICH: its handles are pointers, and our functions, which take numbers,
// would cut them. So it must not meet any of them: before main the process says so and begins again without us. Only
// who preloads this library by hand comes here, and only once in a process.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/launched_rank.h"
#include "base/log.h"
#include "base/settings.h"

static const char our_name[] = "libcastoff-mpich.so";

// Takes the words that end with our name out of a list, in place. Whether there was one.
static bool leave_out(char *list)
{
    bool found = false;
    for (char *word = list; *word != '\0';) {
        size_t length = strcspn(word, " :"), whole = length + strspn(word + length, " :"), ours = sizeof our_name - 1;
        if (length >= ours && memcmp(word + length - ours, our_name, ours) == 0) {
            memmove(word, word + whole, strlen(word + whole) + 1);
            found = true;
        } else {
            word += whole;
        }
    }
    return found;
}

__attribute__((constructor)) static void leave_open_mpi(int count, char **words)
{
    // Where it is, in the environment, it may well become shorter.
    char *preloads = (char *)co_environment("LD_PRELOAD");
    if (count < 1 || preloads == NULL || dlsym(RTLD_NEXT, "ompi_mpi_comm_world") == NULL || !leave_out(preloads)) {
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
