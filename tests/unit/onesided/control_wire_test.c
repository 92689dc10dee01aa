// SPDX-License-Identifier: BSD-3-Clause
//
// Control messages: golden bytes, every kind there and back, every cut and every wrong value refused, bytes at random.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/control_wire.h"

static struct co_coordination_message message, back;
static uint8_t body[CO_COORDINATION_BODY_MAX];

static void fill_open(struct co_coordination_open *open)
{
    snprintf(open->group, sizeof open->group, "%s", "replica-1");
    snprintf(open->name, sizeof open->name, "%s", "h3");
    open->bytes = 1 << 20;
    open->members = 3;
    open->patience_ms = 5000;
    open->end = (struct co_coordination_end){
        .mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000001, .psn = 5, .mtu = 4096, .qpn = 9, .rkey = 8};
}

static void fill_rule(struct co_coordination_rule *rule, uint32_t actions)
{
    rule->request = 1;
    rule->config = (struct co_rule_config){
        .id = 7, .group_ip = 0xefc10001, .sender_ip = 1, .qpn = 2, .key = 3, .bytes = 4, .action_count = actions};
    for (uint32_t i = 0; i < actions; i++) {
        rule->targets[i] = (struct co_roce_target){.mac = {1, 2, 3}, .ip = i, .qpn = i, .rkey = 5, .address = 1u << 31};
    }
}

static void fill_report(struct co_coordination_hop_report *report)
{
    report->totals = (struct co_hop_totals){.frames = 1, .copies = 3, .expired = 9};
    report->rule_count = CO_COORDINATION_RULES_MAX;
    for (uint32_t i = 0; i < report->rule_count; i++) {
        report->rules[i] = (struct co_coordination_hop_rule){.id = i, .packets = {1, 2}, .copies = 3 * i};
    }
}

static void fill_missing(struct co_coordination_missing *missing)
{
    snprintf(missing->name, sizeof missing->name, "%s", "h3");
    missing->round = 2;
    missing->missing = missing->range_count = CO_COORDINATION_RANGES_MAX;
    for (uint32_t i = 0; i < missing->range_count; i++) {
        missing->ranges[i] = (struct co_coordination_range){2 * i, 1};
    }
}

// A message of the kind with something in it, as large as it can be.
static void fill(uint16_t kind)
{
    memset(&message, 0, sizeof message);
    message.kind = kind;
    switch (kind) {
    case CO_SAY_WELCOME:
        message.lease_ms = 6000;
        break;
    case CO_SAY_LOGIN:
        message.login =
            (struct co_coordination_login){.role = CO_ROLE_HOP, .name = "leaf.1", .mode = CO_HOP_NIC, .rules = 4};
        break;
    case CO_SAY_DONE:
    case CO_SAY_REFUSED:
    case CO_SAY_ENDED:
        message.answer = (struct co_coordination_answer){.request = 3, .reason = CO_REASON_FULL};
        memset(message.answer.text, 'x', CO_COORDINATION_TEXT_MAX - 1);
        break;
    case CO_SAY_RULE_SET:
        fill_rule(&message.rule, CO_RULE_ACTIONS_MAX);
        break;
    case CO_SAY_RULE_REMOVE:
        message.removal = (struct co_coordination_removal){.request = 4, .id = 5};
        break;
    case CO_SAY_HOP_REPORT:
        fill_report(&message.report);
        break;
    case CO_SAY_OPEN_SENDER:
    case CO_SAY_OPEN_MEMBER:
        fill_open(&message.open);
        break;
    case CO_SAY_SETUP:
    case CO_SAY_GO:
        message.setup = (struct co_coordination_setup){
            .ip = 1, .psn = 2, .qpn = 3, .key = 4, .mtu = 1024, .members = 3, .bytes = 5};
        break;
    case CO_SAY_ROUND:
        message.round = (struct co_coordination_round){.round = 1, .chunk_bytes = 65536, .chunks = 16};
        break;
    case CO_SAY_MISSING:
        fill_missing(&message.missing);
        break;
    case CO_SAY_MEMBER_LOST:
        snprintf(message.name, sizeof message.name, "%s", "h3");
        break;
    case CO_SAY_STATUS_TEXT:
        message.status.is_last = true;
        message.status.bytes = CO_COORDINATION_STATUS_MAX - 1;
        memset(message.status.text, '\n', message.status.bytes);
        break;
    default:
        break;
    }
}

static int read_as(uint16_t kind, size_t bytes)
{
    uint8_t *exact = malloc(bytes ? bytes : 1); // so that reading on is seen
    memcpy(exact, body, bytes);
    memset(&back, 0, sizeof back);
    back.kind = kind;
    int result = co_coordination_read(&back, exact, bytes);
    free(exact);
    return result;
}

static void there_and_back(void **state)
{
    (void)state;
    for (uint16_t kind = CO_SAY_WELCOME; kind < CO_SAY_END; kind++) {
        fill(kind);
        size_t bytes = co_coordination_write(body, &message);
        assert_true(bytes <= CO_COORDINATION_BODY_MAX);
        assert_int_equal(read_as(kind, bytes), 0);
        message.rule.config.targets = kind == CO_SAY_RULE_SET ? back.rule.config.targets : message.rule.config.targets;
        assert_memory_equal(&message, &back, sizeof message);
        for (size_t cut = 0; cut < bytes; cut += cut < 200 ? 1 : 997) {
            assert_int_equal(read_as(kind, cut), -EPROTO);
        }
        assert_int_equal(read_as(kind, bytes + 1), -EPROTO);
    }
    assert_int_equal(read_as(0, 0), -EPROTO);
    assert_int_equal(read_as(CO_SAY_END, 0), -EPROTO);
}

static void golden_bytes(void **state)
{
    (void)state;
    static const uint8_t golden[] = {9, 'r', 'e', 'p', 'l', 'i', 'c', 'a', '-', '1',  2,    'h', '3',  0, 0, 0x10,
                                     0, 0,   0,   0,   0,   3,   0,   0,   0,   0x88, 0x13, 0,   0,    2, 0, 0,
                                     0, 0,   1,   1,   0,   0,   0xa, 5,   0,   0,    0,    0,   0x10, 0, 0, 9,
                                     0, 0,   0,   8,   0,   0,   0,   0,   0,   0,    0,    0,   0,    0, 0};
    fill(CO_SAY_OPEN_MEMBER);
    assert_int_equal(co_coordination_write(body, &message), sizeof golden);
    assert_memory_equal(body, golden, sizeof golden);
}

static int write_and_read(void)
{
    return read_as(message.kind, co_coordination_write(body, &message));
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    fill(CO_SAY_OPEN_MEMBER);
    message.open.end.mtu = 1000;
    assert_int_equal(write_and_read(), -EPROTO);
    message.open.end.mtu = 8192;
    assert_int_equal(write_and_read(), -EPROTO);
    message.open.end.mtu = 1024;
    message.open.end.qpn = 1 << 24;
    assert_int_equal(write_and_read(), -EPROTO);
    message.open.end.qpn = 1;
    snprintf(message.open.group, sizeof message.open.group, "%s", "a b");
    assert_int_equal(write_and_read(), -EPROTO);
    snprintf(message.open.group, sizeof message.open.group, "%s", "");
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_LOGIN);
    message.login.role = CO_ROLE_END;
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_REFUSED);
    message.answer.text[3] = '\033'; // what would speak to a terminal
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_STATUS_TEXT);
    message.status.text[3] = '\033'; // likewise, and lines are the only thing that it has beside letters
    assert_int_equal(write_and_read(), -EPROTO);
    message.status.text[3] = '\t';
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_REFUSED);
    message.answer.reason = CO_REASON_END;
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_ROUND);
    message.round.chunk_bytes = 0;
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_RULE_SET);
    size_t bytes = co_coordination_write(body, &message);
    body[36] = 1, body[37] = 4; // 1025 actions
    assert_int_equal(read_as(CO_SAY_RULE_SET, bytes), -EPROTO);
    assert_int_equal(read_as(CO_SAY_RULE_SET, bytes + 30), -EPROTO); // though all of them are there
}

// All deadlines of hops and groups are made of it: 0 would report without a pause, the most would wait for 199 days.
static void leases_that_cannot_be(void **state)
{
    (void)state;
    static const uint32_t leases[] = {0, 1, CO_COORDINATION_LEASE_MS_MIN - 1, CO_COORDINATION_LEASE_MS_MAX + 1,
                                      UINT32_MAX};
    for (size_t i = 0; i < sizeof leases / sizeof *leases; i++) {
        fill(CO_SAY_WELCOME);
        message.lease_ms = leases[i];
        assert_int_equal(write_and_read(), -EPROTO);
    }
    fill(CO_SAY_WELCOME);
    message.lease_ms = CO_COORDINATION_LEASE_MS_MIN;
    assert_int_equal(write_and_read(), 0);
    message.lease_ms = CO_COORDINATION_LEASE_MS_MAX;
    assert_int_equal(write_and_read(), 0);
}

static void set_ups_that_cannot_be(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {
        0, CO_TRANSFER_BYTES_MAX + 1, (UINT64_C(1) << 43) - 1, UINT64_C(1) << 43, (UINT64_C(1) << 43) + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        for (uint16_t kind = CO_SAY_SETUP; kind <= CO_SAY_GO; kind += CO_SAY_GO - CO_SAY_SETUP) {
            fill(kind);
            message.setup.bytes = lengths[i];
            assert_int_equal(write_and_read(), -EPROTO);
        }
    }
    fill(CO_SAY_SETUP);
    message.setup.bytes = CO_TRANSFER_BYTES_MAX;
    assert_int_equal(write_and_read(), 0);
    static const uint32_t members[] = {0, CO_RULE_ACTIONS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        message.setup.members = members[i];
        assert_int_equal(write_and_read(), -EPROTO);
    }
    fill(CO_SAY_GO);
    message.setup.mtu = 0;
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_GO);
    message.setup.qpn = CO_ROCE_PSN_MASK + 1;
    assert_int_equal(write_and_read(), -EPROTO);
    fill(CO_SAY_GO);
    message.setup.psn = CO_ROCE_PSN_MASK + 1;
    assert_int_equal(write_and_read(), -EPROTO);
}

static void rounds_that_cannot_be(void **state)
{
    (void)state;
    static const uint32_t chunks[] = {0, CO_TRANSFER_CHUNKS_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof chunks / sizeof *chunks; i++) {
        fill(CO_SAY_ROUND);
        message.round.chunks = chunks[i];
        assert_int_equal(write_and_read(), -EPROTO);
    }
    fill(CO_SAY_ROUND);
    message.round.chunk_bytes = CO_TRANSFER_CHUNK_BYTES_MAX + 1;
    assert_int_equal(write_and_read(), -EPROTO);
}

// Two ranges.
static int read_missing(uint32_t first, uint32_t count, uint32_t second, uint32_t second_count, uint32_t total)
{
    fill(CO_SAY_MISSING);
    message.missing.range_count = 2;
    message.missing.missing = total;
    message.missing.ranges[0] = (struct co_coordination_range){first, count};
    message.missing.ranges[1] = (struct co_coordination_range){second, second_count};
    return write_and_read();
}

static void ranges_that_cannot_be(void **state)
{
    (void)state;
    const uint32_t most = CO_TRANSFER_CHUNKS_MAX;
    assert_int_equal(read_missing(0, 2, 3, most - 3, most - 1), 0);
    assert_int_equal(read_missing(0, 2, 3, most - 2, most), -EPROTO); // ends beyond
    assert_int_equal(read_missing(0, 2, most, 1, 3), -EPROTO);        // begins there
    assert_int_equal(read_missing(5, 2, 1, 2, 4), -EPROTO);           // falling
    assert_int_equal(read_missing(5, 2, 6, 2, 4), -EPROTO);           // one chunk twice
    assert_int_equal(read_missing(5, 2, 7, 2, 4), -EPROTO);           // touching
    assert_int_equal(read_missing(0, 0, 3, 1, 1), -EPROTO);           // nothing
    assert_int_equal(read_missing(0, 1, 3, UINT32_MAX, 0), -EPROTO);
    assert_int_equal(read_missing(UINT32_MAX, 1, 0, 1, 2), -EPROTO);
    assert_int_equal(read_missing(0, UINT32_MAX, 1, 1, 0), -EPROTO);
    assert_int_equal(read_missing(0, 2, 3, 1, 4), -EPROTO); // others than are missing
}

static void at_random(void **state)
{
    (void)state;
    uint32_t seed = 4711;
    for (int turn = 0; turn < 20000; turn++) {
        uint16_t kind = (uint16_t)(1 + turn % (CO_SAY_END - 1));
        fill(kind);
        size_t bytes = co_coordination_write(body, &message);
        for (int i = 0; i < 3 && bytes > 0; i++) {
            seed = seed * 1664525 + 1013904223;
            body[(seed >> 8) % (bytes < 100 ? bytes : 100)] ^= (uint8_t)(1 << (seed >> 29));
        }
        if (read_as(kind, bytes) == 0) {
            static uint8_t again[CO_COORDINATION_BODY_MAX];
            assert_int_equal(co_coordination_write(again, &back), bytes);
            assert_memory_equal(again, body, bytes);
        }
        turn += bytes > 1000 ? 10 : 0;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),         cmocka_unit_test(golden_bytes),
        cmocka_unit_test(nonsense_is_refused),    cmocka_unit_test(leases_that_cannot_be),
        cmocka_unit_test(set_ups_that_cannot_be), cmocka_unit_test(rounds_that_cannot_be),
        cmocka_unit_test(ranges_that_cannot_be),  cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
