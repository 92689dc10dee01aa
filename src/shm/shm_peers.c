// SPDX-License-Identifier: BSD-3-Clause
//
// Is the process of a peer still there? A pidfd of each, opened while all are known to live, or, where descriptors are
// scarce or not ours any more, the time when it started: a number used again by the kernel cannot deceive. Asked
// rarely, by one poll(2) for all peers, and before bytes are copied, for one peer.
#include "shm/shm_node.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"

// Copies within so long of a look are one batch. Numbers are given in turn: no kernel starts 30,000 processes
// meanwhile.
#define BATCH_NS CO_NS_PER_MS

#define ENDED UINT64_MAX

#define AT_ONCE 8 // peers asked by one poll(2), which takes no more than a process may have descriptors (ulimit -n)

enum { NOT_WATCHED = -1, BY_NUMBER = -2 };

// When the process with this number started, in clock ticks; ENDED; 0: /proc does not tell.
static uint64_t started(const char *folder)
{
    char path[64], line[1024];

    snprintf(path, sizeof path, "/proc/%s/stat", folder);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t bytes = read(file, line, sizeof line - 1);
    close(file);
    line[bytes > 0 ? bytes : 0] = '\0';
    const char *at = strrchr(line, ')'); // a name may have anything in it
    char state;
    int threads;
    unsigned long long ticks;
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu", &state,
                      &threads, &ticks) != 3) {
        return 0;
    }
    // The state is that of its first thread, which may have ended (pthread_exit in main) while others go on.
    return (state == 'Z' && threads <= 1) || state == 'X' ? ENDED : ticks;
}

uint64_t co_shm_peers_started(void)
{
    return started("self");
}

static uint64_t started_now(const struct co_shm_process *peer)
{
    char folder[24];

    snprintf(folder, sizeof folder, "%d", (int)peer->pid);
    return started(folder);
}

// What the peer says of itself must be what /proc says of it here, while it is known to live: that may be mounted for
// other numbers than ours, and another time namespace counts from another start.
static uint64_t started_here(const struct co_shm_process *peer)
{
    return peer->started != 0 && started_now(peer) == peer->started ? peer->started : 0;
}

// Certain only: a process that /proc hides or cannot show is gone when its number is free, which is asked last: a
// number may become free while /proc is looked at.
static bool is_gone_by_number(const struct co_shm_node *node, int rank)
{
    const struct co_shm_process *peer = &node->processes[rank];
    uint64_t now = node->started[rank] != 0 ? started_now(peer) : 0;
    return now != 0 ? now != node->started[rank] : kill((pid_t)peer->pid, 0) != 0 && errno == ESRCH;
}

static bool has_its_start(const struct co_shm_node *node, int rank)
{
    return node->started[rank] != 0 && started_now(&node->processes[rank]) == node->started[rank];
}

// What poll(2) says of its descriptor, which the program may have closed, and the number be another file's since: who
// is said to have ended and still runs has not.
static bool has_ended(const struct co_shm_node *node, int rank, short events)
{
    return node->started[rank] == 0 ? (events & POLLIN) != 0 : events != 0 && is_gone_by_number(node, rank);
}

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
    return file >= 0 && co_descriptor_note(file, &node->watched_files[rank]) == 0 ? file : BY_NUMBER;
}

int co_shm_peers_open(struct co_shm_node *node)
{
    int count = 0;

    node->watched = calloc((size_t)node->config.size, sizeof *node->watched);
    node->watched_files = calloc((size_t)node->config.size, sizeof *node->watched_files);
    node->started = calloc((size_t)node->config.size, sizeof *node->started);
    node->seen_ns = calloc((size_t)node->config.size, sizeof *node->seen_ns);
    if (!node->watched || !node->watched_files || !node->started || !node->seen_ns) {
        free(node->watched);
        node->watched = NULL;
        return -ENOMEM;
    }
    for (int rank = 0; rank < node->config.size; rank++) {
        node->watched[rank] = watch(node, rank, count);
        node->started[rank] = node->watched[rank] == NOT_WATCHED ? 0 : started_here(&node->processes[rank]);
        count += node->watched[rank] >= 0;
    }
    return 0;
}

void co_shm_peers_close(struct co_shm_node *node)
{
    for (int rank = 0; node->watched && rank < node->config.size; rank++) {
        co_descriptor_close(&node->watched[rank], &node->watched_files[rank]); // it may be the program's by now
    }
    free(node->watched);
    free(node->watched_files);
    free(node->started);
    free(node->seen_ns);
    node->watched = NULL;
    node->watched_files = NULL;
    node->started = NULL;
    node->seen_ns = NULL;
}

// A program may close what it does not know, and the number be a file of its own, which tells nothing of the peer.
static int descriptor_of(const struct co_shm_node *node, int rank)
{
    int watched = node->watched[rank];

    return watched >= 0 && !co_descriptor_is_of(watched, &node->watched_files[rank]) ? BY_NUMBER : watched;
}

// The first of a few peers from `first` on that has ended, or -1. What poll(2) says is this caller's own: several
// threads may ask, and copy, at the same time.
static int find_dead(const struct co_shm_node *node, int first)
{
    struct pollfd peers[AT_ONCE];
    int count = 0;

    for (; count < AT_ONCE && first + count < node->config.size; count++) {
        peers[count] = (struct pollfd){.fd = descriptor_of(node, first + count), .events = POLLIN};
    }
    // poll passes over negative descriptors and clears what it says about them
    bool some_ended = poll(peers, (nfds_t)count, 0) > 0;
    for (int i = 0; i < count; i++) {
        if ((some_ended && has_ended(node, first + i, peers[i].revents)) ||
            (peers[i].fd == BY_NUMBER && is_gone_by_number(node, first + i))) {
            return first + i;
        }
    }
    return -1;
}

int co_shm_node_dead_peer(const struct co_shm_node *node)
{
    int dead = -1;

    for (int first = 0; first < node->config.size && dead < 0; first += AT_ONCE) {
        dead = find_dead(node, first);
    }
    return dead;
}

bool co_shm_node_is_gone(const struct co_shm_node *node, int rank)
{
    struct pollfd watched = {.fd = descriptor_of(node, rank), .events = POLLIN};

    return watched.fd == BY_NUMBER
               ? is_gone_by_number(node, rank)
               : watched.fd >= 0 && poll(&watched, 1, 0) > 0 && has_ended(node, rank, watched.revents);
}

static bool has_its_number(const struct co_shm_node *node, int rank)
{
    const struct co_shm_process *peer = &node->processes[rank];
    int watched = descriptor_of(node, rank);

    if (watched == NOT_WATCHED) { // ourselves, or a number of another namespace, which means somebody else here
        return peer->pid_namespace == node->processes[node->config.rank].pid_namespace;
    }
    // who cannot tell says no
    return (watched >= 0 && poll(&(struct pollfd){.fd = watched, .events = POLLIN}, 1, 0) == 0) ||
           has_its_start(node, rank);
}

bool co_shm_peer_is_same(const struct co_shm_node *node, int rank)
{
    uint64_t now_ns = co_clock_now_ns();

    // relaxed: a time says nothing about other memory
    if (now_ns - co_load_relaxed(&node->seen_ns[rank]) < BATCH_NS) {
        return true;
    }
    if (!has_its_number(node, rank)) {
        return false;
    }
    co_store_relaxed(&node->seen_ns[rank], now_ns);
    return true;
}
