// SPDX-License-Identifier: BSD-3-Clause
//
// Bells for callers that sleep: an eventfd each.
#include "engine/progress/bells.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int make(struct co_bell *bell)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    atomic_store(&bell->fd, fd);
    return 0;
}

int co_bells_open(struct co_bells *bells, int most)
{
    bells->most = most < CO_BELLS ? most : CO_BELLS;
    for (int i = 0; i < CO_BELLS; i++) {
        atomic_init(&bells->bells[i].is_taken, false);
        atomic_init(&bells->bells[i].fd, -1);
    }
    return make(&bells->bells[0]);
}

void co_bells_close(struct co_bells *bells)
{
    for (int i = 0; i < CO_BELLS; i++) {
        int fd = atomic_load(&bells->bells[i].fd);
        if (fd >= 0) {
            close(fd);
        }
    }
}

int co_bells_take(struct co_bells *bells)
{
    for (int i = 0; i < bells->most; i++) {
        struct co_bell *bell = &bells->bells[i];
        if (atomic_exchange(&bell->is_taken, true)) {
            continue;
        }
        if (atomic_load(&bell->fd) >= 0 || make(bell) == 0) {
            return i;
        }
        atomic_store(&bell->is_taken, false);
        return -1;
    }
    return -1;
}

int co_bells_descriptor(struct co_bells *bells, int bell)
{
    return atomic_load(&bells->bells[bell].fd);
}

void co_bells_give(struct co_bells *bells, int bell, bool was_woken)
{
    uint64_t rings;
    while (was_woken && read(co_bells_descriptor(bells, bell), &rings, sizeof(rings)) < 0 && errno == EINTR) {
    }
    atomic_store(&bells->bells[bell].is_taken, false);
}

void co_bells_ring(struct co_bells *bells)
{
    uint64_t one = 1;
    for (int i = 0; i < bells->most; i++) {
        struct co_bell *bell = &bells->bells[i];
        int fd = atomic_load(&bell->fd);
        while (fd >= 0 && atomic_load(&bell->is_taken) && write(fd, &one, sizeof(one)) < 0 && errno == EINTR) {
        }
    }
}
