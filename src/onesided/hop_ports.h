// SPDX-License-Identifier: BSD-3-Clause
//
// The ports of a hop: packet sockets on interfaces (packet(7)), frames in and out by the batch. The file that opens
// packet sockets. Superpackets and checksums that are left to a device go through as they come (PACKET_VNET_HDR), VLAN
// tags, too. One thread; hot.
#ifndef CASTOFF_ONESIDED_HOP_PORTS_H
#define CASTOFF_ONESIDED_HOP_PORTS_H

#include <poll.h>

#include "onesided/hop.h"

struct co_hop_port_totals {
    char name[16];
    bool is_up;
    uint64_t frames_in, bytes_in, frames_out, bytes_out;
    uint64_t unsent;   // frames that the kernel did not take: queue full, larger than the MTU, interface down
    uint64_t overruns; // frames that came while the receive buffer was full
};

struct co_hop_ports;

#define CO_HOP_ROOM_MIB 16      // receive buffer of each port,
#define CO_HOP_ROOM_MIB_MAX 512 // and the most that can be asked for

// Opens one port for each name, all promiscuous, with a receive buffer of `room_mib` MiB. Failure: -errno, and `why`
// says which interface and what is missing, capabilities by name. What it could only do in part (a small receive
// buffer) is in `warning`, else that is empty.
int co_hop_ports_open(struct co_hop_ports **out, const char *const names[], unsigned count, unsigned room_mib,
                      char *why, size_t why_room, char *warning, size_t warning_room);
void co_hop_ports_close(struct co_hop_ports *ports);

// For co_hop_open: frames go out by these ports, when co_hop_ports_progress has gone through a batch.
struct co_hop_output co_hop_ports_output(struct co_hop_ports *ports);

// Fills one entry for each port; returns how many.
unsigned co_hop_ports_watch(const struct co_hop_ports *ports, struct pollfd *entries);

// Hands the frames that have come to the hop, at most a batch from each port, and sends what goes out. Returns how many
// frames have come.
unsigned co_hop_ports_progress(struct co_hop_ports *ports, struct co_hop *hop, uint64_t now_ns);

// Asks the kernel for `overruns`, which is up to date then. Cold.
void co_hop_ports_count_overruns(struct co_hop_ports *ports);
const struct co_hop_port_totals *co_hop_port_totals(const struct co_hop_ports *ports, unsigned port);
unsigned co_hop_ports_count(const struct co_hop_ports *ports);

#endif
