// SPDX-License-Identifier: BSD-3-Clause
//
// Reading and rewriting of RoCEv2 packets; see the header. Every length is compared before a byte is read that depends
// on it.
#include "onesided/roce_packet.h"

#include <string.h>

enum {
    ETHERTYPE_AT = 12,
    IP_BYTES = 20,
    UDP_AT = CO_ROCE_IP_AT + IP_BYTES,
    UDP_BYTES = 8,
    BTH_BYTES = 12,
    RETH_AT = CO_ROCE_BTH_AT + BTH_BYTES,
    RETH_BYTES = 16,
    IMMEDIATE_BYTES = 4,
    PROTOCOL_UDP = 17,
    FRAGMENT_BITS = 0x3fff // more fragments, and the offset
};

static uint32_t read_16(const uint8_t *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t read_24(const uint8_t *at)
{
    return (uint32_t)at[0] << 16 | read_16(at + 1);
}

static uint32_t read_32(const uint8_t *at)
{
    return read_16(at) << 16 | read_16(at + 2);
}

static void write_16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void write_24(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 16);
    write_16(at + 1, value);
}

static void write_32(uint8_t *at, uint32_t value)
{
    write_16(at, value >> 16);
    write_16(at + 2, value);
}

// RFC 1071. Over a header with its checksum in it: 0 when that is right.
static uint16_t ip_checksum(const uint8_t *ip)
{
    uint32_t sum = 0;
    for (int i = 0; i < IP_BYTES; i += 2) {
        sum += read_16(ip + i);
    }
    sum = (sum & 0xffff) + (sum >> 16);
    sum += sum >> 16;
    return (uint16_t)~sum;
}

// An unfragmented IPv4 datagram to RoCE's port, whatever else may be wrong with it.
static bool is_to_roce_port(const uint8_t *frame, size_t bytes)
{
    if (bytes < UDP_AT + UDP_BYTES || read_16(frame + ETHERTYPE_AT) != 0x0800) {
        return false;
    }
    const uint8_t *ip = frame + CO_ROCE_IP_AT;
    size_t ip_bytes = (size_t)(ip[0] & 0xf) * 4;
    return ip[0] >> 4 == 4 && ip_bytes >= IP_BYTES && ip[9] == PROTOCOL_UDP && (read_16(ip + 6) & FRAGMENT_BITS) == 0 &&
           bytes >= CO_ROCE_IP_AT + ip_bytes + 4 && read_16(ip + ip_bytes + 2) == CO_ROCE_PORT;
}

// What follows BTH before the payload. Of other opcodes than UC writes it counts as payload.
static size_t extension_bytes(uint8_t opcode)
{
    if (!co_roce_is_write(opcode)) {
        return 0;
    }
    return (co_roce_starts(opcode) ? RETH_BYTES : 0) + (co_roce_has_immediate(opcode) ? IMMEDIATE_BYTES : 0);
}

static void read_reth(struct co_roce *out, const uint8_t *reth)
{
    out->address = (uint64_t)read_32(reth) << 32 | read_32(reth + 4);
    out->rkey = read_32(reth + 8);
    out->message_bytes = read_32(reth + 12);
}

enum co_roce_kind co_roce_parse(struct co_roce *out, const uint8_t *frame, size_t bytes)
{
    if (!is_to_roce_port(frame, bytes)) {
        return CO_ROCE_OTHER;
    }
    const uint8_t *ip = frame + CO_ROCE_IP_AT, *bth = frame + CO_ROCE_BTH_AT;
    size_t ip_total = read_16(ip + 2), frame_bytes = CO_ROCE_IP_AT + ip_total;
    if (ip[0] != 0x45 || frame_bytes > bytes || ip_total < IP_BYTES + UDP_BYTES + BTH_BYTES + CO_ROCE_ICRC_BYTES ||
        read_16(frame + UDP_AT + 4) != ip_total - IP_BYTES || ip_checksum(ip) != 0) {
        return CO_ROCE_MALFORMED;
    }
    uint8_t opcode = bth[0], pad = bth[1] >> 4 & 3, version = bth[1] & 0xf;
    size_t payload_at = RETH_AT + extension_bytes(opcode);
    if (version != 0 || frame_bytes < payload_at + pad + CO_ROCE_ICRC_BYTES || (frame_bytes - payload_at) % 4 != 0) {
        return CO_ROCE_MALFORMED;
    }
    *out = (struct co_roce){.source_ip = read_32(ip + 12),
                            .destination_ip = read_32(ip + 16),
                            .qpn = read_24(bth + 5),
                            .psn = read_24(bth + 9),
                            .opcode = opcode,
                            .pad_bytes = pad,
                            .frame_bytes = (uint32_t)frame_bytes,
                            .payload_at = (uint16_t)payload_at,
                            .payload_bytes = (uint16_t)(frame_bytes - payload_at - CO_ROCE_ICRC_BYTES)};
    if (co_roce_is_write(opcode) && co_roce_starts(opcode)) {
        read_reth(out, frame + RETH_AT);
    }
    return CO_ROCE_PACKET;
}

void co_roce_rewrite(uint8_t *head, const struct co_roce *packet, const struct co_roce_target *target)
{
    uint8_t *ip = head + CO_ROCE_IP_AT, *bth = head + CO_ROCE_BTH_AT;
    memcpy(head, target->mac, CO_ROCE_MAC_BYTES);
    write_32(ip + 16, target->ip);
    write_16(ip + 10, 0);
    write_16(ip + 10, ip_checksum(ip));
    write_16(head + UDP_AT + 6, 0);
    write_24(bth + 5, target->qpn);
    write_24(bth + 9, packet->psn + target->psn_offset);
    if (co_roce_starts(packet->opcode)) {
        uint64_t address = packet->address + target->address;
        write_32(head + RETH_AT, (uint32_t)(address >> 32));
        write_32(head + RETH_AT + 4, (uint32_t)address);
        write_32(head + RETH_AT + 8, target->rkey);
    }
}
