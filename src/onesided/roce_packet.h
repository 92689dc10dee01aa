// SPDX-License-Identifier: BSD-3-Clause
//
// RoCEv2 over IPv4 as it stands on the wire, read and rewritten: the only file that knows its layout. Pure; called by
// the hop for each frame: hot. Any thread.
//
//      0          14                 34           42            54         (70)    (74)
//      +----------+------------------+------------+-------------+----------+-------+---------+------+
//      | Ethernet | IPv4, no options | UDP, 4791  | BTH         | RETH     | imm.  | payload | ICRC |
//      +----------+------------------+------------+-------------+----------+-------+---------+------+
//       14         20                 8            12            16         4                 4
//
// All of it is in network order, the ICRC least significant byte first. RETH stands in FIRST and ONLY packets of an
// RDMA WRITE, immediate data in those LAST and ONLY packets whose opcode says so. Source: InfiniBand architecture
// specification, volume 1, chapter 9 and annex A17.
#ifndef CASTOFF_ONESIDED_ROCE_PACKET_H
#define CASTOFF_ONESIDED_ROCE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CO_ROCE_PORT 4791
#define CO_ROCE_IP_AT 14
#define CO_ROCE_BTH_AT 42
#define CO_ROCE_HEAD_MAX 74 // up to the payload
#define CO_ROCE_ICRC_BYTES 4
#define CO_ROCE_MAC_BYTES 6
#define CO_ROCE_PSN_MASK 0xffffffu // PSNs and QPNs have 24 bits

enum co_roce_kind {
    CO_ROCE_OTHER,    // none of our business: other protocols, IPv6, VLAN tags, fragments
    CO_ROCE_PACKET,   // RoCEv2 whose lengths fit each other
    CO_ROCE_MALFORMED // sent to RoCE's port, and no RoCE packet
};

// Writes of unreliable connections (UC).
enum co_roce_opcode {
    CO_ROCE_WRITE_FIRST = 0x26,
    CO_ROCE_WRITE_MIDDLE = 0x27,
    CO_ROCE_WRITE_LAST = 0x28,
    CO_ROCE_WRITE_LAST_IMMEDIATE = 0x29,
    CO_ROCE_WRITE_ONLY = 0x2a,
    CO_ROCE_WRITE_ONLY_IMMEDIATE = 0x2b
};

// What a frame says, in host order.
struct co_roce {
    uint32_t source_ip, destination_ip;
    uint32_t qpn, psn; // 24 bits
    uint8_t opcode;
    uint8_t pad_bytes;      // at the end of the payload, to a multiple of four
    uint32_t frame_bytes;   // with the ICRC, without what Ethernet may have padded: up to 65549
    uint16_t payload_at;    // offset in the frame
    uint16_t payload_bytes; // with the padding
    uint64_t address;       // of a packet that starts a write: where its first byte goes,
    uint32_t rkey;          // the key that allows it
    uint32_t message_bytes; // and the length of the whole write
};

static inline bool co_roce_is_write(uint8_t opcode)
{
    return opcode >= CO_ROCE_WRITE_FIRST && opcode <= CO_ROCE_WRITE_ONLY_IMMEDIATE;
}

// Of a write: has RETH.
static inline bool co_roce_starts(uint8_t opcode)
{
    return opcode == CO_ROCE_WRITE_FIRST || opcode >= CO_ROCE_WRITE_ONLY;
}

static inline bool co_roce_ends(uint8_t opcode)
{
    return opcode != CO_ROCE_WRITE_FIRST && opcode != CO_ROCE_WRITE_MIDDLE;
}

static inline bool co_roce_has_immediate(uint8_t opcode)
{
    return opcode == CO_ROCE_WRITE_LAST_IMMEDIATE || opcode == CO_ROCE_WRITE_ONLY_IMMEDIATE;
}

// Reads a frame of any bytes; *out is set for CO_ROCE_PACKET only. The ICRC is not looked at, and RETH only of UC
// writes. Never reads behind `bytes`.
enum co_roce_kind co_roce_parse(struct co_roce *out, const uint8_t *frame, size_t bytes);

// What one receiver expects in place of what the sender wrote.
struct co_roce_target {
    uint8_t mac[CO_ROCE_MAC_BYTES];
    uint32_t ip;
    uint32_t qpn;
    uint32_t psn_offset; // is added to the sender's PSN, modulo 2^24
    uint32_t rkey;
    uint64_t address; // is added to the sender's addresses
};

// Rewrites `head`, a copy of the first packet->payload_at bytes of the frame: Ethernet and IPv4 destination, IPv4
// checksum, UDP checksum (to none), QPN, PSN and, where there is RETH, address and RKEY. The ICRC is roce_icrc.h's.
void co_roce_rewrite(uint8_t *head, const struct co_roce *packet, const struct co_roce_target *target);

#endif
