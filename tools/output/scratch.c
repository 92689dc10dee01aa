// SPDX-License-Identifier: BSD-3-Clause
//
// The watcher reads from a pipe that nobody writes: it ends when the other end closes, which the kernel does for any
// process that is gone. It makes the directory, too: there is no moment at which nobody would remove it.
#define _GNU_SOURCE // nftw, pipe2, close_range
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
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

// What the watcher says once: 0 or -errno, and where the directory is.
struct made {
    int error;
    char path[PATH_MAX];
};

// A key at the terminal reaches all processes of the job, and this one is to be the last. It holds nobody's output
// open.
static void watch(struct made *made, int alive, int report)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
    char byte;
    ssize_t got;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        signal(signals[i], SIG_IGN);
    }
    made->error = mkdtemp(made->path) == NULL ? -errno : 0;
    bool is_told = write(report, made, sizeof *made) == (ssize_t)sizeof *made;
    (void)dup2(alive, 0);
    if (close_range(1, UINT_MAX, 0) != 0) {
        for (int file = 1; file < FILES_MOST; file++) {
            close(file);
        }
    }
    do {
        got = is_told && made->error == 0 ? read(0, &byte, 1) : 0;
    } while (got < 0 && errno == EINTR);
    if (made->error == 0) {
        remove_all(made->path);
    }
    _exit(0);
}

// Of a pipe: more than it takes at once comes in parts.
static void hear(int report, struct made *made)
{
    size_t done = 0;
    while (done < sizeof *made) {
        ssize_t got = read(report, (char *)made + done, sizeof *made - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            made->error = -EIO; // it was killed
            return;
        }
        done += (size_t)got;
    }
}

static void wait_for(pid_t watcher)
{
    while (waitpid(watcher, NULL, 0) < 0 && errno == EINTR) {
    }
}

// `made` has the pattern of the path.
static int start_watcher(struct co_scratch *scratch, struct made *made)
{
    int ends[2], report[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return -errno;
    }
    if (pipe2(report, O_CLOEXEC) != 0) {
        int error = -errno;
        close(ends[0]);
        close(ends[1]);
        return error;
    }
    pid_t watcher = fork();
    if (watcher == 0) {
        close(ends[1]);
        close(report[0]);
        watch(made, ends[0], report[1]);
    }
    made->error = watcher < 0 ? -errno : 0;
    close(ends[0]);
    close(report[1]);
    if (watcher > 0) {
        hear(report[0], made);
    }
    close(report[0]);
    if (made->error != 0) {
        close(ends[1]);
        if (watcher > 0) {
            wait_for(watcher);
        }
        return made->error;
    }
    scratch->alive = ends[1];
    scratch->watcher = watcher;
    return 0;
}

int co_scratch_open(struct co_scratch *scratch, const char *name)
{
    struct made made = {.error = 0};
    *scratch = (struct co_scratch){.path = NULL, .alive = -1};
    int length = snprintf(made.path, sizeof made.path, "%s/%s-XXXXXX", co_scratch_place(), name);
    if (length >= (int)sizeof made.path) {
        return -ENAMETOOLONG;
    }
    int error = start_watcher(scratch, &made);
    if (error == 0 && (scratch->path = strdup(made.path)) == NULL) {
        close(scratch->alive); // the watcher removes it
        wait_for(scratch->watcher);
        error = -ENOMEM;
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
    wait_for(scratch->watcher);
    free(scratch->path);
    scratch->path = NULL;
}
