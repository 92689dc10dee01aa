// SPDX-License-Identifier: BSD-3-Clause
//
// The watcher reads from a pipe that nobody writes: it ends when the other end closes, which the kernel does for any
// process that is gone.
#define _GNU_SOURCE // nftw, pipe2, close_range
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILES_MOST = 1024 }; // that are closed where the kernel cannot do it by itself

const char *co_scratch_place(void)
{
    const char *place = getenv("TMPDIR");
    return place != NULL && *place != '\0' ? place : "/tmp";
}

static int remove_one(const char *path, const struct stat *state, int kind, struct FTW *walk)
{
    (void)state;
    (void)kind;
    (void)walk;
    (void)remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

// A key at the terminal reaches all processes of the job, and this one is to be the last. It holds nobody's output
// open.
static void watch(const char *path, int alive)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    char byte;
    ssize_t got;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], SIG_IGN);
    }
    (void)dup2(alive, 0);
    if (close_range(1, UINT_MAX, 0) != 0) {
        for (int file = 1; file < FILES_MOST; file++) {
            close(file);
        }
    }
    do {
        got = read(0, &byte, 1);
    } while (got < 0 && errno == EINTR);
    remove_all(path);
    _exit(0);
}

static int start_watcher(struct co_scratch *scratch)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    pid_t watcher = fork();
    if (watcher == 0) {
        close(ends[1]);
        watch(scratch->path, ends[0]);
    }
    int error = watcher < 0 ? -errno : 0;
    close(ends[0]);
    if (error != 0) {
        close(ends[1]);
        return error;
    }
    scratch->alive = ends[1];
    scratch->watcher = watcher;
    return 0;
}

int co_scratch_open(struct co_scratch *scratch, const char *name)
{
    const char *place = co_scratch_place();
    size_t room = strlen(place) + strlen(name) + sizeof "/-XXXXXX";
    *scratch = (struct co_scratch){.path = malloc(room), .alive = -1};
    if (scratch->path == NULL) {
        return -ENOMEM;
    }
    snprintf(scratch->path, room, "%s/%s-XXXXXX", place, name);
    int error = mkdtemp(scratch->path) == NULL ? -errno : 0;
    if (error == 0 && (error = start_watcher(scratch)) != 0) {
        rmdir(scratch->path);
    }
    if (error != 0) {
        free(scratch->path);
        scratch->path = NULL;
    }
    return error;
}

void co_scratch_close(struct co_scratch *scratch)
{
    if (scratch->path == NULL) {
        return;
    }
    remove_all(scratch->path);
    close(scratch->alive);
    while (waitpid(scratch->watcher, NULL, 0) < 0 && errno == EINTR) {
    }
    free(scratch->path);
    scratch->path = NULL;
}
