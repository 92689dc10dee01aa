// SPDX-License-Identifier: BSD-3-Clause
//
// Is a peer's host still there, whatever its processes do? A TCP connection to the port number of the peer's socket
// asks its kernel: nobody listens there, so the kernel refuses at once, as one that is computing, stopped or swapping
// does as well; a host without power, or behind a cut link, says nothing. Only silence means something: whoever else
// has that port may accept, which is an answer, too. Not by UDP, for a kernel sends one "port unreachable" a second.
// Descriptors are held while probes are open, which is while somebody waits. By the holder of the engine; cold.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <netinet/in.h>
#include <unistd.h>

#include "base/clock.h"
#include "transport/udp/udp_state.h"

#define AGAIN_NS (CO_NS_PER_S / 4) // sooner than the kernel itself repeats a lost probe

#ifndef IP_BIND_ADDRESS_NO_PORT
#define IP_BIND_ADDRESS_NO_PORT 24
#endif

static void end(struct co_udp_liveness_probe *probe)
{
    co_descriptor_close(&probe->fd, &probe->file);
    *probe = (struct co_udp_liveness_probe){.fd = -1, .rank = CO_UDP_NOBODY};
}

// The one to this rank, or a free one, or the oldest.
static struct co_udp_liveness_probe *choose(struct co_udp *udp, int rank)
{
    struct co_udp_liveness_probe *best = &udp->probes[0];
    for (int i = 0; i < CO_TRANSPORT_HOSTS_ASKED; i++) {
        struct co_udp_liveness_probe *probe = &udp->probes[i];
        if (probe->rank == rank) {
            return probe;
        }
        best = probe->asked_ns < best->asked_ns ? probe : best; // free ones have 0
    }
    return best;
}

static int open_socket(const struct co_udp *udp)
{
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = udp->interface.ip};
    struct linger at_once = {.l_onoff = 1};
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)&own, sizeof own) != 0) { // the way that datagrams go
        int error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

// 1: it is an answer, 0: none has come, or what this host says itself is none; -errno: nothing was asked.
static int judge(int error)
{
    switch (error) {
    case 0:
    case ECONNREFUSED:
    case ECONNRESET:
        return 1;
    case EINPROGRESS:
    case ETIMEDOUT:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case EHOSTDOWN:
    case ENETDOWN:
        return 0;
    default:
        return -error;
    }
}

int co_udp_liveness_query(struct co_transport *transport, int rank)
{
    struct co_udp *udp = (struct co_udp *)transport;
    uint64_t now_ns = co_clock_now_ns();
    if (rank < 0 || rank >= udp->peer_count) {
        return -EINVAL;
    }
    struct co_udp_liveness_probe *probe = choose(udp, rank);
    if (probe->has_answer || now_ns - probe->asked_ns < AGAIN_NS) { // give it time, whosever it is
        return probe->rank == rank ? 0 : -EAGAIN;
    }
    end(probe);
    int fd = open_socket(udp);
    if (fd < 0) {
        return fd;
    }
    const struct sockaddr_in *peer = &udp->peers[rank];
    int error = connect(fd, (const struct sockaddr *)peer, sizeof *peer) == 0 ? 0 : errno, said = judge(error);
    *probe = (struct co_udp_liveness_probe){.fd = fd, .rank = rank, .asked_ns = now_ns, .has_answer = said > 0};
    co_descriptor_note(fd, &probe->file);
    if (said <= 0 && error != EINPROGRESS) {
        end(probe); // the next one may leave this host
    }
    return said < 0 ? said : 1;
}

// True: an answer has come. A connection that has failed otherwise makes room.
static bool look_at(struct co_udp_liveness_probe *probe)
{
    struct pollfd connection = {.fd = probe->fd, .events = POLLOUT};
    int error = ETIMEDOUT;
    socklen_t length = sizeof error;
    if (!co_descriptor_is_of(probe->fd, &probe->file)) { // the program's, who has closed ours
        end(probe);
        return false;
    }
    if (probe->has_answer || poll(&connection, 1, 0) <= 0) {
        return probe->has_answer;
    }
    getsockopt(probe->fd, SOL_SOCKET, SO_ERROR, &error, &length); // told once
    if (judge(error) <= 0) {
        end(probe);
        return false;
    }
    return true;
}

int co_udp_liveness_poll(struct co_transport *transport)
{
    struct co_udp *udp = (struct co_udp *)transport;
    for (int i = 0; i < CO_TRANSPORT_HOSTS_ASKED; i++) {
        struct co_udp_liveness_probe *probe = &udp->probes[i];
        if (probe->fd >= 0 && look_at(probe)) {
            int rank = probe->rank;
            end(probe);
            return rank;
        }
    }
    return -1;
}

void co_udp_liveness_open(struct co_udp *udp)
{
    for (int i = 0; i < CO_TRANSPORT_HOSTS_ASKED; i++) {
        udp->probes[i].fd = -1;
        end(&udp->probes[i]);
    }
}

void co_udp_liveness_close(struct co_udp *udp)
{
    for (int i = 0; i < CO_TRANSPORT_HOSTS_ASKED; i++) {
        end(&udp->probes[i]);
    }
}
