// SPDX-License-Identifier: BSD-3-Clause
//
// What wakes the TCP carrier: of bulk most of what is missing of a frame, not each of its packets; a peer's end; and of
// control everything. Each packet is with the kernel, which its sender knows, before it is looked for.
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cmocka.h>

#include <linux/sockios.h>

#include "tcp_carrier_rig.h"

enum { PACKETS = 40, PACKET = 1400, WAKES = 5 };

static uint8_t wire[2 * CO_CARRIER_FRAME_MAX], record[PACKETS * PACKET], got[CO_CARRIER_FRAME_MAX];
static struct tcp_rig_fake fake;
static enum co_carrier_connection connection;

static int end(void **state)
{
    (void)state;
    tcp_rig_fake_close(&fake);
    tcp_rig_end();
    return 0;
}

static void begin(enum co_carrier_connection which)
{
    tcp_rig_begin(3);
    tcp_rig_open(0);
    connection = which;
    tcp_rig_fake_open(&fake, 2, 0, which);
    for (size_t i = 0; i < sizeof record; i++) {
        record[i] = (uint8_t)(i * 31);
    }
}

static bool is_woken(void)
{
    struct pollfd look = {.fd = co_carrier_tcp_descriptor(tcp_rig.ends[0].tcp), .events = POLLIN};
    return poll(&look, 1, 0) == 1;
}

// The receiving kernel has it when it has acknowledged it.
static void deliver(const uint8_t *data, size_t bytes)
{
    int unheard = 1;
    tcp_rig_raw_send(fake.socket, data, bytes);
    while (unheard > 0) {
        assert_int_equal(ioctl(fake.socket, SIOCOUTQ, &unheard), 0);
    }
}

static bool has_come(void)
{
    return tcp_rig.ends[0].oldest[2][connection] != NULL;
}

// The rest of a frame; how often it is looked at before its last byte has come.
static int wakes_of(size_t from, size_t frame)
{
    int wakes = 0;
    for (size_t at = from; at < frame - 1; at += PACKET) {
        deliver(wire + at, frame - 1 - at < PACKET ? frame - 1 - at : PACKET);
        if (is_woken()) {
            assert_true(at - from + PACKET >= (frame - from) / 2);
            tcp_rig_turn(0);
            wakes++;
        }
    }
    deliver(wire + frame - 1, 1);
    return wakes;
}

static void few_packets_wake(void **state)
{
    (void)state;
    begin(CO_CARRIER_BULK);
    for (int round = 0; round < 3; round++) {
        size_t frame = tcp_rig_fake_frame(&fake, CO_CARRIER_FRAME_RECORD, record, sizeof record, wire);
        deliver(wire, PACKET);
        assert_true(is_woken()); // it has the head
        tcp_rig_turn(0);
        assert_in_range(wakes_of(PACKET, frame), 1, WAKES);
        assert_true(is_woken());
        tcp_rig_until(has_come);
        assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_BULK, got), sizeof record);
        assert_memory_equal(got, record, sizeof record);
    }
}

// The beginning of the next one has come with the one before.
static void what_is_behind_a_frame_counts(void **state)
{
    (void)state;
    begin(CO_CARRIER_BULK);
    size_t one = tcp_rig_fake_frame(&fake, CO_CARRIER_FRAME_RECORD, record, 10, wire);
    size_t two = tcp_rig_fake_frame(&fake, CO_CARRIER_FRAME_RECORD, record, sizeof record, wire + one);
    deliver(wire, one + PACKET);
    tcp_rig_until(has_come);
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_BULK, got), 10);
    tcp_rig_turn(0);
    assert_in_range(wakes_of(one + PACKET, one + two), 1, WAKES);
    tcp_rig_until(has_come);
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_BULK, got), sizeof record);
}

static bool is_lost(void)
{
    return tcp_rig.ends[0].is_lost[2];
}

// Who ends in the middle of a frame is seen to have ended.
static void an_end_wakes(void **state)
{
    (void)state;
    begin(CO_CARRIER_BULK);
    tcp_rig_fake_frame(&fake, CO_CARRIER_FRAME_RECORD, record, sizeof record, wire);
    deliver(wire, PACKET);
    tcp_rig_turn(0);
    shutdown(fake.socket, SHUT_WR);
    tcp_rig_until_of(0, is_lost);
    assert_int_equal(tcp_rig.ends[0].error[2], -ECONNRESET);
}

// A half of a word may be late; who waits for it has to see that its peer lives.
static void each_packet_of_control_wakes(void **state)
{
    (void)state;
    begin(CO_CARRIER_CONTROL);
    size_t frame = tcp_rig_fake_frame(&fake, CO_CARRIER_FRAME_RECORD, record, 1000, wire);
    for (size_t at = 0; at < frame; at += 100) {
        deliver(wire + at, frame - at < 100 ? frame - at : 100);
        assert_true(is_woken());
        tcp_rig_turn(0);
    }
    assert_int_equal(tcp_rig_take(0, 2, CO_CARRIER_CONTROL, got), 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(few_packets_wake, end),
        cmocka_unit_test_teardown(what_is_behind_a_frame_counts, end),
        cmocka_unit_test_teardown(an_end_wakes, end),
        cmocka_unit_test_teardown(each_packet_of_control_wakes, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
