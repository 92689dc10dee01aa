// SPDX-License-Identifier: BSD-3-Clause
//
// RoCEv2 packets: what real devices sent is read; every wrong length is refused, whatever is cut or changed; what a
// rewritten packet says is what its receiver expects, and nothing else has changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/roce_packet.h"
#include "roce_frames.h"

static const struct roce_frame_spec FIRST = {.destination = {1, 0, 0x5e, 1, 2, 3},
                                             .source = {2, 0, 0, 0, 0, 9},
                                             .source_ip = 0x0a4e0001,
                                             .destination_ip = 0xefc10203,
                                             .qpn = 0x123456,
                                             .psn = 0xfffffe,
                                             .rkey = 0xcafe0001,
                                             .message_bytes = 0x10000,
                                             .opcode = CO_ROCE_WRITE_FIRST,
                                             .address = 0x4000,
                                             .payload_bytes = 1024};

static const struct co_roce_target TARGET = {.mac = {2, 0xca, 1, 0, 0, 3},
                                             .ip = 0x0a4e0003,
                                             .qpn = 0x11,
                                             .psn_offset = 5,
                                             .rkey = 0x77,
                                             .address = UINT64_C(0x7fff12345000)};

static void packets_of_devices(void **state)
{
    (void)state;
    struct co_roce packet;
    assert_int_equal(co_roce_parse(&packet, roce_frame_uc_send, roce_frame_uc_send_bytes), CO_ROCE_PACKET);
    assert_int_equal(packet.opcode, 0x24);
    assert_int_equal(packet.source_ip, 0xc0a80007);
    assert_int_equal(packet.qpn, 211);
    assert_int_equal(packet.psn, 13571856);
    assert_int_equal(packet.pad_bytes, 2);
    assert_int_equal(packet.payload_at, 54);
    assert_int_equal(packet.payload_bytes, 20);
    assert_int_equal(co_roce_parse(&packet, roce_frame_connectx, roce_frame_connectx_bytes), CO_ROCE_PACKET);
    assert_int_equal(packet.opcode, 0x81);
    assert_int_equal(packet.qpn, 0x118);
    assert_false(co_roce_is_write(packet.opcode));
}

static void every_kind_of_write(void **state)
{
    (void)state;
    static const struct {
        uint8_t opcode;
        size_t payload_at;
        bool starts, ends, immediate;
    } kinds[] = {{0x26, 70, true, false, false}, {0x27, 54, false, false, false}, {0x28, 54, false, true, false},
                 {0x29, 58, false, true, true},  {0x2a, 70, true, true, false},   {0x2b, 74, true, true, true}};
    uint8_t frame[ROCE_FRAME_ROOM];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct roce_frame_spec spec = FIRST;
        struct co_roce packet;
        spec.opcode = kinds[i].opcode;
        spec.payload_bytes = 61;
        size_t bytes = roce_frame_make(frame, &spec);
        assert_int_equal(co_roce_parse(&packet, frame, bytes + 3), CO_ROCE_PACKET); // Ethernet may have padded it
        assert_int_equal(packet.frame_bytes, bytes);
        assert_int_equal(packet.payload_at, kinds[i].payload_at);
        assert_int_equal(packet.payload_bytes, 64);
        assert_int_equal(packet.pad_bytes, 3);
        assert_true(co_roce_is_write(packet.opcode));
        assert_int_equal(co_roce_starts(packet.opcode), kinds[i].starts);
        assert_int_equal(co_roce_ends(packet.opcode), kinds[i].ends);
        assert_int_equal(co_roce_has_immediate(packet.opcode), kinds[i].immediate);
        assert_int_equal(packet.address, kinds[i].starts ? 0x4000 : 0);
        assert_int_equal(packet.rkey, kinds[i].starts ? 0xcafe0001 : 0);
        assert_int_equal(packet.message_bytes, kinds[i].starts ? 0x10000 : 0);
    }
    assert_false(co_roce_is_write(0x25));
    assert_false(co_roce_is_write(0x2c));
}

// A frame with one byte (or bit field) set anew and its checksum put right.
static enum co_roce_kind kind_with(size_t at, uint8_t value)
{
    struct co_roce packet;
    uint8_t frame[ROCE_FRAME_ROOM];
    size_t bytes = roce_frame_make(frame, &FIRST);
    frame[at] = value;
    if (at < 24 || at > 25) {
        roce_frame_seal(frame, bytes);
    }
    return co_roce_parse(&packet, frame, bytes);
}

static void others_pass(void **state)
{
    (void)state;
    assert_int_equal(kind_with(12, 0x86), CO_ROCE_OTHER); // no IPv4
    assert_int_equal(kind_with(14, 0x65), CO_ROCE_OTHER); // version 6
    assert_int_equal(kind_with(14, 0x44), CO_ROCE_OTHER); // a header too short to be one
    assert_int_equal(kind_with(23, 6), CO_ROCE_OTHER);    // TCP
    assert_int_equal(kind_with(37, 0xb8), CO_ROCE_OTHER); // port 4792
    assert_int_equal(kind_with(20, 0x20), CO_ROCE_OTHER); // a fragment
    assert_int_equal(kind_with(21, 0x01), CO_ROCE_OTHER);
    struct co_roce packet;
    uint8_t frame[ROCE_FRAME_ROOM];
    roce_frame_make(frame, &FIRST);
    for (size_t bytes = 0; bytes < 42; bytes++) {
        assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_OTHER);
    }
}

static void malformed_is_refused(void **state)
{
    (void)state;
    assert_int_equal(kind_with(0, 2), CO_ROCE_PACKET);     // nothing of it
    assert_int_equal(kind_with(24, 0), CO_ROCE_MALFORMED); // checksum
    assert_int_equal(kind_with(17, 1), CO_ROCE_MALFORMED); // IPv4 length
    assert_int_equal(kind_with(16, 0), CO_ROCE_MALFORMED); //
    assert_int_equal(kind_with(16, 0xff), CO_ROCE_MALFORMED);
    assert_int_equal(kind_with(39, 0), CO_ROCE_MALFORMED);    // UDP length
    assert_int_equal(kind_with(43, 0x41), CO_ROCE_MALFORMED); // version of BTH
    struct co_roce packet;
    uint8_t frame[ROCE_FRAME_ROOM];
    size_t whole = roce_frame_make(frame, &FIRST);
    for (size_t bytes = 42; bytes < whole; bytes++) {
        uint8_t *exact = malloc(bytes); // so that reading on is seen
        memcpy(exact, frame, bytes);
        assert_int_equal(co_roce_parse(&packet, exact, bytes), CO_ROCE_MALFORMED);
        free(exact);
    }
}

// Lengths that fit each other but not the headers of the opcode, padding longer than the payload, odd payloads.
static void lengths_are_compared(void **state)
{
    (void)state;
    struct co_roce packet;
    uint8_t frame[ROCE_FRAME_ROOM];
    struct roce_frame_spec spec = FIRST;
    spec.opcode = CO_ROCE_WRITE_MIDDLE;
    spec.payload_bytes = 12;
    size_t bytes = roce_frame_make(frame, &spec);
    frame[42] = CO_ROCE_WRITE_ONLY; // 12 bytes cannot be the 16 of RETH
    roce_frame_seal(frame, bytes);
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_MALFORMED);
    spec.payload_bytes = 0;
    bytes = roce_frame_make(frame, &spec);
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_PACKET);
    assert_int_equal(packet.payload_bytes, 0);
    frame[43] |= 0x30;
    roce_frame_seal(frame, bytes);
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_MALFORMED);
    spec.payload_bytes = 40;
    bytes = roce_frame_make(frame, &spec);
    frame[17]--; // one byte less, said everywhere
    frame[39]--;
    roce_frame_seal(frame, bytes);
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_MALFORMED);
    bytes = roce_frame_make(frame, &spec);
    memmove(frame + 38, frame + 34, bytes - 34); // options of IPv4: four bytes more
    frame[14] = 0x46;
    roce_frame_seal(frame, bytes);
    assert_int_equal(co_roce_parse(&packet, frame, bytes + 4), CO_ROCE_MALFORMED);
}

// A copy is the frame that the sender would have made for this receiver.
static void rewritten_for(uint8_t opcode)
{
    uint8_t frame[ROCE_FRAME_ROOM], wanted[ROCE_FRAME_ROOM];
    struct co_roce packet;
    struct roce_frame_spec spec = FIRST;
    spec.opcode = opcode;
    size_t bytes = roce_frame_make(frame, &spec);
    memset(frame + 40, 0x5a, 2); // a checksum of UDP
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_PACKET);
    co_roce_rewrite(frame, &packet, &TARGET);
    memcpy(spec.destination, TARGET.mac, sizeof TARGET.mac);
    spec.destination_ip = TARGET.ip;
    spec.qpn = TARGET.qpn;
    spec.rkey = TARGET.rkey;
    spec.address += TARGET.address;
    roce_frame_make(wanted, &spec);
    wanted[51] = 0, wanted[52] = 0, wanted[53] = 3; // 0xfffffe + 5, while the payload is that of the sender's PSN
    assert_memory_equal(frame, wanted, bytes - CO_ROCE_ICRC_BYTES);
}

static void copies_are_for_their_receiver(void **state)
{
    (void)state;
    for (uint8_t opcode = CO_ROCE_WRITE_FIRST; opcode <= CO_ROCE_WRITE_ONLY_IMMEDIATE; opcode++) {
        rewritten_for(opcode);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_devices),   cmocka_unit_test(every_kind_of_write),
        cmocka_unit_test(others_pass),          cmocka_unit_test(malformed_is_refused),
        cmocka_unit_test(lengths_are_compared), cmocka_unit_test(copies_are_for_their_receiver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
