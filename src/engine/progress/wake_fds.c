// SPDX-License-Identifier: BSD-3-Clause
//
// Descriptors for callers that sleep: an eventfd each.
#include "engine/progress/wake_fds.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CLOSED (-2)

static int make(struct co_wake_fd *wake_fd)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    int error = co_descriptor_note(fd, &wake_fd->file);
    if (error < 0) {
        close(fd);
        return error;
    }
    atomic_store(&wake_fd->fd, fd);
    return 0;
}

// Its number may be a file of the program's by now, which is neither waited for nor written to.
static bool is_kept(struct co_wake_fd *wake_fd)
{
    int fd = atomic_load(&wake_fd->fd);
    return fd >= 0 && co_descriptor_is_of(fd, &wake_fd->file);
}

int co_wake_fds_open(struct co_wake_fds *wake_fds, int most)
{
    wake_fds->most = most < CO_WAKE_FDS ? most : CO_WAKE_FDS;
    for (int i = 0; i < CO_WAKE_FDS; i++) {
        atomic_init(&wake_fds->wake_fds[i].is_taken, false);
        atomic_init(&wake_fds->wake_fds[i].fd, -1);
    }
    return make(&wake_fds->wake_fds[0]);
}

void co_wake_fds_close(struct co_wake_fds *wake_fds)
{
    for (int i = 0; i < CO_WAKE_FDS; i++) {
        int fd = atomic_exchange(&wake_fds->wake_fds[i].fd, CLOSED);
        co_descriptor_close(&fd, &wake_fds->wake_fds[i].file);
    }
}

int co_wake_fds_take(struct co_wake_fds *wake_fds)
{
    for (int i = 0; i < wake_fds->most; i++) {
        struct co_wake_fd *wake_fd = &wake_fds->wake_fds[i];
        if (atomic_load(&wake_fd->fd) == CLOSED || atomic_exchange(&wake_fd->is_taken, true)) {
            continue;
        }
        if (is_kept(wake_fd) || (atomic_load(&wake_fd->fd) == -1 && make(wake_fd) == 0)) {
            return i;
        }
        bool is_closed = atomic_load(&wake_fd->fd) >= 0;
        if (is_closed) {
            atomic_store(&wake_fd->fd, CLOSED);
        }
        atomic_store(&wake_fd->is_taken, false);
        if (!is_closed) {
            return -1;
        }
    }
    return -1;
}

int co_wake_fds_descriptor(struct co_wake_fds *wake_fds, int wake_fd)
{
    return atomic_load(&wake_fds->wake_fds[wake_fd].fd);
}

void co_wake_fds_give(struct co_wake_fds *wake_fds, int wake_fd, bool was_woken)
{
    uint64_t wakes;
    was_woken = was_woken && is_kept(&wake_fds->wake_fds[wake_fd]);
    while (was_woken && read(co_wake_fds_descriptor(wake_fds, wake_fd), &wakes, sizeof(wakes)) < 0 && errno == EINTR) {
    }
    atomic_store(&wake_fds->wake_fds[wake_fd].is_taken, false);
}

void co_wake_fds_signal(struct co_wake_fds *wake_fds)
{
    uint64_t one = 1;
    for (int i = 0; i < wake_fds->most; i++) {
        struct co_wake_fd *wake_fd = &wake_fds->wake_fds[i];
        bool is_heard = atomic_load(&wake_fd->is_taken) && is_kept(wake_fd);
        while (is_heard && write(atomic_load(&wake_fd->fd), &one, sizeof(one)) < 0 && errno == EINTR) {
        }
    }
}
