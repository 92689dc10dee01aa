// SPDX-License-Identifier: BSD-3-Clause
//
// Peers whose process is gone: their host answers with "port unreachable", which Linux keeps in the error queue of
// the sending socket. Read only when a call on the socket reports an error or poll(2) says so. Cold.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <time.h> // errqueue.h uses struct timespec without it
#include <linux/errqueue.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "mcast/transport/udp_state.h"

static void mark(struct co_udp *udp, int rank)
{
    if (!co_load_relaxed(&udp->peer_is_dead[rank])) { // relaxed: written under the lock only
        co_store_relaxed(&udp->peer_is_dead[rank], true);
        udp->dead[udp->dead_count++] = rank;
    }
}

static void note_address(struct co_udp *udp, const struct sockaddr_in *address)
{
    for (int rank = 0; rank < udp->peer_count; rank++) {
        const struct sockaddr_in *peer = &udp->peers[rank];
        if (peer->sin_port == address->sin_port && peer->sin_addr.s_addr == address->sin_addr.s_addr) {
            mark(udp, rank);
        }
    }
}

static bool says_port_unreachable(struct msghdr *message)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR) {
            struct sock_extended_err error;
            memcpy(&error, CMSG_DATA(header), sizeof error);
            return error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH &&
                   error.ee_code == ICMP_PORT_UNREACH;
        }
    }
    return false;
}

static void read_errors(struct co_udp *udp)
{
    for (;;) {
        struct sockaddr_in address = {0};
        uint8_t start_of_datagram[1];
        struct iovec piece = {.iov_base = start_of_datagram, .iov_len = sizeof start_of_datagram};
        union {
            struct cmsghdr header; // for its alignment
            char room[CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in))];
        } control;
        struct msghdr message = {.msg_name = &address,
                                 .msg_namelen = sizeof address,
                                 .msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        if (recvmsg(udp->unicast_fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
            return; // EAGAIN: the queue is empty
        }
        if (says_port_unreachable(&message)) {
            note_address(udp, &address); // the name is where the refused datagram went
        }
    }
}

void co_udp_dead_note(struct co_udp *udp)
{
    if (co_trylock_take(&udp->dead_lock)) { // else another thread reads them
        read_errors(udp);
        co_trylock_drop(&udp->dead_lock);
    }
}

void co_udp_dead_mark(struct co_udp *udp, int rank)
{
    if (co_trylock_take(&udp->dead_lock)) {
        mark(udp, rank);
        co_trylock_drop(&udp->dead_lock);
    }
}

int co_udp_dead_tell(struct co_transport *transport)
{
    struct co_udp *udp = (struct co_udp *)transport;
    int rank = -1;
    if (co_trylock_take(&udp->dead_lock)) {
        rank = udp->dead_count > 0 ? udp->dead[--udp->dead_count] : -1;
        co_trylock_drop(&udp->dead_lock);
    }
    return rank;
}
