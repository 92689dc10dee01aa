// SPDX-License-Identifier: BSD-3-Clause
//
// The ICRC is made here bit by bit over the whole packet, not in parts by a library as in the code under test.
#include "roce_frames.h"

#include <stdbool.h>
#include <string.h>

const uint8_t roce_frame_uc_send[] = {0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22, 0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22, 0x08,
                                      0x00, 0x45, 0x01, 0x00, 0x40, 0x04, 0x78, 0x40, 0x00, 0x40, 0x11, 0xb4, 0xd5,
                                      0xc0, 0xa8, 0x00, 0x07, 0xc0, 0xa8, 0x00, 0x07, 0xc0, 0x00, 0x12, 0xb7, 0x00,
                                      0x2c, 0xac, 0xa2, 0x24, 0x60, 0xff, 0xff, 0x00, 0x00, 0x00, 0xd3, 0x00, 0xcf,
                                      0x17, 0x10, 0x46, 0x30, 0x81, 0x8b, 0xe2, 0x89, 0x35, 0xd9, 0x0e, 0x9a, 0x95,
                                      0x50, 0x54, 0x01, 0xbe, 0x88, 0x5e, 0x50, 0x00, 0x00, 0x78, 0xf3, 0x53, 0xf3};
const size_t roce_frame_uc_send_bytes = sizeof roce_frame_uc_send;

const uint8_t roce_frame_connectx[] = {
    0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2, 0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32, 0x08, 0x00, 0x45, 0xc2, 0x00, 0x3c, 0x71,
    0x8c, 0x40, 0x00, 0x40, 0x11, 0x91, 0x61, 0x0a, 0x00, 0x11, 0x01, 0x0a, 0x00, 0x12, 0x01, 0x00, 0x00, 0x12, 0xb7,
    0x00, 0x28, 0x00, 0x00, 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x01, 0x18, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x82, 0xfd, 0x00, 0x2a};
const size_t roce_frame_connectx_bytes = sizeof roce_frame_connectx;

static void put(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--) {
        at[i] = (uint8_t)value;
        value >>= 8;
    }
}

static uint32_t crc_of(uint32_t crc, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
    }
    return crc;
}

static void put_ip_checksum(uint8_t *ip)
{
    uint32_t sum = 0;
    put(ip + 10, 0, 2);
    for (int i = 0; i < 20; i += 2) {
        sum += (uint32_t)ip[i] << 8 | ip[i + 1];
    }
    put(ip + 10, ~(sum % 0xffff) & 0xffff, 2);
}

static void put_icrc(uint8_t *frame, size_t bytes)
{
    static const int ones[] = {15, 22, 24, 25, 40, 41, 46};
    uint8_t covered[14 + 65535]; // the longest
    memcpy(covered, frame, bytes);
    memset(covered + 6, 0xff, 8); // in front of the IPv4 header
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++) {
        covered[ones[i]] = 0xff;
    }
    uint32_t crc = ~crc_of(0xffffffffu, covered + 6, bytes - 10);
    for (int i = 0; i < 4; i++) {
        frame[bytes - 4 + (size_t)i] = (uint8_t)(crc >> 8 * i);
    }
}

void roce_frame_seal(uint8_t *frame, size_t bytes)
{
    put_ip_checksum(frame + 14);
    put_icrc(frame, bytes);
}

size_t roce_frame_make(uint8_t frame[ROCE_FRAME_ROOM], const struct roce_frame_spec *spec)
{
    uint8_t op = spec->opcode;
    bool has_reth = op == 0x26 || op == 0x2a || op == 0x2b, has_immediate = op == 0x29 || op == 0x2b;
    size_t pad = (4 - spec->payload_bytes % 4) % 4, at = 54;
    memset(frame, 0, 80);
    memcpy(frame, spec->destination, 6);
    memcpy(frame + 6, spec->source, 6);
    put(frame + 12, 0x0800, 2);
    put(frame + 42, op, 1);
    put(frame + 43, 0x40 | pad << 4, 1);
    put(frame + 44, 0xffff, 2);
    put(frame + 47, spec->qpn, 3);
    put(frame + 51, spec->psn, 3);
    if (has_reth) {
        put(frame + at, spec->address, 8);
        put(frame + at + 8, spec->rkey, 4);
        put(frame + at + 12, spec->message_bytes, 4);
        at += 16;
    }
    if (has_immediate) {
        put(frame + at, spec->immediate, 4);
        at += 4;
    }
    for (size_t i = 0; i < spec->payload_bytes + pad; i++) {
        frame[at++] = i < spec->payload_bytes ? (uint8_t)(spec->psn * 7 + i * 13) : 0;
    }
    at += 4;
    put(frame + 14, 0x4500, 2);
    put(frame + 16, at - 14, 2);
    put(frame + 20, 0x4000, 2);
    put(frame + 22, 64, 1);
    put(frame + 23, 17, 1);
    put(frame + 26, spec->source_ip, 4);
    put(frame + 30, spec->destination_ip, 4);
    put(frame + 34, 49152, 2);
    put(frame + 36, 4791, 2);
    put(frame + 38, at - 34, 2);
    roce_frame_seal(frame, at);
    return at;
}
