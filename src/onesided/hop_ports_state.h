// SPDX-License-Identifier: BSD-3-Clause
//
// What hop_ports_open.c opens and hop_ports.c uses.
#ifndef CASTOFF_ONESIDED_HOP_PORTS_STATE_H
#define CASTOFF_ONESIDED_HOP_PORTS_STATE_H

#include <linux/virtio_net.h>
#include <sys/socket.h>

#include "onesided/hop_ports.h"

enum {
    HOP_BATCH = 32,
    HOP_FRAME_MAX = 65536 + 14, // a superpacket
    HOP_VLAN_BYTES = 4,         // room in front of the frame to put its tag back
    HOP_CONTROL_BYTES = 64,     // packet_auxdata
    HOP_OUT_MAX = 256,          // frames that wait to be sent at a port
    HOP_OUT_PARTS = 4
};

// A frame that has come.
struct hop_slot {
    _Alignas(struct cmsghdr) uint8_t control[HOP_CONTROL_BYTES];
    struct virtio_net_hdr device;
    uint8_t frame[HOP_VLAN_BYTES + HOP_FRAME_MAX];
};

// A frame to send: parts of it lie in a slot.
struct hop_out {
    struct iovec parts[HOP_OUT_PARTS];
    uint8_t head[CO_ROCE_HEAD_MAX], icrc[CO_ROCE_ICRC_BYTES];
};

struct hop_port {
    int socket;
    unsigned out_count;
    struct co_hop_port_totals totals;
    struct hop_out out[HOP_OUT_MAX];
    struct mmsghdr out_messages[HOP_OUT_MAX];
};

struct co_hop_ports {
    unsigned count;
    struct hop_port *ports;
    struct hop_slot *slots; // HOP_BATCH of them
    struct mmsghdr messages[HOP_BATCH];
    struct iovec parts[HOP_BATCH][2];
    struct virtio_net_hdr nothing; // of frames that need nothing of a device
    struct hop_slot *current;      // the frame that the hop has in hand,
    size_t current_bytes;          // its length,
    uint8_t *current_frame;        // and where it begins, with its tag
};

#endif
