// SPDX-License-Identifier: BSD-3-Clause
//
// Pages are registered for write protection, which is never put on any, so that no access of the program's is delayed:
// only the events are wanted. Cold.
#define _GNU_SOURCE // syscall, O_CLOEXEC
#include "base/memory/memory_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/descriptors.h"
#include "base/own_thread.h"

#define EVENTS (UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE)
#define MESSAGES 16
#define LOOK_MS 1000
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

struct place {
    _Atomic uintptr_t start, end; // end 0: free
    _Atomic bool is_changed;
};

struct co_memory_watch {
    int kernel_fd, end_fd;
    struct co_descriptor_file kernel_file, end_file;
    _Atomic bool must_end;
    pthread_t thread;
    _Atomic bool is_hearing; // an event has been taken, or is about to be, and is not noted yet
    struct place places[CO_MEMORY_WATCH_PLACES];
};

static struct co_memory_watch *_Atomic the_watch; // for fork

static void note(struct co_memory_watch *watch, uintptr_t start, uintptr_t end)
{
    for (int i = 0; i < CO_MEMORY_WATCH_PLACES; i++) {
        struct place *place = &watch->places[i];
        // acquire M1: with the end, its start
        if (co_load_acquire(&place->end) > start && co_load_relaxed(&place->start) < end) {
            co_store_relaxed(&place->is_changed, true); // relaxed: is_hearing publishes it
        }
    }
}

static void take(struct co_memory_watch *watch, const struct uffd_msg *message)
{
    switch (message->event) {
    case UFFD_EVENT_UNMAP:
    case UFFD_EVENT_REMOVE:
        note(watch, message->arg.remove.start, message->arg.remove.end);
        break;
    case UFFD_EVENT_REMAP:
        note(watch, message->arg.remap.from, message->arg.remap.from + message->arg.remap.len);
        break;
    default: // nothing else was asked for
        break;
    }
}

// A program may close what it does not know, and open a file of its own, which gets the number: it is not read.
static bool can_hear(const struct co_memory_watch *watch)
{
    return co_descriptor_is_of(watch->kernel_fd, &watch->kernel_file);
}

// Whoever makes the change goes on as soon as its event is read: is_hearing is set before, and he finds it so. What the
// program has closed wakes nobody: so it is looked at once in a while. The kernel has nobody to tell once this thread
// has left poll(2), and keeps nobody.
static void *hear(void *arg)
{
    struct co_memory_watch *watch = arg;
    struct pollfd fds[] = {{.fd = watch->kernel_fd, .events = POLLIN}, {.fd = watch->end_fd, .events = POLLIN}};
    struct uffd_msg messages[MESSAGES];
    while (!atomic_load(&watch->must_end) && can_hear(watch)) {
        if (poll(fds, 2, LOOK_MS) <= 0 || fds[0].revents == 0) {
            continue;
        }
        atomic_store(&watch->is_hearing, true); // sequentially consistent: before the system call
        if (!can_hear(watch)) {
            break;
        }
        ssize_t bytes = read(watch->kernel_fd, messages, sizeof messages);
        for (ssize_t i = 0; i < bytes / (ssize_t)sizeof messages[0]; i++) {
            take(watch, &messages[i]);
        }
        co_store_release(&watch->is_hearing, false); // release M2: what was noted
    }
    co_store_release(&watch->is_hearing, false); // release M2
    return NULL;
}

// Where the kernel does not copy pages that a device uses at the fork, either process may get the copy at its next
// write.
static void after_fork(void)
{
    struct co_memory_watch *watch = atomic_load(&the_watch);
    if (watch != NULL) {
        note(watch, 0, UINTPTR_MAX);
    }
}

// The kernel goes on telling as long as anybody has the descriptor, and keeps who unmaps something until he is heard:
// with the child's, who has no thread that hears, for as long as that one lives.
static void in_child(void)
{
    struct co_memory_watch *watch = atomic_exchange(&the_watch, NULL);
    if (watch != NULL) {
        co_descriptor_close(&watch->kernel_fd, &watch->kernel_file);
    }
}

static void hear_of_forks(void)
{
    pthread_atfork(NULL, after_fork, in_child);
}

static int open_kernel(void)
{
    struct uffdio_api api = {.api = UFFD_API, .features = EVENTS};
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (fd < 0 && errno == EINVAL) { // a kernel that does not know the flag
        fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    }
    if (fd >= 0 && ioctl(fd, UFFDIO_API, &api) != 0) {
        close(fd);
        errno = ENOTSUP;
        fd = -1;
    }
    return fd >= 0 ? fd : -errno;
}

int co_memory_watch_open(struct co_memory_watch **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct co_memory_watch *none = NULL, *watch = calloc(1, sizeof *watch);
    if (watch == NULL) {
        return -ENOMEM;
    }
    if (!atomic_compare_exchange_strong(&the_watch, &none, watch)) {
        free(watch);
        return -EBUSY;
    }
    pthread_once(&once, hear_of_forks);
    watch->end_fd = eventfd(0, EFD_CLOEXEC);
    watch->kernel_fd = watch->end_fd < 0 ? -errno : open_kernel();
    int error = watch->kernel_fd < 0 ? watch->kernel_fd : co_descriptor_note(watch->kernel_fd, &watch->kernel_file);
    error = error == 0 ? co_descriptor_note(watch->end_fd, &watch->end_file) : error;
    error = error == 0 ? -co_own_thread_start(&watch->thread, hear, watch) : error;
    if (error == 0) {
        *out = watch;
        return 0;
    }
    if (watch->kernel_fd >= 0) {
        close(watch->kernel_fd);
    }
    if (watch->end_fd >= 0) {
        close(watch->end_fd);
    }
    atomic_store(&the_watch, NULL);
    free(watch);
    return error;
}

// One line of maps into `from`, `to`. False: not one of private anonymous memory.
static bool is_anonymous(const char *line, unsigned long *from, unsigned long *to)
{
    char rights[5] = "";
    unsigned long inode = 1;
    int found = sscanf(line, "%lx-%lx %4s %*x %*x:%*x %lu", from, to, rights, &inode);
    return found == 4 && rights[3] == 'p' && inode == 0;
}

static bool is_all_anonymous(uintptr_t start, uintptr_t end)
{
    char line[256];
    FILE *maps = fopen("/proc/thread-self/maps", "re"); // that of the process is empty when its first thread has ended
    bool is_at_start = true, is_good = maps != NULL;
    while (is_good && start < end && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from = 0, to = 0;
        bool is_one = is_at_start && is_anonymous(line, &from, &to);
        is_at_start = strchr(line, '\n') != NULL; // else the rest of a long name follows
        if (to > start) {
            is_good = is_one && from <= start;
            start = to;
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return is_good && start >= end;
}

static struct place *free_place(struct co_memory_watch *watch)
{
    for (int i = 0; i < CO_MEMORY_WATCH_PLACES; i++) {
        if (co_load_relaxed(&watch->places[i].end) == 0) { // relaxed: written by ourselves
            return &watch->places[i];
        }
    }
    return NULL;
}

// What came before the next statement of ours is noted then. Short: the thread waits for nobody.
static void until_heard(const struct co_memory_watch *watch)
{
    while (co_load_acquire(&watch->is_hearing)) { // acquire M2
        sched_yield();
    }
}

int co_memory_watch_add(struct co_memory_watch *watch, const void *start, size_t bytes)
{
    struct place *place = free_place(watch);
    if (place == NULL) {
        return -ENOSPC;
    }
    if (!is_all_anonymous((uintptr_t)start, (uintptr_t)start + bytes)) {
        return -ENOTSUP;
    }
    until_heard(watch); // of former mappings there, which are no matter of this place
    co_store_relaxed(&place->start, (uintptr_t)start);
    co_store_relaxed(&place->is_changed, false);
    co_store_release(&place->end, (uintptr_t)start + bytes); // release M1: the start
    if (!can_hear(watch)) {
        co_store_release(&place->end, 0); // release M1: nobody's
        return -EBADF;
    }
    struct uffdio_register wanted = {.range = {(uintptr_t)start, bytes}, .mode = UFFDIO_REGISTER_MODE_WP};
    if (ioctl(watch->kernel_fd, UFFDIO_REGISTER, &wanted) != 0) {
        int error = errno;
        co_store_release(&place->end, 0); // release M1: nobody's
        return -error;
    }
    return (int)(place - watch->places);
}

bool co_memory_watch_is_same(const struct co_memory_watch *watch, int place)
{
    until_heard(watch);
    return can_hear(watch) && !co_load_relaxed(&watch->places[place].is_changed);
}

static bool is_shared(const struct co_memory_watch *watch, const struct place *place)
{
    for (int i = 0; i < CO_MEMORY_WATCH_PLACES; i++) { // relaxed: written by ourselves
        const struct place *other = &watch->places[i];
        if (other != place && co_load_relaxed(&other->end) > co_load_relaxed(&place->start) &&
            co_load_relaxed(&other->start) < co_load_relaxed(&place->end)) {
            return true;
        }
    }
    return false;
}

// Pages that have changed may be somebody else's now and are left alone; events of those that nobody has a place for
// cost their maker a moment.
void co_memory_watch_drop(struct co_memory_watch *watch, int number)
{
    struct place *place = &watch->places[number];
    uintptr_t start = co_load_relaxed(&place->start), end = co_load_relaxed(&place->end);
    struct uffdio_range range = {start, end - start};
    if (co_memory_watch_is_same(watch, number) && !is_shared(watch, place)) {
        ioctl(watch->kernel_fd, UFFDIO_UNREGISTER, &range);
    }
    co_store_release(&place->end, 0); // release M1: nobody's
}

void co_memory_watch_close(struct co_memory_watch *watch)
{
    uint64_t one = 1;
    atomic_store(&the_watch, NULL);
    atomic_store(&watch->must_end, true);
    while (co_descriptor_is_of(watch->end_fd, &watch->end_file) && write(watch->end_fd, &one, sizeof one) < 0 &&
           errno == EINTR) {
    }
    pthread_join(watch->thread, NULL);
    co_descriptor_close(&watch->kernel_fd, &watch->kernel_file);
    co_descriptor_close(&watch->end_fd, &watch->end_file);
    free(watch);
}
