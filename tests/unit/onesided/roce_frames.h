// SPDX-License-Identifier: BSD-3-Clause
//
// RoCEv2 frames for tests, made byte by byte and not by the code under test, and packets that others have sent.
#ifndef CASTOFF_TESTS_ROCE_FRAMES_H
#define CASTOFF_TESTS_ROCE_FRAMES_H

#include <stddef.h>
#include <stdint.h>

enum { ROCE_FRAME_ROOM = 9216 };

struct roce_frame_spec {
    uint8_t destination[6], source[6];
    uint32_t source_ip, destination_ip, qpn, psn, rkey, message_bytes, immediate;
    uint8_t opcode;
    uint64_t address;
    size_t payload_bytes; // of a pattern that depends on `psn`; padded to a multiple of four
};

// Writes the frame with right checksums and ICRC; returns its bytes.
size_t roce_frame_make(uint8_t frame[ROCE_FRAME_ROOM], const struct roce_frame_spec *spec);
// Puts the frame's checksum of IPv4 and its ICRC right again, after a test has changed it.
void roce_frame_seal(uint8_t *frame, size_t bytes);

// A SEND_ONLY of a UC queue pair with 22 bytes and two of padding: test/contrib/roce.uts of scapy, whose ICRC it has.
extern const uint8_t roce_frame_uc_send[];
extern const size_t roce_frame_uc_send_bytes;
// A congestion notification that a ConnectX-4 Lx sent, with the ICRC that the device made; from the same file.
extern const uint8_t roce_frame_connectx[];
extern const size_t roce_frame_connectx_bytes;

#endif
