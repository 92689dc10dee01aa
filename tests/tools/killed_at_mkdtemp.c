// SPDX-License-Identifier: BSD-3-Clause
//
// Preloaded: ends process KILLED_AT_MKDTEMP at the moment when a directory for its files has come to be, whoever made
// it.
#define _GNU_SOURCE // RTLD_NEXT
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

char *mkdtemp(char *pattern)
{
    char *(*real)(char *);
    *(void **)&real = dlsym(RTLD_NEXT, "mkdtemp");
    char *path = real(pattern);
    kill((pid_t)atoi(getenv("KILLED_AT_MKDTEMP")), SIGKILL);
    return path;
}
