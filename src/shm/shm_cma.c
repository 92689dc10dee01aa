// SPDX-License-Identifier: BSD-3-Clause
//
// Copies straight between the processes of a node (process_vm_readv, process_vm_writev). Hot for large operations; any
// thread.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <sys/uio.h>

#include "shm/shm_node.h"

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

int co_shm_cma_read(pid_t pid, void *local, uint64_t remote, size_t bytes)
{
    return copy_all(process_vm_readv, pid, local, remote, bytes);
}

int co_shm_cma_write(pid_t pid, const void *local, uint64_t remote, size_t bytes)
{
    return copy_all(process_vm_writev, pid, (char *)(uintptr_t)local, remote, bytes);
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
