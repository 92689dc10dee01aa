// SPDX-License-Identifier: BSD-3-Clause
//
// What the hop does with a frame; see the header.
#include "onesided/hop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onesided/forwarding.h"
#include "onesided/roce_icrc.h"

struct co_hop {
    struct co_hop_config config;
    struct co_hop_output output;
    struct co_hop_totals totals;
    struct co_rule_table *table;
    struct co_forwarding *forwarding;
    struct co_roce_icrc icrc;
    uint64_t chance;     // state of the generator behind `loss`
    uint64_t lose_below; // of 2^32
};

static int check_config(const struct co_hop_config *config)
{
    bool has_ports = config->mode == CO_HOP_NIC ? config->ports == CO_HOP_NIC_PORTS
                                                : config->ports >= 2 && config->ports <= CO_HOP_PORTS_MAX;
    return has_ports && config->loss >= 0 && config->loss <= 1 ? 0 : -EINVAL;
}

int co_hop_open(struct co_hop **out, const struct co_hop_config *config, const struct co_hop_output *output)
{
    if (check_config(config) != 0) {
        return -EINVAL;
    }
    struct co_hop *hop = calloc(1, sizeof *hop);
    if (hop == NULL) {
        return -ENOMEM;
    }
    hop->config = *config;
    hop->output = *output;
    hop->chance = config->seed;
    hop->lose_below = (uint64_t)(config->loss * 4294967296.0);
    int error = co_rule_table_open(&hop->table, config->rules, config->actions);
    error = error != 0 ? error : co_forwarding_open(&hop->forwarding);
    if (error != 0) {
        co_hop_close(hop);
        return error;
    }
    *out = hop;
    return 0;
}

void co_hop_close(struct co_hop *hop)
{
    if (hop != NULL) {
        co_rule_table_close(hop->table);
        co_forwarding_close(hop->forwarding);
        free(hop);
    }
}

static void forward(struct co_hop *hop, const struct co_hop_frame *frame, uint64_t now_ns)
{
    int port = co_forwarding_find(hop->forwarding, frame->data, frame->vlan, now_ns);
    if (hop->config.mode == CO_HOP_NIC) {
        port = frame->port == CO_HOP_WIRE ? CO_HOP_DEVICE : CO_HOP_WIRE;
    }
    if (port >= 0) {
        if ((unsigned)port != frame->port) { // a neighbour on the same port has heard it already
            hop->totals.forwarded++;
            hop->output.forward(hop->output.context, (unsigned)port);
        }
        return;
    }
    hop->totals.flooded++;
    for (unsigned i = 0; i < hop->config.ports; i++) {
        if (i != frame->port) {
            hop->totals.forwarded++;
            hop->output.forward(hop->output.context, i);
        }
    }
}

// SplitMix64: a step and a mix.
static bool is_lost_on_purpose(struct co_hop *hop)
{
    if (hop->lose_below == 0) {
        return false;
    }
    uint64_t mixed = hop->chance += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    if ((mixed ^ mixed >> 31) >> 32 >= hop->lose_below) {
        return false;
    }
    hop->totals.lost_on_purpose++;
    return true;
}

// To where its receiver is, or, as long as nobody knows, to all but the sender's port.
static void send_copy(struct co_hop *hop, const struct co_hop_frame *frame, const struct co_hop_copy *copy,
                      uint64_t now_ns)
{
    int port =
        hop->config.mode == CO_HOP_NIC ? CO_HOP_DEVICE : co_forwarding_find(hop->forwarding, copy->head, 0, now_ns);
    for (unsigned i = 0; port < 0 && i < hop->config.ports; i++) {
        if (i != frame->port) {
            hop->output.copy(hop->output.context, i, copy);
        }
    }
    if (port >= 0) {
        hop->output.copy(hop->output.context, (unsigned)port, copy);
    }
}

static void multiply(struct co_hop *hop, struct co_rule *rule, const struct co_hop_frame *frame,
                     const struct co_roce *packet, uint64_t now_ns)
{
    uint8_t head[CO_ROCE_HEAD_MAX], icrc[CO_ROCE_ICRC_BYTES];
    struct co_hop_copy copy = {.head = head,
                               .payload = frame->data + packet->payload_at,
                               .icrc = icrc,
                               .head_bytes = packet->payload_at,
                               .payload_bytes = packet->payload_bytes};
    for (uint32_t i = 0; i < rule->config.action_count; i++) {
        struct co_rule_action *action = &rule->actions[i];
        if (is_lost_on_purpose(hop)) {
            continue;
        }
        memcpy(head, frame->data, packet->payload_at);
        co_roce_rewrite(head, packet, &action->target);
        co_roce_icrc_write(&hop->icrc, head, packet->payload_at, icrc);
        send_copy(hop, frame, &copy, now_ns);
        action->packets++;
        action->bytes += packet->frame_bytes;
        hop->totals.copies++;
        hop->totals.copy_bytes += packet->frame_bytes;
    }
}

static void take_group_packet(struct co_hop *hop, struct co_rule *rule, const struct co_hop_frame *frame,
                              const struct co_roce *packet, uint64_t now_ns)
{
    hop->totals.group_packets++;
    co_roce_icrc_read(&hop->icrc, frame->data, packet);
    if (!co_roce_icrc_holds(&hop->icrc, frame->data, packet)) {
        // Copies would get a right one, and the damage would be written.
        co_rule_count(rule, CO_RULE_DAMAGED);
    } else if (co_rule_judge(rule, packet) == CO_RULE_PASSED) {
        multiply(hop, rule, frame, packet, now_ns);
    }
}

// True when the frame has found its end here.
static bool take_roce(struct co_hop *hop, const struct co_hop_frame *frame, uint64_t now_ns)
{
    struct co_roce packet;
    enum co_roce_kind kind = co_roce_parse(&packet, frame->data, frame->bytes);
    if (kind != CO_ROCE_PACKET) {
        hop->totals.malformed += kind == CO_ROCE_MALFORMED;
        return kind == CO_ROCE_MALFORMED;
    }
    // What the device behind a NIC sends to a group is on its way out.
    bool is_outbound = hop->config.mode == CO_HOP_NIC && frame->port == CO_HOP_DEVICE;
    struct co_rule *rule = is_outbound ? NULL : co_rule_table_find(hop->table, packet.destination_ip, packet.qpn);
    if (rule == NULL) {
        hop->totals.unmatched += packet.destination_ip >> 28 == 0xe && !is_outbound;
        return false;
    }
    take_group_packet(hop, rule, frame, &packet, now_ns);
    return true;
}

void co_hop_take(struct co_hop *hop, const struct co_hop_frame *frame, uint64_t now_ns)
{
    if (frame->bytes < CO_ROCE_IP_AT) {
        return; // no Ethernet frame
    }
    hop->totals.frames++;
    hop->totals.bytes += frame->bytes;
    co_forwarding_learn(hop->forwarding, frame->data + CO_ROCE_MAC_BYTES, frame->vlan, (int)frame->port, now_ns);
    if (frame->has_vlan || !take_roce(hop, frame, now_ns)) {
        forward(hop, frame, now_ns);
    }
}

int co_hop_install(struct co_hop *hop, const struct co_rule_config *config, uint64_t now_ns, uint64_t lease_ns,
                   char *why, size_t why_room)
{
    if (hop->config.mode == CO_HOP_NIC && config->action_count > 1) {
        snprintf(why, why_room, "a hop in NIC mode takes one action for a rule, not %u", config->action_count);
        return -EINVAL;
    }
    return co_rule_table_install(hop->table, config, now_ns, lease_ns, why, why_room);
}

void co_hop_tick(struct co_hop *hop, uint64_t now_ns)
{
    hop->totals.expired += co_rule_table_expire(hop->table, now_ns);
    co_forwarding_age(hop->forwarding, now_ns);
}

struct co_rule_table *co_hop_table(struct co_hop *hop)
{
    return hop->table;
}

const struct co_hop_totals *co_hop_totals(const struct co_hop *hop)
{
    return &hop->totals;
}

unsigned co_hop_addresses(const struct co_hop *hop)
{
    return co_forwarding_count(hop->forwarding);
}
