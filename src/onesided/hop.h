// SPDX-License-Identifier: BSD-3-Clause
//
// The rewriting hop, without its sockets: a frame comes in at a port, and what goes out is told to the caller. In
// switch mode it is a learning switch that multiplies the packets of groups; in NIC mode it stands between one host's
// wire and its RDMA device, lets everything through, and rewrites packets of groups that come from the wire, one copy
// for a rule. One thread; hot: once for each frame.
#ifndef CASTOFF_ONESIDED_HOP_H
#define CASTOFF_ONESIDED_HOP_H

#include "onesided/rule_table.h"

#define CO_HOP_PORTS_MAX 64

enum co_hop_mode { CO_HOP_SWITCH, CO_HOP_NIC };
enum { CO_HOP_WIRE, CO_HOP_DEVICE, CO_HOP_NIC_PORTS }; // ports in NIC mode

struct co_hop_config {
    enum co_hop_mode mode;
    unsigned ports; // 2 to CO_HOP_PORTS_MAX; NIC mode: CO_HOP_NIC_PORTS
    unsigned rules, actions;
    double loss;   // for trials: share of copies that are dropped, at random by
    uint64_t seed; // this seed
};

// A copy to send: the rewritten head, then the payload of the frame that came in, then the ICRC. Head and ICRC are the
// hop's and good until the call returns; the payload lies in the frame.
struct co_hop_copy {
    const uint8_t *head, *payload, *icrc; // icrc: CO_ROCE_ICRC_BYTES
    size_t head_bytes, payload_bytes;
};

struct co_hop_output {
    void *context;
    void (*forward)(void *context, unsigned port);                              // the frame as it came
    void (*copy)(void *context, unsigned port, const struct co_hop_copy *copy); // a rewritten one
};

struct co_hop_frame {
    const uint8_t *data; // from the Ethernet destination on, without a VLAN tag
    size_t bytes;
    unsigned port; // where it came in
    bool has_vlan; // it had a tag: forwarded as it is, never multiplied
    uint16_t vlan;
};

struct co_hop_totals {
    uint64_t frames, bytes;   // that came in
    uint64_t forwarded;       // frames sent on as they came, counted once for each port
    uint64_t flooded;         // frames whose destination was not known, or all
    uint64_t group_packets;   // packets that a rule matched, whatever became of them
    uint64_t copies;          // rewritten and sent
    uint64_t copy_bytes;      // their frames
    uint64_t malformed;       // to RoCE's port and no RoCE packet: dropped
    uint64_t unmatched;       // RoCE packets to multicast addresses without a rule: forwarded
    uint64_t lost_on_purpose; // copies dropped by `loss`
    uint64_t expired;         // rules whose lease ended
};

struct co_hop;

// -EINVAL, -ENOMEM. `output` is copied.
int co_hop_open(struct co_hop **out, const struct co_hop_config *config, const struct co_hop_output *output);
void co_hop_close(struct co_hop *hop);

// Calls `output` for what goes out, before it returns.
void co_hop_take(struct co_hop *hop, const struct co_hop_frame *frame, uint64_t now_ns);

// As co_rule_table_install; in NIC mode a rule with more than one action is -EINVAL.
int co_hop_install(struct co_hop *hop, const struct co_rule_config *config, uint64_t now_ns, uint64_t lease_ns,
                   char *why, size_t why_room);

// Ends leases and forgets silent addresses. Call it every second or so.
void co_hop_tick(struct co_hop *hop, uint64_t now_ns);

struct co_rule_table *co_hop_table(struct co_hop *hop);
const struct co_hop_totals *co_hop_totals(const struct co_hop *hop);
unsigned co_hop_addresses(const struct co_hop *hop); // that it has learned

#endif
