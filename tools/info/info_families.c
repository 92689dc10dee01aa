// SPDX-License-Identifier: BSD-3-Clause
//
// Asks MPI libraries for their version, each in a child that loads it: a library that breaks, writes or hangs does so
// there. MPI_Get_library_version may be called before MPI_Init. Cold.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // pipe2, dladdr
#endif
#include "info_families.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT_MAX = 1 << 14, SECONDS = 10 }; // MPICH's texts may have 8 KiB

static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so.80"};
enum { NAMES = sizeof names / sizeof names[0] };

// In the child: "PATH\nTEXT" into the pipe, or nothing.
static void say_version(int out, const char *library)
{
    static char text[TEXT_MAX];
    Dl_info place;
    int (*ask)(char *, int *) = NULL, length = 0, nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    alarm(SECONDS);
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (handle != NULL) {
        *(void **)&ask = dlsym(handle, "MPI_Get_library_version");
    }
    if (ask == NULL || ask(text, &length) != 0 || dladdr(*(void **)&ask, &place) == 0) {
        _exit(1);
    }
    text[TEXT_MAX - 1] = '\0';
    // One write of less than a pipe holds.
    char line[PATH_MAX + 256];
    int bytes = snprintf(line, sizeof line, "%s\n%.200s", place.dli_fname, text);
    _exit(bytes > 0 && write(out, line, strnlen(line, sizeof line)) == (ssize_t)strnlen(line, sizeof line) ? 0 : 1);
}

// The words up to the first comma or line's end, blanks in place of tabs.
static void shorten(char *text, size_t room, const char *said)
{
    snprintf(text, room, "%.*s", (int)strcspn(said, ",\n"), said);
    for (char *at = text; (at = strpbrk(at, "\t\r\v\f")) != NULL;) {
        *at = ' ';
    }
}

// Whether it is there and answers.
static int ask_library(struct co_family_found *found, const char *library)
{
    char answer[PATH_MAX + 256] = "";
    int ends[2];
    size_t used = 0;
    if (pipe2(ends, O_CLOEXEC)) {
        return 0;
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        say_version(ends[1], library);
    }
    close(ends[1]);
    for (ssize_t got; (got = read(ends[0], answer + used, sizeof answer - 1 - used)) > 0;) {
        used += (size_t)got;
    }
    close(ends[0]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    char *line_end = strchr(answer, '\n');
    if (line_end == NULL) {
        return 0;
    }
    *line_end = '\0';
    found->family = co_family_of(line_end + 1);
    shorten(found->text, sizeof found->text, line_end + 1);
    return realpath(answer, found->path) != NULL;
}

static int add(struct co_family_found found[CO_FAMILIES_MAX], int count, const char *library)
{
    if (count == CO_FAMILIES_MAX || !ask_library(&found[count], library)) {
        return count;
    }
    for (int i = 0; i < count; i++) {
        if (strcmp(found[i].path, found[count].path) == 0) {
            return count;
        }
    }
    return count + 1;
}

int co_families_find(struct co_family_found found[CO_FAMILIES_MAX], const char *mpirun)
{
    static const char *const folders[] = {"../lib", "../lib64"};
    char program[PATH_MAX], library[2 * PATH_MAX];
    int count = 0;
    bool has_program = *mpirun != '\0' && realpath(mpirun, program) != NULL;
    for (size_t i = 0; has_program && i < sizeof folders / sizeof folders[0]; i++) {
        int folder = (int)(strrchr(program, '/') - program);
        for (int j = 0; j < NAMES; j++) {
            snprintf(library, sizeof library, "%.*s/%s/%s", folder, program, folders[i], names[j]);
            count = access(library, R_OK) == 0 ? add(found, count, library) : count;
        }
    }
    for (int j = 0; j < NAMES; j++) {
        count = add(found, count, names[j]);
    }
    return count;
}
