// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of the control connections; see the header. A cursor goes over the fields of a message and either writes or
// reads them. What is read is checked for sense as far as one message allows: counts, names, enumerations.
#include "onesided/control_wire.h"

#include <errno.h>
#include <string.h>

struct cursor {
    uint8_t *out; // NULL: reading
    const uint8_t *in;
    size_t at, end;
    bool is_wrong; // read behind the end, or nonsense
};

static void pass_bytes(struct cursor *cursor, void *bytes, size_t count)
{
    if (cursor->is_wrong || cursor->end - cursor->at < count) {
        cursor->is_wrong = true;
    } else if (cursor->out != NULL) {
        memcpy(cursor->out + cursor->at, bytes, count);
        cursor->at += count;
    } else {
        memcpy(bytes, cursor->in + cursor->at, count);
        cursor->at += count;
    }
}

static uint64_t pass_number(struct cursor *cursor, uint64_t value, size_t count)
{
    uint8_t bytes[8] = {0};
    for (size_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
    pass_bytes(cursor, bytes, count);
    value = 0;
    for (size_t i = count; i-- > 0;) {
        value = value << 8 | bytes[i];
    }
    return cursor->is_wrong ? 0 : value;
}

static void pass_8(struct cursor *cursor, uint8_t *value)
{
    *value = (uint8_t)pass_number(cursor, *value, 1);
}

static void pass_16(struct cursor *cursor, uint16_t *value)
{
    *value = (uint16_t)pass_number(cursor, *value, 2);
}

static void pass_32(struct cursor *cursor, uint32_t *value)
{
    *value = (uint32_t)pass_number(cursor, *value, 4);
}

static void pass_64(struct cursor *cursor, uint64_t *value)
{
    *value = pass_number(cursor, *value, 8);
}

static void need(struct cursor *cursor, bool holds)
{
    cursor->is_wrong = cursor->is_wrong || !holds;
}

// Text that goes to terminals and logs: printable ASCII.
static void pass_text(struct cursor *cursor, char *text, size_t room)
{
    uint8_t length = (uint8_t)strnlen(text, cursor->out != NULL ? room - 1 : 0);
    pass_8(cursor, &length);
    need(cursor, length < room);
    if (cursor->is_wrong) {
        return;
    }
    pass_bytes(cursor, text, length);
    if (cursor->out == NULL) {
        text[cursor->is_wrong ? 0 : length] = '\0';
    }
    for (size_t i = 0; i < length && !cursor->is_wrong; i++) {
        need(cursor, text[i] >= ' ' && text[i] <= '~');
    }
}

bool co_coordination_name_is_good(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < CO_COORDINATION_NAME_MAX &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == length;
}

static void pass_name(struct cursor *cursor, char name[CO_COORDINATION_NAME_MAX])
{
    pass_text(cursor, name, CO_COORDINATION_NAME_MAX);
    need(cursor, cursor->is_wrong || co_coordination_name_is_good(name));
}

static bool mtu_is_good(uint32_t mtu)
{
    return mtu >= 256 && mtu <= 4096 && (mtu & (mtu - 1)) == 0;
}

static void pass_count(struct cursor *cursor, uint32_t *count, uint32_t most)
{
    pass_32(cursor, count);
    need(cursor, *count <= most);
    *count = cursor->is_wrong ? 0 : *count;
}

static void pass_login(struct cursor *cursor, struct co_coordination_login *login)
{
    pass_8(cursor, &login->role);
    pass_name(cursor, login->name);
    pass_8(cursor, &login->mode);
    pass_32(cursor, &login->rules);
    pass_32(cursor, &login->actions);
    pass_32(cursor, &login->serves_ip);
    need(cursor, login->role >= CO_ROLE_HOP && login->role < CO_ROLE_END && login->mode <= CO_HOP_NIC);
}

static void pass_answer(struct cursor *cursor, struct co_coordination_answer *answer)
{
    pass_32(cursor, &answer->request);
    pass_8(cursor, &answer->reason);
    pass_text(cursor, answer->text, sizeof answer->text);
    need(cursor, answer->reason < CO_REASON_END);
}

static void pass_rule(struct cursor *cursor, struct co_coordination_rule *rule)
{
    struct co_rule_config *config = &rule->config;
    pass_32(cursor, &rule->request);
    pass_64(cursor, &config->id);
    pass_32(cursor, &config->group_ip);
    pass_32(cursor, &config->sender_ip);
    pass_32(cursor, &config->qpn);
    pass_32(cursor, &config->key);
    pass_64(cursor, &config->bytes);
    pass_count(cursor, &config->action_count, CO_RULE_ACTIONS_MAX);
    for (uint32_t i = 0; i < config->action_count; i++) {
        struct co_roce_target *target = &rule->targets[i];
        pass_bytes(cursor, target->mac, sizeof target->mac);
        pass_32(cursor, &target->ip);
        pass_32(cursor, &target->qpn);
        pass_32(cursor, &target->psn_offset);
        pass_32(cursor, &target->rkey);
        pass_64(cursor, &target->address);
    }
    config->targets = rule->targets;
}

static void pass_removal(struct cursor *cursor, struct co_coordination_removal *removal)
{
    pass_32(cursor, &removal->request);
    pass_64(cursor, &removal->id);
}

static void pass_hop_report(struct cursor *cursor, struct co_coordination_hop_report *report)
{
    struct co_hop_totals *totals = &report->totals;
    pass_32(cursor, &report->number);
    uint64_t *const fields[] = {
        &totals->frames,  &totals->bytes,      &totals->forwarded, &totals->flooded,   &totals->group_packets,
        &totals->copies,  &totals->copy_bytes, &totals->malformed, &totals->unmatched, &totals->lost_on_purpose,
        &totals->expired, &report->unsent,     &report->overruns};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        pass_64(cursor, fields[i]);
    }
    pass_count(cursor, &report->rule_count, CO_COORDINATION_RULES_MAX);
    for (uint32_t i = 0; i < report->rule_count; i++) {
        struct co_coordination_hop_rule *rule = &report->rules[i];
        pass_64(cursor, &rule->id);
        for (int k = 0; k < CO_RULE_VERDICTS; k++) {
            pass_64(cursor, &rule->packets[k]);
        }
        pass_64(cursor, &rule->copies);
    }
}

static void pass_open(struct cursor *cursor, struct co_coordination_open *open)
{
    struct co_coordination_end *end = &open->end;
    pass_name(cursor, open->group);
    pass_name(cursor, open->name);
    pass_64(cursor, &open->bytes);
    pass_32(cursor, &open->members);
    pass_32(cursor, &open->patience_ms);
    pass_bytes(cursor, end->mac, sizeof end->mac);
    pass_32(cursor, &end->ip);
    pass_32(cursor, &end->psn);
    pass_32(cursor, &end->mtu);
    pass_32(cursor, &end->qpn);
    pass_32(cursor, &end->rkey);
    pass_64(cursor, &end->address);
    need(cursor, end->psn <= CO_ROCE_PSN_MASK && end->qpn <= CO_ROCE_PSN_MASK);
    need(cursor, mtu_is_good(end->mtu));
}

static void pass_setup(struct cursor *cursor, struct co_coordination_setup *setup)
{
    pass_32(cursor, &setup->ip);
    pass_32(cursor, &setup->psn);
    pass_32(cursor, &setup->qpn);
    pass_32(cursor, &setup->key);
    pass_32(cursor, &setup->mtu);
    pass_32(cursor, &setup->members);
    pass_64(cursor, &setup->bytes);
    need(cursor, setup->psn <= CO_ROCE_PSN_MASK && setup->qpn <= CO_ROCE_PSN_MASK && mtu_is_good(setup->mtu));
    need(cursor, setup->members > 0 && setup->members <= CO_RULE_ACTIONS_MAX);
    need(cursor, setup->bytes > 0 && setup->bytes <= CO_TRANSFER_BYTES_MAX);
}

static void pass_round(struct cursor *cursor, struct co_coordination_round *round)
{
    pass_32(cursor, &round->transfer);
    pass_32(cursor, &round->round);
    pass_32(cursor, &round->chunk_bytes);
    pass_32(cursor, &round->chunks);
    need(cursor, round->chunk_bytes > 0 && round->chunk_bytes <= CO_TRANSFER_CHUNK_BYTES_MAX);
    need(cursor, round->chunks > 0 && round->chunks <= CO_TRANSFER_CHUNKS_MAX);
}

// Rising, not touching each other, inside of the most chunks that there are, and just those that are missing.
static void pass_missing(struct cursor *cursor, struct co_coordination_missing *missing)
{
    pass_name(cursor, missing->name);
    pass_32(cursor, &missing->transfer);
    pass_32(cursor, &missing->round);
    pass_32(cursor, &missing->missing);
    pass_count(cursor, &missing->range_count, CO_COORDINATION_RANGES_MAX);
    uint32_t least = 0, sum = 0;
    for (uint32_t i = 0; i < missing->range_count && !cursor->is_wrong; i++) {
        struct co_coordination_range *range = &missing->ranges[i];
        pass_32(cursor, &range->first);
        pass_32(cursor, &range->count);
        need(cursor, range->first >= least && range->first < CO_TRANSFER_CHUNKS_MAX);
        need(cursor, range->count > 0 && range->count <= CO_TRANSFER_CHUNKS_MAX - range->first);
        least = range->first + range->count + 1;
        sum += range->count;
    }
    need(cursor, missing->missing == sum);
}

static void pass_status(struct cursor *cursor, struct co_coordination_status *status)
{
    uint8_t is_last = cursor->out != NULL && status->is_last; // reading: there is none yet
    pass_8(cursor, &is_last);
    pass_16(cursor, &status->bytes);
    need(cursor, is_last <= 1 && status->bytes < CO_COORDINATION_STATUS_MAX);
    status->is_last = is_last == 1;
    if (cursor->is_wrong) {
        return;
    }
    pass_bytes(cursor, status->text, status->bytes);
    status->text[status->bytes] = '\0';
    for (uint16_t i = 0; i < status->bytes && !cursor->is_wrong; i++) {
        char sign = status->text[i];
        need(cursor, (sign >= ' ' && sign <= '~') || sign == '\n');
    }
}

static void pass(struct cursor *cursor, struct co_coordination_message *message)
{
    switch (message->kind) {
    case CO_SAY_WELCOME:
        pass_32(cursor, &message->lease_ms);
        need(cursor,
             message->lease_ms >= CO_COORDINATION_LEASE_MS_MIN && message->lease_ms <= CO_COORDINATION_LEASE_MS_MAX);
        break;
    case CO_SAY_LOGIN:
        pass_login(cursor, &message->login);
        break;
    case CO_SAY_DONE:
    case CO_SAY_REFUSED:
    case CO_SAY_ENDED:
        pass_answer(cursor, &message->answer);
        break;
    case CO_SAY_HEARTBEAT:
        pass_32(cursor, &message->number);
        break;
    case CO_SAY_READY:
    case CO_SAY_CLOSE:
    case CO_SAY_STATUS:
        break;
    case CO_SAY_RULE_SET:
        pass_rule(cursor, &message->rule);
        break;
    case CO_SAY_RULE_REMOVE:
        pass_removal(cursor, &message->removal);
        break;
    case CO_SAY_HOP_REPORT:
        pass_hop_report(cursor, &message->report);
        break;
    case CO_SAY_OPEN_SENDER:
    case CO_SAY_OPEN_MEMBER:
        pass_open(cursor, &message->open);
        break;
    case CO_SAY_SETUP:
    case CO_SAY_GO:
        pass_setup(cursor, &message->setup);
        break;
    case CO_SAY_ROUND:
        pass_round(cursor, &message->round);
        break;
    case CO_SAY_MISSING:
        pass_missing(cursor, &message->missing);
        break;
    case CO_SAY_MEMBER_LOST:
        pass_name(cursor, message->name);
        break;
    case CO_SAY_STATUS_TEXT:
        pass_status(cursor, &message->status);
        break;
    default:
        cursor->is_wrong = true;
    }
}

size_t co_coordination_write(uint8_t body[CO_COORDINATION_BODY_MAX], struct co_coordination_message *message)
{
    struct cursor cursor = {.out = body, .end = CO_COORDINATION_BODY_MAX};
    pass(&cursor, message);
    return cursor.at;
}

int co_coordination_read(struct co_coordination_message *out, const uint8_t *body, size_t bytes)
{
    struct cursor cursor = {.in = body, .end = bytes};
    pass(&cursor, out);
    return cursor.is_wrong || cursor.at != bytes ? -EPROTO : 0;
}
