// SPDX-License-Identifier: BSD-3-Clause
//
// Sealed memory; see the header.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "offload/segment_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL };

static int segment_map(struct co_segment_memory **out, int fd)
{
    void *memory = mmap(NULL, sizeof(struct co_segment_memory), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    *out = memory;
    return 0;
}

static uint64_t file_bytes(bool has_copies)
{
    return has_copies ? CO_SEGMENT_COPIES_AT + CO_SEGMENT_COPIES_BYTES : sizeof(struct co_segment_memory);
}

// A longer file ends the process by SIGXFSZ, though it be in memory.
static bool is_within_limit(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes;
}

int co_segment_memory_create(struct co_segment_memory **out, bool has_copies, int *fd)
{
    if (!is_within_limit(file_bytes(has_copies))) {
        return -EFBIG;
    }
    int made = memfd_create("castoff-proxy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (made < 0) {
        return -errno;
    }
    int error =
        ftruncate(made, (off_t)file_bytes(has_copies)) != 0 || fcntl(made, F_ADD_SEALS, SEALS) != 0 ? -errno : 0;
    if (error == 0) {
        error = segment_map(out, made);
    }
    if (error != 0) {
        close(made);
        return error;
    }
    *fd = made;
    return 0;
}

int co_segment_memory_map(struct co_segment_memory **out, int fd, bool *has_copies)
{
    struct stat is;
    int seals = fcntl(fd, F_GET_SEALS); // -1 of what is no memfd

    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &is) != 0 ||
        (is.st_size != (off_t)file_bytes(false) && is.st_size != (off_t)file_bytes(true))) {
        return -EPERM;
    }
    *has_copies = is.st_size == (off_t)file_bytes(true);
    return segment_map(out, fd);
}

void co_segment_memory_unmap(struct co_segment_memory *memory)
{
    munmap(memory, sizeof *memory);
}
