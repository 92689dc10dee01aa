// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors against the limit of the process. Asks the kernel about the numbers, for /proc may not be there and would
// need a descriptor to be read. Not hot, but for whether one is ours still.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // F_SETSIG
#endif
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"

int co_descriptors_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) {
        return INT_MAX;
    }
    return (int)limit.rlim_cur;
}

// Files are at the lowest numbers. poll(2) tells of many at once, but asks the driver of each that is open, and some
// have more to do then than to answer: those are asked about one by one.
enum { ONE_BY_ONE = 64, AT_ONCE = 128 };

static int closed_one_by_one(int first, int count)
{
    int closed = 0;
    for (int fd = first; fd < first + count; fd++) {
        closed += fcntl(fd, F_GETFD) < 0 && errno == EBADF;
    }
    return closed;
}

static int closed_at_once(int first, int count)
{
    struct pollfd asked[AT_ONCE];
    int closed = 0;
    for (int i = 0; i < count; i++) {
        asked[i] = (struct pollfd){.fd = first + i};
    }
    if (poll(asked, (nfds_t)count, 0) < 0) {
        return closed_one_by_one(first, count);
    }
    for (int i = 0; i < count; i++) {
        closed += (asked[i].revents & POLLNVAL) != 0;
    }
    return closed;
}

int co_descriptors_left(int wanted)
{
    int limit = co_descriptors_limit();
    int first = limit < ONE_BY_ONE ? limit : ONE_BY_ONE, left = closed_one_by_one(0, first);
    while (first < limit && left < wanted) {
        int count = limit - first < AT_ONCE ? limit - first : AT_ONCE;
        left += closed_at_once(first, count);
        first += count;
    }
    return left < wanted ? left : wanted;
}

// The signal that tells of a file by which somebody wants to be told of it: nobody asks for these, and none is sent,
// for nobody asks to be told. It belongs to the open file, which all who have it share. 0: it cannot be marked.
static int mark(int fd)
{
    static const int marks[] = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS,  SIGFPE,    SIGKILL, SIGSEGV, SIGSTKFLT,
                                SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU, SIGVTALRM, SIGPROF, SIGSYS};
    static _Atomic unsigned marked;
    int given = fcntl(fd, F_GETSIG);
    if (given == 0) {
        given = marks[co_add_relaxed(&marked, 1) % (sizeof marks / sizeof marks[0])]; // relaxed: any order will do
        given = fcntl(fd, F_SETSIG, given) == 0 ? given : 0;
    }
    return given > 0 ? given : 0;
}

static int identify(int fd, struct co_descriptor_file *file, mode_t *mode)
{
    struct stat state;
    if (fstat(fd, &state) != 0) {
        return -errno;
    }
    *file = (struct co_descriptor_file){state.st_dev, state.st_ino, 0};
    *mode = state.st_mode;
    return 0;
}

int co_descriptor_note(int fd, struct co_descriptor_file *file)
{
    mode_t mode;
    int error = identify(fd, file, &mode);
    if (error == 0 && ((mode & S_IFMT) == 0 || S_ISSOCK(mode))) { // looked at often, or anonymous
        file->mark = mark(fd);
    }
    return error;
}

bool co_descriptor_is_of(int fd, const struct co_descriptor_file *file)
{
    struct co_descriptor_file now = {0}; // GCC 12 for 64-bit ARM does not see that errno is never 0
    mode_t mode;
    if (file->mark != 0) {
        return fcntl(fd, F_GETSIG) == file->mark;
    }
    return identify(fd, &now, &mode) == 0 && now.device == file->device && now.inode == file->inode;
}

void co_descriptor_close(int *fd, const struct co_descriptor_file *file)
{
    if (*fd >= 0 && co_descriptor_is_of(*fd, file)) {
        close(*fd);
    }
    *fd = -1;
}

// The kernel gives the lowest free number. A table of 64 is there from the start; a larger one would have to be made,
// which takes milliseconds in a process of several threads.
enum { RAISED_LEAST = 32, RAISED_MOST = 63 };

int co_descriptor_raise(int fd)
{
    int raised = fd < RAISED_LEAST ? fcntl(fd, F_DUPFD_CLOEXEC, RAISED_LEAST) : -1;
    if (raised > RAISED_MOST) {
        close(raised);
        raised = -1;
    }
    if (raised < 0) {
        return fd;
    }
    close(fd);
    return raised;
}

#define STREAMS 3 // standard input, output, errors
static bool is_held[STREAMS];

// By a file that is there in any surroundings, and that nothing can be written to.
void co_descriptors_keep_streams(void)
{
    int file;
    while ((file = open("/", O_PATH | O_CLOEXEC)) >= 0 && file < STREAMS) {
        is_held[file] = true;
    }
    if (file >= 0) {
        close(file);
    }
}

void co_descriptors_give_streams(void)
{
    for (int number = 0; number < STREAMS; number++) {
        if (is_held[number]) {
            close(number);
        }
        is_held[number] = false;
    }
}

void co_descriptor_keep(struct co_descriptor_kept *kept, int fd)
{
    kept->fd = fd >= 0 && co_descriptor_note(fd, &kept->file) == 0 ? fd : -1;
    if (fd >= 0 && kept->fd < 0) {
        close(fd);
    }
}

bool co_descriptor_is_kept(struct co_descriptor_kept *kept)
{
    if (kept->fd >= 0 && !co_descriptor_is_of(kept->fd, &kept->file)) {
        kept->fd = -1;
    }
    return kept->fd >= 0;
}

void co_descriptor_drop(struct co_descriptor_kept *kept)
{
    if (co_descriptor_is_kept(kept)) {
        close(kept->fd);
    }
    kept->fd = -1;
}

// False: nobody has to be told anything, for it was blocked and waiting before.
static bool is_new(int number)
{
    sigset_t waiting;
    return sigpending(&waiting) == 0 && !sigismember(&waiting, number);
}

static void take_away(int number)
{
    const struct timespec at_once = {0, 0};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR) {
    }
}

static int write_all(int file, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t written = write(file, bytes, count);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return written < 0 ? -errno : -EIO;
        }
        bytes += written;
        count -= (size_t)written;
    }
    return 0;
}

// The kernel sends both signals to the thread that writes. It blocks them meanwhile and takes away what came of its own
// write; one that was waiting before stays.
int co_descriptor_write(int file, const void *bytes, size_t count)
{
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGPIPE);
    sigaddset(&both, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &both, &before);
    bool takes_pipe = is_new(SIGPIPE), takes_size = is_new(SIGXFSZ);
    int error = write_all(file, bytes, count);
    if (error == -EPIPE && takes_pipe) {
        take_away(SIGPIPE);
    } else if (error == -EFBIG && takes_size) {
        take_away(SIGXFSZ);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
