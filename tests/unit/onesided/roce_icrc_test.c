// SPDX-License-Identifier: BSD-3-Clause
//
// The ICRC: of packets that others have sent; of copies with another head, put together from the sum of the payload;
// what it covers and what not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/roce_icrc.h"
#include "roce_frames.h"

static bool holds(const uint8_t *frame, size_t bytes)
{
    struct co_roce_icrc icrc = {0};
    struct co_roce packet;
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_PACKET);
    co_roce_icrc_read(&icrc, frame, &packet);
    return co_roce_icrc_holds(&icrc, frame, &packet);
}

static void packets_of_others(void **state)
{
    (void)state;
    assert_true(holds(roce_frame_uc_send, roce_frame_uc_send_bytes));
    assert_true(holds(roce_frame_connectx, roce_frame_connectx_bytes));
}

// Every byte that it covers, changed, is found out; those that routers change are not looked at.
static void what_it_covers(void **state)
{
    (void)state;
    uint8_t frame[ROCE_FRAME_ROOM];
    struct co_roce packet;
    struct co_roce_icrc icrc = {0};
    struct roce_frame_spec spec = {.opcode = CO_ROCE_WRITE_ONLY, .payload_bytes = 16, .destination_ip = 0xefc10203};
    size_t bytes = roce_frame_make(frame, &spec);
    assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_PACKET);
    for (size_t i = 0; i < bytes; i++) {
        static const int free_bytes[] = {15, 22, 24, 25, 40, 41, 46};
        bool is_free = i < 14;
        for (size_t k = 0; k < sizeof free_bytes / sizeof *free_bytes; k++) {
            is_free = is_free || i == (size_t)free_bytes[k];
        }
        frame[i] ^= 0x10;
        co_roce_icrc_read(&icrc, frame, &packet);
        assert_int_equal(co_roce_icrc_holds(&icrc, frame, &packet), is_free);
        frame[i] ^= 0x10;
    }
}

// As long as IPv4 allows, behind an Ethernet head: where the kernel joins packets, or interfaces take such.
static void the_longest(void **state)
{
    (void)state;
    enum { IP_AT = 14, UDP_AT = 34, LONGEST = 65546 }; // a payload of whole words
    uint8_t *frame = calloc(1, LONGEST);
    assert_non_null(frame);
    memcpy(frame, roce_frame_uc_send, roce_frame_uc_send_bytes);
    frame[IP_AT + 2] = (uint8_t)((LONGEST - IP_AT) >> 8);
    frame[IP_AT + 3] = (uint8_t)(LONGEST - IP_AT);
    frame[UDP_AT + 4] = (uint8_t)((LONGEST - UDP_AT) >> 8);
    frame[UDP_AT + 5] = (uint8_t)(LONGEST - UDP_AT);
    roce_frame_seal(frame, LONGEST);
    assert_true(holds(frame, LONGEST));
    frame[LONGEST - 1] ^= 1;
    assert_false(holds(frame, LONGEST));
    free(frame);
}

// Payloads of changing length, as of the last packet of a message; the sum of a copy is that of the frame made anew.
static void copies(void **state)
{
    (void)state;
    static const size_t payloads[] = {4096, 4096, 0, 4, 4096, 1024, 1020};
    uint8_t frame[ROCE_FRAME_ROOM], out[CO_ROCE_ICRC_BYTES];
    struct co_roce_icrc icrc = {0};
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        struct roce_frame_spec spec = {.opcode = CO_ROCE_WRITE_LAST_IMMEDIATE,
                                       .payload_bytes = payloads[i],
                                       .destination_ip = 0xefc10203,
                                       .psn = (uint32_t)i};
        struct co_roce_target target = {.mac = {2, 1}, .ip = 0x0a4e0002, .qpn = 0x222, .psn_offset = 77};
        struct co_roce packet;
        size_t bytes = roce_frame_make(frame, &spec);
        assert_int_equal(co_roce_parse(&packet, frame, bytes), CO_ROCE_PACKET);
        co_roce_icrc_read(&icrc, frame, &packet);
        assert_true(co_roce_icrc_holds(&icrc, frame, &packet));
        co_roce_rewrite(frame, &packet, &target);
        co_roce_icrc_write(&icrc, frame, packet.payload_at, out);
        roce_frame_seal(frame, bytes);
        assert_memory_equal(out, frame + bytes - sizeof out, sizeof out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_of_others),
        cmocka_unit_test(what_it_covers),
        cmocka_unit_test(the_longest),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
