// SPDX-License-Identifier: BSD-3-Clause
//
// The invariant checksum of RoCEv2 (ICRC): CRC-32 as of Ethernet over eight bytes of ones and the packet from the IPv4
// header on, in which what routers change counts as ones: TOS, TTL, IP checksum, UDP checksum, and the byte of BTH
// before the QPN. Source: InfiniBand architecture specification, annex A17.3.3. By zlib. A hop reads the payload of a
// packet once and gets the ICRC of every copy from that. Hot; one thread for one struct.
#ifndef CASTOFF_ONESIDED_ROCE_ICRC_H
#define CASTOFF_ONESIDED_ROCE_ICRC_H

#include "onesided/roce_packet.h"

// What the copies of a packet share.
struct co_roce_icrc {
    uint32_t payload_crc;
    uint32_t payload_bytes;
    uint32_t operation; // zlib's, for payload_bytes; most packets have the same
};

// Reads the payload of a frame that co_roce_parse took, and remembers its sum. A struct of zeros to begin with.
void co_roce_icrc_read(struct co_roce_icrc *icrc, const uint8_t *frame, const struct co_roce *packet);

// Writes the ICRC of a packet with these first bytes (up to the payload) and the payload that was read last.
void co_roce_icrc_write(const struct co_roce_icrc *icrc, const uint8_t *head, size_t head_bytes,
                        uint8_t out[CO_ROCE_ICRC_BYTES]);

// True when the frame's own ICRC is right. After co_roce_icrc_read of it.
bool co_roce_icrc_holds(const struct co_roce_icrc *icrc, const uint8_t *frame, const struct co_roce *packet);

#endif
