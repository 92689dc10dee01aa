// SPDX-License-Identifier: BSD-3-Clause
//
// The sockets of a host of `castoff info --check`, with the options of a job's: bound to the interface that the job
// would take, a member of the group that its tag picks. But they hear their own multicast, and tell why they cannot
// send. Cold.
#ifndef CASTOFF_TOOLS_INFO_REACH_SOCKETS_H
#define CASTOFF_TOOLS_INFO_REACH_SOCKETS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct co_reach_sockets {
    int unicast, group; // -1: closed
    struct sockaddr_in own, group_address;
};

// Which interface and group: asked of the transport that a job opens. 0, or -errno and why.
int co_reach_sockets_open(struct co_reach_sockets *sockets, uint64_t job_tag, uint32_t near_ip, char *why, size_t room);
void co_reach_sockets_close(struct co_reach_sockets *sockets);

// What stands in each datagram; the rest is zeros.
struct co_reach_mark {
    uint64_t nonce;
    uint16_t from;
    uint8_t kind, unused;
};

// An errno, 0: sent.
int co_reach_sockets_send(const struct co_reach_sockets *sockets, const struct sockaddr_in *to,
                          const struct co_reach_mark *mark, size_t packet_bytes);

// Of one that has come to the given socket; false: there is none.
bool co_reach_sockets_take(int fd, struct co_reach_mark *mark);

#endif
