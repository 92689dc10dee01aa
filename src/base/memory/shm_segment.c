// SPDX-License-Identifier: BSD-3-Clause
//
// The only file that maps memory shared by ranks: named segments of one node, under /dev/shm. Called at set-up of a
// team and at its end, by one thread for each segment. Not hot.
#define _GNU_SOURCE // process_vm_readv
#include "base/memory/shm_segment.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define FOLDER "/dev/shm"
#define CREATE_TRIES 8
#define ADDRESSES_SHARE 8 // one part in so many of what a process may have is enough for us
#define PAGES_AT_ONCE 64
#define NAMES_LOOKED_AT 1024

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

void co_shm_segment_name(char name[CO_SHM_NAME_MAX], uint64_t key, unsigned number)
{
    snprintf(name, CO_SHM_NAME_MAX, "/castoff-%016" PRIx64 "-%u", key, number);
}

// Pages come into being when they are touched, and a full file system then kills the process with SIGBUS. Asking
// first does not reserve anything, but catches the usual case, a container with a small /dev/shm. There we are a guest:
// the MPI below had all of it without us.
static size_t room_in_folder(size_t others_bytes)
{
    struct statvfs state;

    if (statvfs(FOLDER, &state) != 0 || state.f_blocks == 0) {
        return SIZE_MAX;
    }
    uint64_t left = (uint64_t)state.f_bavail * state.f_frsize;
    return left < others_bytes ? 0 : left - others_bytes;
}

// A longer file ends the process, too, by SIGXFSZ, though it be sparse.
static size_t file_bytes_most(void)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited ? (size_t)limit.rlim_cur : SIZE_MAX;
}

// Batch systems set a limit of addresses (ulimit -v) for a limit of memory, and holes count as well: what we map is
// taken from what the program may allocate later.
static size_t addresses_most(void)
{
    struct rlimit limit;
    bool is_limited = getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return is_limited ? (size_t)limit.rlim_cur / ADDRESSES_SHARE : SIZE_MAX;
}

size_t co_shm_segment_room(size_t others_bytes)
{
    size_t room = room_in_folder(others_bytes), most = file_bytes_most(), addresses = addresses_most();
    most = most < addresses ? most : addresses;
    return room < most ? room : most;
}

static bool is_ours(int file)
{
    struct stat state;
    return fstat(file, &state) == 0 && S_ISREG(state.st_mode) && state.st_uid == geteuid() && state.st_nlink > 0;
}

// Its maker holds a lock on it. Where that has come to be free, nobody else can remove the name while we hold it, so it
// is the same file's still.
static void remove_if_left(const char *name)
{
    int file = shm_open(name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
    if (file < 0) {
        return;
    }
    if (is_ours(file) && flock(file, LOCK_EX | LOCK_NB) == 0 && is_ours(file)) {
        shm_unlink(name);
    }
    close(file);
}

// Not all of them, if there are very many: any user may make names there by the million.
static void remove_those_left(void)
{
    DIR *directory = opendir(FOLDER);
    const struct dirent *entry;
    for (int i = 0; i < NAMES_LOOKED_AT && directory != NULL && (entry = readdir(directory)) != NULL; i++) {
        uint64_t key;
        unsigned number;
        char name[CO_SHM_NAME_MAX] = "";
        if (sscanf(entry->d_name, "castoff-%16" SCNx64 "-%u", &key, &number) == 2) {
            co_shm_segment_name(name, key, number);
        }
        if (name[0] != '\0' && strcmp(name + 1, entry->d_name) == 0) {
            remove_if_left(name);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
}

static int given_up(const char *name, int file, int error)
{
    shm_unlink(name);
    close(file);
    return -error;
}

// A new file that is locked and has its name, or -errno. Before it is locked, others may take it for one that is left:
// they hold the lock until it has no name any more. Where there are no locks, nobody takes anything.
static int create_locked(const char *name)
{
    for (int tries = 0; tries < CREATE_TRIES; tries++) {
        int file = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file < 0) {
            return -errno;
        }
        while (flock(file, LOCK_EX) != 0 && errno == EINTR) {
        }
        if (is_ours(file)) {
            return fchmod(file, 0600) == 0 ? file : given_up(name, file, errno); // whatever the umask has left of it
        }
        close(file);
    }
    return -EAGAIN;
}

static int map(struct co_shm_segment *segment, int file, const char *name, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

    if (base == MAP_FAILED) {
        return -errno;
    }
    segment->base = base;
    segment->bytes = bytes;
    segment->locked = 0;
    memset(segment->name, 0, sizeof segment->name);
    memcpy(segment->name, name, strlen(name));
    return 0;
}

static bool is_usable(const char *name, size_t bytes)
{
    return strlen(name) < CO_SHM_NAME_MAX && bytes > 0 && bytes <= INT64_MAX;
}

int co_shm_segment_create(struct co_shm_segment *segment, const char *name, size_t bytes, size_t others_bytes)
{
    int file, result = 0;

    if (!is_usable(name, bytes)) {
        return -EINVAL;
    }
    remove_those_left();
    file = create_locked(name);
    if (file < 0) {
        return file;
    }
    if (bytes > co_shm_segment_room(others_bytes)) {
        result = -ENOSPC;
    } else if (ftruncate(file, (off_t)bytes) != 0) {
        result = -errno;
    } else {
        result = map(segment, file, name, bytes);
    }
    if (result != 0) {
        return given_up(name, file, -result);
    }
    segment->locked = file + 1;
    return 0;
}

int co_shm_segment_attach(struct co_shm_segment *segment, const char *name, size_t bytes)
{
    struct stat state;
    int file, result;

    if (!is_usable(name, bytes)) {
        return -EINVAL;
    }
    file = shm_open(name, O_RDWR, 0);
    if (file < 0) {
        return errno == EACCES ? -EPERM : -errno;
    }
    if (fstat(file, &state) != 0) {
        result = -errno;
    } else if (state.st_uid != geteuid() || (state.st_mode & 077) != 0) {
        result = -EPERM; // /dev/shm is open to all; somebody may have guessed the name
    } else if (!S_ISREG(state.st_mode) || (uint64_t)state.st_size < bytes) {
        result = -EINVAL;
    } else {
        result = map(segment, file, name, bytes);
    }
    close(file);
    return result;
}

// Reading makes a file's page exist, too, and where the kernel itself reads for us a full file system is an error. A
// filter that forbids it leaves it to the store.
static bool kernel_can_read(char *first, size_t length, size_t page)
{
    char bytes[PAGES_AT_ONCE];
    struct iovec pages[PAGES_AT_ONCE];

    for (size_t at = 0; at < length;) {
        unsigned count = 0;
        for (; count < PAGES_AT_ONCE && at < length; at += page) {
            pages[count++] = (struct iovec){first + at, 1};
        }
        struct iovec here = {bytes, count};
        ssize_t read = process_vm_readv(getpid(), &here, 1, pages, count, 0);
        if (read < 0 ? errno == EFAULT : read < (ssize_t)count) {
            return false;
        }
    }
    return true;
}

void co_shm_segment_see(char *first, size_t length)
{
    for (size_t done = 0; done < length;) { // the kernel moves 2 GiB at most
        struct iovec piece = {first + done, length - done};
        ssize_t seen = process_vm_readv(getpid(), &piece, 1, &piece, 1, 0);
        if (seen <= 0) {
            return;
        }
        done += (size_t)seen;
    }
}

int co_shm_segment_touch(char *first, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)first % page;
    bool is_there = madvise(first - before, before + length, MADV_POPULATE_WRITE) == 0;

    if (!is_there && errno != ENOMEM && errno != EFAULT) { // a kernel before 5.14 does not know the advice
        is_there = kernel_can_read(first - before, before + length, page);
    }
    return is_there ? 0 : -ENOMEM;
}

// The kernel rounds a length up to whole pages, which may be of 64 KiB and hold somebody else's bytes.
void co_shm_segment_erase(char *first, size_t length)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (page - (uintptr_t)first % page) % page;
    size_t whole = length < before ? 0 : (length - before) / page * page;

    if (whole == 0 || madvise(first + before, whole, MADV_REMOVE) != 0) {
        memset(first, 0, length);
        return;
    }
    memset(first, 0, before);
    memset(first + before + whole, 0, length - before - whole);
}

void co_shm_segment_unlink(struct co_shm_segment *segment)
{
    if (segment->name[0] != '\0') {
        shm_unlink(segment->name);
        segment->name[0] = '\0';
    }
    if (segment->locked != 0) {
        close(segment->locked - 1);
        segment->locked = 0;
    }
}

void co_shm_segment_close(struct co_shm_segment *segment)
{
    co_shm_segment_unlink(segment);
    if (segment->base) {
        munmap(segment->base, segment->bytes);
        segment->base = NULL;
        segment->bytes = 0;
    }
}
