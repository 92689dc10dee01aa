// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors against the limit of the process. Asks the kernel about one number after the other, for /proc may not be
// there and would need a descriptor to be read. Not hot.
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

int co_descriptors_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT_MAX) {
        return INT_MAX;
    }
    return (int)limit.rlim_cur;
}

int co_descriptors_left(int wanted)
{
    int limit = co_descriptors_limit(), left = 0;
    for (int fd = 0; fd < limit && left < wanted; fd++) {
        left += fcntl(fd, F_GETFD) < 0 && errno == EBADF;
    }
    return left;
}

int co_descriptor_note(int fd, struct co_descriptor_file *file)
{
    struct stat state;
    if (fstat(fd, &state) != 0) {
        return -errno;
    }
    *file = (struct co_descriptor_file){state.st_dev, state.st_ino};
    return 0;
}

bool co_descriptor_is_of(int fd, const struct co_descriptor_file *file)
{
    struct co_descriptor_file now;
    return co_descriptor_note(fd, &now) == 0 && now.device == file->device && now.inode == file->inode;
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
