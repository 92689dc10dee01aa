// SPDX-License-Identifier: BSD-3-Clause
//
// Copies straight between the processes of a node (process_vm_readv, process_vm_writev). Hot for large operations; any
// thread.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/uio.h>

#include "base/buffer_cache.h"
#include "base/memory/memory_copy.h"
#include "shm/shm_node.h"

#define DETOUR_BYTES ((size_t)60 << 10) // whole pages, and with one more what the cache of buffers keeps

typedef ssize_t copy_function(pid_t pid, const struct iovec *local, unsigned long local_count,
                              const struct iovec *remote, unsigned long remote_count, unsigned long flags);

static int copy_all(copy_function *copy, pid_t pid, char *local, uint64_t remote, size_t bytes)
{
    size_t done = 0;

    while (done < bytes) {
        struct iovec here = {local + done, bytes - done};
        struct iovec there = {(void *)(uintptr_t)(remote + done), bytes - done};
        ssize_t moved = copy(pid, &here, 1, &there, 1, 0);
        if (moved < 0 && errno == EINTR) {
            continue;
        }
        if (moved <= 0) {
            return moved < 0 ? -errno : -EFAULT;
        }
        done += (size_t)moved;
    }
    return 0;
}

// Through memory that stands in its page as the other process's does, which is as fast as anything for the kernel, and
// from there to its place or the other way by a copy of our own. Not on the stack: a thread's may be a few pages.
static int copy_by_detour(copy_function *copy, pid_t pid, char *local, uint64_t remote, size_t bytes)
{
    char *memory = co_buffer_cache_take(DETOUR_BYTES + CO_SHM_PAGE);
    if (memory == NULL) {
        return copy_all(copy, pid, local, remote, bytes);
    }
    char *alike = memory + (remote - (uintptr_t)memory) % CO_SHM_PAGE;
    int error = 0;
    for (size_t done = 0, piece; error == 0 && done < bytes; done += piece) {
        piece = bytes - done < DETOUR_BYTES ? bytes - done : DETOUR_BYTES;
        if (copy == process_vm_writev) {
            co_memory_copy(alike, local + done, piece);
        }
        error = copy_all(copy, pid, alike, remote + done, piece);
        if (error == 0 && copy == process_vm_readv) {
            co_memory_copy(local + done, alike, piece);
        }
    }
    co_buffer_cache_give(memory);
    return error;
}

static int copy_between(copy_function *copy, pid_t pid, char *local, uint64_t remote, size_t bytes)
{
    const void *there = (const void *)(uintptr_t)remote;
    bool reads = copy == process_vm_readv;
    bool is_slow = bytes > CO_MEMORY_COPY_SHORT &&
                   co_memory_copy_is_close_behind(reads ? local : there, reads ? there : local) &&
                   co_memory_copy_is_slow_close_behind();
    return is_slow ? copy_by_detour(copy, pid, local, remote, bytes) : copy_all(copy, pid, local, remote, bytes);
}

int co_shm_cma_read(pid_t pid, void *local, uint64_t remote, size_t bytes)
{
    return copy_between(process_vm_readv, pid, local, remote, bytes);
}

int co_shm_cma_write(pid_t pid, const void *local, uint64_t remote, size_t bytes)
{
    return copy_between(process_vm_writev, pid, (char *)(uintptr_t)local, remote, bytes);
}

int co_shm_node_read(const struct co_shm_node *node, int rank, void *local, uint64_t remote, size_t bytes)
{
    return co_shm_peer_is_same(node, rank) ? co_shm_cma_read((pid_t)node->processes[rank].pid, local, remote, bytes)
                                           : -ESRCH;
}

int co_shm_node_write(const struct co_shm_node *node, int rank, const void *local, uint64_t remote, size_t bytes)
{
    return co_shm_peer_is_same(node, rank) ? co_shm_cma_write((pid_t)node->processes[rank].pid, local, remote, bytes)
                                           : -ESRCH;
}
