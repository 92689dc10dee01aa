// SPDX-License-Identifier: BSD-3-Clause
//
// What a rule lets through: whole messages inside the registered length, of the sender, under its key, packet after
// packet; and at random, that nothing ever passes that would be written elsewhere.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/rule_table.h"

enum { BYTES = 10000, SENDER = 0x0a000001, KEY = 0x1234 };

static struct co_rule fresh_rule(void)
{
    return (struct co_rule){.config = {.sender_ip = SENDER, .key = KEY, .bytes = BYTES}};
}

static struct co_roce packet_of(uint8_t opcode, uint32_t psn, uint32_t data)
{
    uint8_t pad = (uint8_t)((4 - data % 4) % 4);
    return (struct co_roce){.source_ip = SENDER,
                            .opcode = opcode,
                            .psn = psn,
                            .pad_bytes = pad,
                            .frame_bytes = (uint32_t)(data + pad + 58),
                            .payload_bytes = (uint16_t)(data + pad)};
}

static struct co_roce start_of(uint8_t opcode, uint32_t psn, uint32_t data, uint64_t address, uint32_t message)
{
    struct co_roce packet = packet_of(opcode, psn, data);
    packet.rkey = KEY;
    packet.address = address;
    packet.message_bytes = message;
    return packet;
}

static enum co_rule_verdict judge(struct co_rule *rule, struct co_roce packet)
{
    return co_rule_judge(rule, &packet);
}

static void whole_messages(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 0xffffff, 1024, 0, 3000)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 0, 1024)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST_IMMEDIATE, 1, 952)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 2, 999, BYTES - 999, 999)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY_IMMEDIATE, 3, 0, 0, 0)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 4, 1024, 0, 1025)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST, 5, 1)), CO_RULE_PASSED);
    assert_int_equal(rule.packets[CO_RULE_PASSED], 7);
    assert_int_equal(rule.bytes_in, 1024 * 3 + 952 + 1000 + 4 + 7 * 58);
}

static void of_another_sender_or_key(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    struct co_roce forged = start_of(CO_ROCE_WRITE_ONLY, 0, 64, 0, 64);
    forged.rkey++;
    assert_int_equal(judge(&rule, forged), CO_RULE_FOREIGN);
    forged.rkey--;
    forged.source_ip++;
    assert_int_equal(judge(&rule, forged), CO_RULE_FOREIGN);
    // A message under way does not suffer from it.
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 5, 64, 0, 128)), CO_RULE_PASSED);
    forged = start_of(CO_ROCE_WRITE_FIRST, 6, 64, 0, 128);
    forged.rkey++;
    assert_int_equal(judge(&rule, forged), CO_RULE_FOREIGN);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST, 6, 64)), CO_RULE_PASSED);
    assert_int_equal(rule.packets[CO_RULE_FOREIGN], 3);
}

static void other_opcodes(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    static const uint8_t others[] = {0x00, 0x04, 0x06, 0x24, 0x25, 0x2c, 0x64, 0x81, 0xff};
    for (size_t i = 0; i < sizeof others; i++) {
        assert_int_equal(judge(&rule, packet_of(others[i], 0, 64)), CO_RULE_OPCODE);
    }
}

static void beyond_the_registered_length(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 0, 64, BYTES - 63, 64)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 0, 64, UINT64_MAX - 31, 64)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 0, 1024, 0, BYTES + 1)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 1, 1024)), CO_RULE_SEQUENCE); // the rest of it
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST, 2, 1024)), CO_RULE_SEQUENCE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 3, 64, BYTES - 64, 64)), CO_RULE_PASSED);
}

// More, or less, than the first packet said.
static void beyond_the_message(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 0, 64, 0, 32)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 0, 64, 0, 65)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 0, 1024, 0, 1024)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 0, 0, 0, 1024)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 0, 1024, 0, 2048)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 1, 1024)), CO_RULE_RANGE);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST, 1, 1024)), CO_RULE_SEQUENCE); // that message is over
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 2, 1024, 0, 2048)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_LAST, 3, 1000)), CO_RULE_RANGE);
}

static void a_lost_packet(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 0, 64)), CO_RULE_SEQUENCE);
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_FIRST, 1, 1024, 0, 4096)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 3, 1024)), CO_RULE_SEQUENCE);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 2, 1024)), CO_RULE_PASSED); // only late
    assert_int_equal(judge(&rule, start_of(CO_ROCE_WRITE_ONLY, 9, 64, 0, 64)), CO_RULE_PASSED);
    assert_int_equal(judge(&rule, packet_of(CO_ROCE_WRITE_MIDDLE, 10, 1024)), CO_RULE_SEQUENCE);
}

// A receiver that writes where the start said, and on from there, as its device does.
static void never_elsewhere(void **state)
{
    (void)state;
    struct co_rule rule = fresh_rule();
    uint32_t seed = 7, psn = 0;
    uint64_t at = 0, end = 0, passed = 0;
    for (int i = 0; i < 300000; i++) {
        seed = seed * 1664525 + 1013904223;
        uint8_t opcode = (uint8_t)(CO_ROCE_WRITE_FIRST + (seed >> 24) % 6);
        uint32_t data = (seed >> 8) % 3 * 1000;
        psn = (psn + 1 + (seed >> 20) % 16 / 15) & CO_ROCE_PSN_MASK;
        struct co_roce packet = packet_of(opcode, psn, data);
        if (co_roce_starts(opcode)) {
            packet = start_of(opcode, psn, data, (seed >> 10) % 16 * 1000, (seed >> 14) % 8 * 1000);
        }
        if (judge(&rule, packet) != CO_RULE_PASSED) {
            continue;
        }
        if (co_roce_starts(opcode)) {
            at = packet.address;
            end = at + packet.message_bytes;
        }
        at += data;
        assert_true(at <= end && end <= BYTES);
        passed++;
    }
    assert_true(passed > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_messages),     cmocka_unit_test(of_another_sender_or_key),
        cmocka_unit_test(other_opcodes),      cmocka_unit_test(beyond_the_registered_length),
        cmocka_unit_test(beyond_the_message), cmocka_unit_test(a_lost_packet),
        cmocka_unit_test(never_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
