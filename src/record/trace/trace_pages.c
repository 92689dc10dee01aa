// SPDX-License-Identifier: BSD-3-Clause
//
// Maps files of traces. Writing to a mapped page that the disk has no room for kills the process, and so does growing a
// file beyond the limit of the process: both are asked about first.
#include "record/trace/trace_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

// Blocks need not begin where pages do.
static size_t before_in_page(uint64_t offset)
{
    return (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
}

int co_trace_pages_map(int file, uint64_t offset, size_t bytes, void **address)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && offset + bytes > limit.rlim_cur) {
        return -EFBIG;
    }
    int error;
    do {
        error = posix_fallocate(file, (off_t)offset, (off_t)bytes);
    } while (error == EINTR);
    if (error != 0) {
        return -error;
    }
    size_t before = before_in_page(offset);
    void *pages =
        mmap(NULL, before + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)(offset - (uint64_t)before));
    if (pages == MAP_FAILED) {
        return -errno;
    }
    *address = (char *)pages + before;
    return 0;
}

void co_trace_pages_unmap(void *address, size_t bytes)
{
    size_t before = before_in_page((uint64_t)(uintptr_t)address);
    munmap((char *)address - before, before + bytes);
}
