// SPDX-License-Identifier: BSD-3-Clause
//
// The hop without sockets: multiplication with every byte of the copies, learning, flooding, what is dropped and
// counted, NIC mode, loss on purpose; and that a copy is taken for a native packet by the rules of a receiver.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "onesided/hop.h"
#include "roce_frames.h"

enum { PORTS = 4, RECEIVERS = 3, OUT_MAX = 16, LEASE = 1000000000, GROUP = 0xefc10001, QPN = 0x777, KEY = 0x1234 };

static struct {
    unsigned port;
    bool is_copy;
    size_t bytes;
    uint8_t frame[ROCE_FRAME_ROOM];
} out[OUT_MAX];
static unsigned out_count;

static const uint8_t SENDER_MAC[6] = {2, 0, 0, 0, 0, 1};
static const struct co_roce_target targets[RECEIVERS] = {
    {.mac = {2, 0, 0, 0, 0, 2}, .ip = 0x0a000002, .qpn = 0x12, .psn_offset = 1, .rkey = 0x22, .address = 0x10000},
    {.mac = {2, 0, 0, 0, 0, 3},
     .ip = 0x0a000003,
     .qpn = 0x13,
     .psn_offset = 0xffffff,
     .rkey = 0x23,
     .address = 0x20000},
    {.mac = {2, 0, 0, 0, 0, 4}, .ip = 0x0a000004, .qpn = 0x14, .psn_offset = 0, .rkey = 0x24, .address = 0x30000},
};

static void forwarded(void *context, unsigned port)
{
    (void)context;
    assert_true(out_count < OUT_MAX);
    out[out_count].port = port;
    out[out_count].is_copy = false;
    out_count++;
}

static void copied(void *context, unsigned port, const struct co_hop_copy *copy)
{
    (void)context;
    assert_true(out_count < OUT_MAX);
    out[out_count].port = port;
    out[out_count].is_copy = true;
    out[out_count].bytes = copy->head_bytes + copy->payload_bytes + CO_ROCE_ICRC_BYTES;
    memcpy(out[out_count].frame, copy->head, copy->head_bytes);
    memcpy(out[out_count].frame + copy->head_bytes, copy->payload, copy->payload_bytes);
    memcpy(out[out_count].frame + copy->head_bytes + copy->payload_bytes, copy->icrc, CO_ROCE_ICRC_BYTES);
    out_count++;
}

static struct co_hop *hop_of(enum co_hop_mode mode, double loss, uint64_t seed)
{
    struct co_hop_config config = {
        .mode = mode, .ports = mode == CO_HOP_NIC ? 2 : PORTS, .rules = 4, .actions = 8, .loss = loss, .seed = seed};
    struct co_hop_output output = {.forward = forwarded, .copy = copied};
    struct co_hop *hop;
    assert_int_equal(co_hop_open(&hop, &config, &output), 0);
    return hop;
}

static int install(struct co_hop *hop, uint32_t actions)
{
    char why[160];
    struct co_rule_config config = {.id = 1,
                                    .group_ip = GROUP,
                                    .sender_ip = 0x0a000001,
                                    .qpn = QPN,
                                    .key = KEY,
                                    .bytes = 1 << 20,
                                    .action_count = actions,
                                    .targets = targets};
    return co_hop_install(hop, &config, 0, LEASE, why, sizeof why);
}

static struct roce_frame_spec spec_of(uint8_t opcode, uint32_t psn)
{
    struct roce_frame_spec spec = {.destination = {1, 0, 0x5e, 0x41, 0, 1},
                                   .source_ip = 0x0a000001,
                                   .destination_ip = GROUP,
                                   .qpn = QPN,
                                   .psn = psn,
                                   .rkey = KEY,
                                   .message_bytes = 2048,
                                   .immediate = 99,
                                   .opcode = opcode,
                                   .address = 0x4000,
                                   .payload_bytes = 1024};
    memcpy(spec.source, SENDER_MAC, 6);
    return spec;
}

static void take(struct co_hop *hop, unsigned port, const uint8_t *frame, size_t bytes, uint64_t now)
{
    struct co_hop_frame what = {.data = frame, .bytes = bytes, .port = port};
    out_count = 0;
    co_hop_take(hop, &what, now);
}

static void take_spec(struct co_hop *hop, unsigned port, const struct roce_frame_spec *spec)
{
    uint8_t frame[ROCE_FRAME_ROOM];
    size_t bytes = roce_frame_make(frame, spec);
    take(hop, port, frame, bytes, 0);
}

// Anything else than RoCE.
static void take_other(struct co_hop *hop, unsigned port, const uint8_t to[6], const uint8_t from[6], uint64_t now)
{
    uint8_t frame[60] = {0};
    memcpy(frame, to, 6);
    memcpy(frame + 6, from, 6);
    frame[12] = 8, frame[13] = 6;
    take(hop, port, frame, sizeof frame, now);
}

static void expect_copy(unsigned i, unsigned port, const struct roce_frame_spec *sent,
                        const struct co_roce_target *target)
{
    uint8_t wanted[ROCE_FRAME_ROOM];
    struct roce_frame_spec spec = *sent;
    memcpy(spec.destination, target->mac, 6);
    spec.destination_ip = target->ip;
    spec.qpn = target->qpn;
    spec.rkey = target->rkey;
    spec.address += target->address;
    size_t bytes = roce_frame_make(wanted, &spec);
    uint32_t psn = (sent->psn + target->psn_offset) & CO_ROCE_PSN_MASK; // the payload's pattern is the sender's PSN's
    wanted[51] = (uint8_t)(psn >> 16), wanted[52] = (uint8_t)(psn >> 8), wanted[53] = (uint8_t)psn;
    roce_frame_seal(wanted, bytes);
    assert_true(i < out_count && out[i].is_copy);
    assert_int_equal(out[i].port, port);
    assert_int_equal(out[i].bytes, bytes);
    assert_memory_equal(out[i].frame, wanted, bytes);
}

static void one_becomes_three(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, 0, 0);
    static const uint8_t opcodes[] = {CO_ROCE_WRITE_FIRST, CO_ROCE_WRITE_LAST_IMMEDIATE};
    assert_int_equal(install(hop, RECEIVERS), 0);
    for (unsigned i = 0; i < RECEIVERS; i++) { // so that it knows where they are
        take_other(hop, i + 1, SENDER_MAC, targets[i].mac, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        struct roce_frame_spec spec = spec_of(opcodes[i], 0xffffff + i);
        spec.psn &= 0xffffff;
        take_spec(hop, 0, &spec);
        assert_int_equal(out_count, RECEIVERS);
        for (unsigned k = 0; k < RECEIVERS; k++) {
            expect_copy(k, k + 1, &spec, &targets[k]);
        }
    }
    const struct co_hop_totals *totals = co_hop_totals(hop);
    assert_int_equal(totals->group_packets, 2);
    assert_int_equal(totals->copies, 6);
    assert_int_equal(co_rule_table_rule(co_hop_table(hop), 0)->actions[2].packets, 2);
    co_hop_close(hop);
}

// A receiver that has not been heard: its copies go everywhere but back. Then it is heard on the sender's own port.
static void copies_for_the_unknown(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, 0, 0);
    struct roce_frame_spec spec = spec_of(CO_ROCE_WRITE_ONLY, 0);
    spec.message_bytes = 1024;
    assert_int_equal(install(hop, 1), 0);
    take_spec(hop, 2, &spec);
    assert_int_equal(out_count, 3);
    expect_copy(0, 0, &spec, &targets[0]);
    expect_copy(2, 3, &spec, &targets[0]);
    assert_int_equal(co_hop_totals(hop)->copies, 1);
    take_other(hop, 2, SENDER_MAC, targets[0].mac, 0);
    take_spec(hop, 2, &spec);
    assert_int_equal(out_count, 1);
    expect_copy(0, 2, &spec, &targets[0]);
    co_hop_close(hop);
}

static void a_learning_switch(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, 0, 0);
    static const uint8_t a[6] = {2, 1}, b[6] = {2, 2}, all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    take_other(hop, 0, b, a, 0);
    assert_int_equal(out_count, 3); // flooded, but for where it came from
    assert_int_equal(out[0].port, 1);
    take_other(hop, 1, a, b, 0);
    assert_int_equal(out_count, 1);
    assert_int_equal(out[0].port, 0);
    assert_false(out[0].is_copy);
    take_other(hop, 2, a, all, 0); // a group address as a source is nobody's
    take_other(hop, 0, all, a, 0);
    assert_int_equal(out_count, 3);
    take_other(hop, 0, a, b, 0); // both on one port now
    assert_int_equal(out_count, 0);
    take_other(hop, 3, b, a, 0); // a has moved
    take_other(hop, 0, a, b, 0);
    assert_int_equal(out[0].port, 3);
    assert_int_equal(co_hop_addresses(hop), 2);
    co_hop_tick(hop, UINT64_C(301) * 1000000000);
    assert_int_equal(co_hop_addresses(hop), 0);
    take_other(hop, 0, a, b, UINT64_C(301) * 1000000000);
    assert_int_equal(out_count, 3);
    co_hop_close(hop);
}

static void what_is_dropped(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, 0, 0);
    struct roce_frame_spec spec = spec_of(CO_ROCE_WRITE_ONLY, 0);
    uint8_t frame[ROCE_FRAME_ROOM];
    spec.message_bytes = 1024;
    assert_int_equal(install(hop, 1), 0);
    size_t bytes = roce_frame_make(frame, &spec);
    frame[100] ^= 1;
    take(hop, 0, frame, bytes, 0);
    assert_int_equal(out_count, 0);
    frame[100] ^= 1;
    frame[24] ^= 1; // checksum of IPv4
    take(hop, 0, frame, bytes, 0);
    assert_int_equal(out_count, 0);
    spec.rkey++;
    take_spec(hop, 0, &spec);
    assert_int_equal(out_count, 0);
    take(hop, 0, frame, 13, 0);
    assert_int_equal(out_count, 0);
    const struct co_rule *rule = co_rule_table_rule(co_hop_table(hop), 0);
    assert_int_equal(rule->packets[CO_RULE_DAMAGED], 1);
    assert_int_equal(rule->packets[CO_RULE_FOREIGN], 1);
    assert_int_equal(rule->packets[CO_RULE_PASSED], 0);
    assert_int_equal(co_hop_totals(hop)->malformed, 1);
    assert_int_equal(co_hop_totals(hop)->group_packets, 2);
    co_hop_close(hop);
}

// Without a rule RoCE is like anything else, also with a wrong ICRC: it is none of the hop's business.
static void what_no_rule_matches_passes(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, 0, 0);
    struct roce_frame_spec spec = spec_of(CO_ROCE_WRITE_ONLY, 0);
    uint8_t frame[ROCE_FRAME_ROOM];
    spec.message_bytes = 1024;
    assert_int_equal(install(hop, RECEIVERS), 0);
    spec.qpn++;
    size_t bytes = roce_frame_make(frame, &spec);
    frame[100] ^= 1;
    take(hop, 0, frame, bytes, 0);
    assert_int_equal(out_count, 3);
    assert_false(out[0].is_copy);
    assert_int_equal(co_hop_totals(hop)->unmatched, 1);
    spec.qpn--;
    take_spec(hop, 0, &spec);
    assert_true(out_count > 0 && out[0].is_copy);
    bytes = roce_frame_make(frame, &spec);
    struct co_hop_frame tagged = {.data = frame, .bytes = bytes, .port = 0, .has_vlan = true, .vlan = 5};
    out_count = 0;
    co_hop_take(hop, &tagged, 0);
    assert_int_equal(out_count, 3);
    assert_false(out[0].is_copy);
    co_hop_tick(hop, LEASE);
    take_spec(hop, 0, &spec);
    assert_int_equal(out_count, 3);
    assert_false(out[0].is_copy);
    assert_int_equal(co_hop_totals(hop)->expired, 1);
    co_hop_close(hop);
}

static void between_wire_and_device(void **state)
{
    (void)state;
    struct co_hop *hop = hop_of(CO_HOP_NIC, 0, 0);
    struct roce_frame_spec spec = spec_of(CO_ROCE_WRITE_ONLY, 0);
    spec.message_bytes = 1024;
    assert_int_equal(install(hop, 2), -EINVAL);
    assert_int_equal(install(hop, 1), 0);
    take_spec(hop, CO_HOP_DEVICE, &spec); // this host sends to a group itself
    assert_int_equal(out_count, 1);
    assert_int_equal(out[0].port, CO_HOP_WIRE);
    assert_false(out[0].is_copy);
    take_spec(hop, CO_HOP_WIRE, &spec);
    assert_int_equal(out_count, 1);
    expect_copy(0, CO_HOP_DEVICE, &spec, &targets[0]);
    static const uint8_t a[6] = {2, 1}, b[6] = {2, 2};
    take_other(hop, CO_HOP_WIRE, b, a, 0);
    take_other(hop, CO_HOP_WIRE, a, b, 0); // whatever it might have learned
    assert_int_equal(out_count, 1);
    assert_int_equal(out[0].port, CO_HOP_DEVICE);
    co_hop_close(hop);
}

static unsigned lost_with(double loss, uint64_t seed)
{
    struct co_hop *hop = hop_of(CO_HOP_SWITCH, loss, seed);
    assert_int_equal(install(hop, RECEIVERS), 0);
    struct roce_frame_spec spec = spec_of(CO_ROCE_WRITE_ONLY, 0);
    spec.message_bytes = spec.payload_bytes = 16;
    for (int i = 0; i < 2000; i++) {
        take_spec(hop, 0, &spec);
    }
    unsigned lost = (unsigned)co_hop_totals(hop)->lost_on_purpose;
    assert_int_equal(co_hop_totals(hop)->copies + lost, 2000 * RECEIVERS);
    co_hop_close(hop);
    return lost;
}

static void loss_on_purpose(void **state)
{
    (void)state;
    unsigned lost = lost_with(0.1, 5);
    assert_in_range(lost, 500, 700);
    assert_int_equal(lost_with(0.1, 5), lost);
    assert_int_equal(lost_with(0, 5), 0);
    assert_int_equal(lost_with(1, 5), 2000 * RECEIVERS);
}

static void configs_without_sense(void **state)
{
    (void)state;
    struct co_hop *hop;
    struct co_hop_output output = {.forward = forwarded, .copy = copied};
    struct co_hop_config configs[] = {{.ports = 1, .rules = 1, .actions = 1},
                                      {.ports = 65, .rules = 1, .actions = 1},
                                      {.ports = 3, .rules = 1, .actions = 1, .mode = CO_HOP_NIC},
                                      {.ports = 2, .rules = 0, .actions = 1},
                                      {.ports = 2, .rules = 1, .actions = 1, .loss = 1.5}};
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++) {
        assert_int_equal(co_hop_open(&hop, &configs[i], &output), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_becomes_three),
        cmocka_unit_test(copies_for_the_unknown),
        cmocka_unit_test(a_learning_switch),
        cmocka_unit_test(what_is_dropped),
        cmocka_unit_test(what_no_rule_matches_passes),
        cmocka_unit_test(between_wire_and_device),
        cmocka_unit_test(loss_on_purpose),
        cmocka_unit_test(configs_without_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
