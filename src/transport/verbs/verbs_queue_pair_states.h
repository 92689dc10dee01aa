// SPDX-License-Identifier: BSD-3-Clause
//
// What every queue pair of castoff's has in common: devices by name, our entry in the table of GIDs, the path to a
// peer, and the states from INIT to RTS. The datagrams and the neighbours' connections of this folder use it, and the
// connections that carry messages (p2p/channel/rc). No state of its own; cold.
#ifndef CASTOFF_TRANSPORT_VERBS_QUEUE_PAIR_STATES_H
#define CASTOFF_TRANSPORT_VERBS_QUEUE_PAIR_STATES_H

#include <infiniband/verbs.h>

#define CO_VERBS_NUMBER_MASK UINT32_C(0xffffff) // of queue pairs and packets: they have 24 bits

// NULL: there is none of that name, or it cannot be opened.
struct ibv_context *co_verbs_device_named(const char *name);
// READs that the device does and answers at a time of one queue pair, 1 at least.
uint8_t co_verbs_reads_at_once(struct ibv_context *context);

// The entry of the port's GID table that has the address (RoCE v2), where addresses are made of it; else the first of
// InfiniBand. 0, or -EADDRNOTAVAIL.
int co_verbs_gid_find(struct ibv_context *context, uint8_t port, int entries, uint32_t own_ip, uint8_t *gid_index,
                      union ibv_gid *gid);

// The path to a peer, for an address handle or a connection.
struct ibv_ah_attr co_verbs_path_to(uint8_t port, uint8_t gid_index, const uint8_t gid[16], uint16_t lid);

// A datagram queue pair from RESET to INIT, in which receives can be posted, and from there to RTS. 0 or -errno.
int co_verbs_datagrams_init(struct ibv_qp *queue_pair, uint8_t port, uint32_t key);
int co_verbs_datagrams_start(struct ibv_qp *queue_pair);

// The two ends of a reliable connection.
struct co_verbs_connection {
    struct ibv_ah_attr path;
    enum ibv_mtu mtu;
    uint32_t peer, peer_number; // its queue pair, and the number of the first packet that it sends
    uint32_t number;            // of our first packet
    uint8_t reads;              // at a time, both ways
    uint8_t timeout;            // 4.096 us times 2 to that: what is not answered by then is sent again, seven times
};

// A reliable queue pair, through which the peer may do so much (IBV_ACCESS_REMOTE_...), to INIT, and from there to RTS.
// 0 or -errno.
int co_verbs_connection_init(struct ibv_qp *queue_pair, uint8_t port, unsigned access);
int co_verbs_connection_start(struct ibv_qp *queue_pair, const struct co_verbs_connection *connection);

#endif
