// SPDX-License-Identifier: BSD-3-Clause
//
// Refusals by others: "port unreachable" (ICMP), which Linux keeps in the error queue of the sending socket. Only those
// count that come from the address that was sent to, for nobody else knows its ports, and that quote another datagram
// than the last one. Anybody can still write them: they are hints. And peers that are given up because this host itself
// refuses to send to them. The queue is read only when a call on the socket reports an error or poll(2) says so. Any
// thread. Cold.
#define _GNU_SOURCE // struct mmsghdr in udp_state.h
#include <errno.h>
#include <time.h> // errqueue.h uses struct timespec without it
#include <linux/errqueue.h>
#include <netinet/ip_icmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/mix_bits.h"
#include "transport/udp/udp_state.h"

#define QUOTED_BYTES 64 // of a datagram: its head, which no other one has
#define READ_AT_ONCE 64 // of the queue, which anybody may fill faster than it is read

int co_udp_told_open(struct co_udp_told *told, int peers)
{
    told->by_rank = calloc((size_t)peers, sizeof *told->by_rank);
    return told->by_rank == NULL ? -ENOMEM : 0;
}

void co_udp_told_close(struct co_udp_told *told)
{
    free((void *)told->by_rank);
}

void co_udp_told_note(struct co_udp_told *told, int rank)
{
    if (!atomic_exchange(&told->by_rank[rank], true)) {
        co_add_acq_rel(&told->count, 1); // acq_rel U1: its mark is there
    }
}

static int tell(struct co_udp_told *told, int peers)
{
    for (int rank = 0; rank < peers && co_load_relaxed(&told->count) > 0; rank++) { // relaxed: found by the next call
        if (atomic_exchange(&told->by_rank[rank], false)) {
            co_sub_acq_rel(&told->count, 1); // acq_rel U1: its mark is gone
            return rank;
        }
    }
    return -1;
}

// The name is where the refused datagram went, the quote how it began.
static void note_address(struct co_udp *udp, const struct sockaddr_in *address, uint64_t quote)
{
    for (int rank = 0; rank < udp->peer_count; rank++) {
        const struct sockaddr_in *peer = &udp->peers[rank];
        if (peer->sin_port == address->sin_port && peer->sin_addr.s_addr == address->sin_addr.s_addr &&
            atomic_exchange(&udp->quotes[rank], quote) != quote) {
            co_udp_told_note(&udp->unreachable, rank);
        }
    }
}

// Says so the host that was sent to?
static bool says_port_unreachable(struct msghdr *message, const struct sockaddr_in *to)
{
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_RECVERR &&
            header->cmsg_len >= CMSG_LEN(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in))) {
            struct sock_extended_err error;
            struct sockaddr_in offender;
            memcpy(&error, CMSG_DATA(header), sizeof error);
            memcpy(&offender, CMSG_DATA(header) + sizeof error, sizeof offender); // as SO_EE_OFFENDER has it
            return error.ee_origin == SO_EE_ORIGIN_ICMP && error.ee_type == ICMP_DEST_UNREACH &&
                   error.ee_code == ICMP_PORT_UNREACH && offender.sin_family == AF_INET &&
                   offender.sin_addr.s_addr == to->sin_addr.s_addr;
        }
    }
    return false;
}

static uint64_t fingerprint(const uint8_t *bytes, size_t count)
{
    uint64_t mixed = count;
    for (size_t i = 0; i < count; i++) {
        mixed = co_mix_bits(mixed ^ bytes[i]);
    }
    return mixed | 1; // 0: none yet
}

void co_udp_unreachable_note(struct co_udp *udp)
{
    for (int i = 0; i < READ_AT_ONCE && co_udp_is_own(udp, CO_UDP_UNICAST); i++) {
        struct sockaddr_in address = {0};
        uint8_t start_of_datagram[QUOTED_BYTES];
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
        ssize_t quoted = recvmsg(udp->unicast_fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT);
        if (quoted < 0) {
            return; // EAGAIN: the queue is empty
        }
        if (says_port_unreachable(&message, &address)) {
            note_address(udp, &address, fingerprint(start_of_datagram, (size_t)quoted));
        }
    }
}

int co_udp_unreachable_tell(struct co_transport *transport)
{
    struct co_udp *udp = (struct co_udp *)transport;
    return tell(&udp->unreachable, udp->peer_count);
}

int co_udp_given_up_tell(struct co_transport *transport)
{
    struct co_udp *udp = (struct co_udp *)transport;
    return tell(&udp->given_up, udp->peer_count);
}
