// SPDX-License-Identifier: BSD-3-Clause
//
// Looks for castoff's parts beside the running binary (build folder), then under the prefix it is installed in. Cold.
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

int co_places_self(char path[PATH_MAX])
{
    ssize_t bytes = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (bytes >= 0) {
        path[bytes] = '\0';
        return 0;
    }
    const char *started = (const char *)getauxval(AT_EXECFN); // where there is no /proc
    return started && realpath(started, path) ? 0 : -ENOENT;
}

// First of `folders`, relative to the binary's own, that holds `name`.
static int find_in(char path[PATH_MAX], const char *const folders[], const char *name)
{
    char self[PATH_MAX], candidate[2 * PATH_MAX];
    int failed = co_places_self(self);
    if (failed) {
        return failed;
    }
    *strrchr(self, '/') = '\0';
    for (int i = 0; folders[i]; i++) {
        snprintf(candidate, sizeof candidate, "%s/%s/%s", self, folders[i], name);
        if (access(candidate, R_OK) == 0 && realpath(candidate, path)) {
            return 0;
        }
    }
    return -ENOENT;
}

static const char *const library_folders[] = {".", "../lib", "../lib/castoff", NULL};

int co_places_preload(char path[PATH_MAX], const char *name)
{
    return find_in(path, library_folders, name);
}

int co_places_library(char path[PATH_MAX])
{
    return co_places_preload(path, "libcastoff.so");
}

int co_places_recorder(char path[PATH_MAX])
{
    return find_in(path, library_folders, "libcastoff-record.so");
}

int co_places_group_library(char path[PATH_MAX])
{
    return find_in(path, library_folders, "libcastoff-group.so");
}

int co_places_bench_program(char path[PATH_MAX], const char *name)
{
    static const char *const folders[] = {"bench", "../lib/castoff/bench", NULL};
    return find_in(path, folders, name);
}

int co_places_lab(char path[PATH_MAX])
{
    static const char *const folders[] = {"../tests/lab", "../share/castoff/lab", NULL};
    return find_in(path, folders, "lab.sh");
}
