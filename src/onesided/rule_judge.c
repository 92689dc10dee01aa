// SPDX-License-Identifier: BSD-3-Clause
//
// What a rule lets through. A receiver that gets a rewritten packet cannot tell it from one of its peer, so here is the
// only place that keeps what is not the sender's, or not meant for the registered memory, from being written. Packets
// in the middle of a message have neither key nor address: they pass only right behind the one before. Hot.
#include "onesided/rule_table.h"

const char *co_rule_verdict_name(enum co_rule_verdict verdict)
{
    static const char *const names[CO_RULE_VERDICTS] = {"passed", "damaged", "foreign", "opcode", "range", "sequence"};
    return names[verdict];
}

void co_rule_count(struct co_rule *rule, enum co_rule_verdict verdict)
{
    rule->packets[verdict]++;
}

// After the start of a write: is all of it inside the registered memory?
static enum co_rule_verdict judge_start(struct co_rule *rule, const struct co_roce *packet)
{
    const struct co_rule_config *config = &rule->config;
    if (packet->rkey != config->key) {
        return CO_RULE_FOREIGN;
    }
    rule->is_in_message = false; // it is the sender's, so the message before has come to an end, however
    if (packet->address > config->bytes || packet->message_bytes > config->bytes - packet->address) {
        return CO_RULE_RANGE;
    }
    rule->message_left = packet->message_bytes;
    return CO_RULE_PASSED;
}

static enum co_rule_verdict judge_payload(struct co_rule *rule, const struct co_roce *packet)
{
    uint32_t data = (uint32_t)packet->payload_bytes - packet->pad_bytes;
    bool ends = co_roce_ends(packet->opcode);
    // The last one brings exactly what is left, one before leaves something.
    bool fits = ends ? data == rule->message_left : data > 0 && data < rule->message_left;
    rule->is_in_message = fits && !ends;
    rule->message_left -= fits ? data : 0;
    rule->next_psn = (packet->psn + 1) & CO_ROCE_PSN_MASK;
    return fits ? CO_RULE_PASSED : CO_RULE_RANGE;
}

static enum co_rule_verdict judge(struct co_rule *rule, const struct co_roce *packet)
{
    if (packet->source_ip != rule->config.sender_ip) {
        return CO_RULE_FOREIGN;
    }
    if (!co_roce_is_write(packet->opcode)) {
        return CO_RULE_OPCODE;
    }
    if (co_roce_starts(packet->opcode)) {
        enum co_rule_verdict verdict = judge_start(rule, packet);
        return verdict == CO_RULE_PASSED ? judge_payload(rule, packet) : verdict;
    }
    if (!rule->is_in_message || packet->psn != rule->next_psn) {
        return CO_RULE_SEQUENCE;
    }
    return judge_payload(rule, packet);
}

enum co_rule_verdict co_rule_judge(struct co_rule *rule, const struct co_roce *packet)
{
    enum co_rule_verdict verdict = judge(rule, packet);
    co_rule_count(rule, verdict);
    if (verdict == CO_RULE_PASSED) {
        rule->bytes_in += packet->frame_bytes;
    }
    return verdict;
}
