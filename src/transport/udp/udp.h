// SPDX-License-Identifier: BSD-3-Clause
//
// UDP with IP multicast: one socket for each joined group, one for unicast; UDP_SEGMENT and UDP_GRO where the
// kernel has them, sendmmsg and recvmmsg where not. udp_*.c alone open sockets for datagrams of the protocol. Set-up is
// cold, send and poll are hot; threads as transport.h says, with lanes.
#ifndef CASTOFF_TRANSPORT_UDP_H
#define CASTOFF_TRANSPORT_UDP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

// What peers must know to send to this process; exchanged by the bootstrap. Network byte order.
struct co_udp_address {
    uint32_t ip;
    uint16_t port;
    uint16_t mtu; // of the interface, host order
};

struct co_udp_config {
    const char *interface;   // name (lo too), or "" = the way to `near_ip`, or the first usable non-loopback one
    const char *group_range; // "239.192.0.0/16"
    uint64_t job_tag;        // picks group addresses inside the range and the multicast port (not a secret)
    unsigned subgroups;      // groups that may be joined: indexes 0 ... subgroups-1, at most 16
    int ttl;
    size_t mtu_bytes;                               // upper bound from the settings
    size_t receive_buffer_bytes, send_buffer_bytes; // to ask for
    uint32_t near_ip;                               // an address of another node, network byte order; 0: none known
    uint64_t give_up_ns; // a peer to whom the kernel has refused every datagram for so long is gone; 0: never
    bool plain;          // no segmentation offload even where the kernel has it
};

// Own addresses at which others may look for this host: those of the named interface, or of every one that could be
// chosen, one of each network. Network byte order; returns how many, at most `room`.
#define CO_UDP_CANDIDATES_MAX 16
int co_udp_candidates(const char *interface, uint32_t *ips, int room);
// As it orders them: those with a known speed (Mbit/s, 0: not known), the fastest first; the others keep their places.
void co_udp_faster_first(uint32_t *ips, long *speeds, int count);

// How this host would get to an address of another one: not at all, or only to itself, since hosts may have equal
// addresses on networks of their own (containers); through routers; or on a network that both are on. A named
// interface is used anyway, so that no address is out of its reach.
enum co_udp_way { CO_UDP_NO_WAY, CO_UDP_WAY_ROUTED, CO_UDP_WAY_DIRECT };
enum co_udp_way co_udp_way_to(const char *interface, uint32_t ip);

// Step one: picks the interface, opens and binds the unicast socket, fills `mine`. -ENODEV when no interface can
// multicast, -EADDRINUSE when another program holds the job's port, -EINVAL for a range that is none; the reason, one
// sentence, is written to why[why_room]. Groups can be joined and sent to from here on.
int co_udp_open(struct co_transport **out, const struct co_udp_config *config, struct co_udp_address *mine, char *why,
                size_t why_room);

// Step two: the addresses of all ranks, indexed by world rank (copied). Once.
int co_udp_connect(struct co_transport *udp, const struct co_udp_address *peers, int count, int self);

// The address of group 0, host byte order; the others follow it.
uint32_t co_udp_first_group(const struct co_transport *udp);

// "eth0 10.77.0.1, groups 239.192.7.4-7 port 41234, gso yes, gro yes, rcvbuf 4194304" for info and the report.
void co_udp_describe(const struct co_transport *udp, char *text, size_t room);

#endif
