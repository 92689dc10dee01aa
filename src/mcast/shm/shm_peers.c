// SPDX-License-Identifier: BSD-3-Clause
//
// Is the process of a peer still there? A pidfd of each, opened while all are known to live, so that a number used
// again by the kernel cannot deceive. Asked rarely: one poll(2) for all peers.
#include "mcast/shm/shm_node.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NOT_WATCHED = -1, BY_NUMBER = -2 };

static int watch(const struct co_shm_node *node, int rank, int watched)
{
    const struct co_shm_process *mine = &node->processes[node->config.rank];
    const struct co_shm_process *peer = &node->processes[rank];

    if (peer->pid == mine->pid || peer->pid_namespace != mine->pid_namespace) {
        return NOT_WATCHED;
    }
    if (watched >= node->config.watched_most) { // descriptors are scarce in large jobs
        return BY_NUMBER;
    }
    int file = (int)syscall(SYS_pidfd_open, (pid_t)peer->pid, 0);
    return file >= 0 ? file : BY_NUMBER;
}

int co_shm_peers_open(struct co_shm_node *node)
{
    int count = 0;

    node->watched = calloc((size_t)node->config.size, sizeof *node->watched);
    if (!node->watched) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < node->config.size; rank++) {
        node->watched[rank].fd = watch(node, rank, count);
        node->watched[rank].events = POLLIN;
        count += node->watched[rank].fd >= 0;
    }
    return 0;
}

void co_shm_peers_close(struct co_shm_node *node)
{
    for (int rank = 0; node->watched && rank < node->config.size; rank++) {
        if (node->watched[rank].fd >= 0) {
            close(node->watched[rank].fd);
        }
    }
    free(node->watched);
    node->watched = NULL;
}

int co_shm_node_dead_peer(struct co_shm_node *node)
{
    // poll passes over negative descriptors and clears what it says about them
    bool some_ended = poll(node->watched, (nfds_t)node->config.size, 0) > 0;

    for (int rank = 0; rank < node->config.size; rank++) {
        const struct pollfd *peer = &node->watched[rank];
        if (some_ended && (peer->revents & POLLIN)) {
            return rank;
        }
        if (peer->fd == BY_NUMBER && kill((pid_t)node->processes[rank].pid, 0) != 0 && errno == ESRCH) {
            return rank;
        }
    }
    return -1;
}

bool co_shm_node_is_gone(const struct co_shm_node *node, int rank)
{
    struct pollfd peer = node->watched[rank];

    if (peer.fd == BY_NUMBER) {
        return kill((pid_t)node->processes[rank].pid, 0) != 0 && errno == ESRCH;
    }
    return peer.fd >= 0 && poll(&peer, 1, 0) > 0;
}
