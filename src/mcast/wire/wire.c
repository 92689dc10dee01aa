// SPDX-License-Identifier: BSD-3-Clause
//
// Encoding and validation of the wire format. Every field of a foreign datagram is checked here for what can be
// checked without state: version, kind, sizes that must agree. Pure, hot.
#include "mcast/wire/wire.h"

#include <endian.h>
#include <assert.h>
#include <errno.h>
#include <string.h>

struct wire_chunk {
    uint8_t version_kind, how; // how: low bit repair, above it the credit shift
    uint16_t source;
    uint32_t team, operation, psn;
    uint32_t block_low;
    uint16_t block_high, chunk_bytes; // block_high: above the block's bytes the way
} __attribute__((packed));

struct wire_control {
    uint8_t version_kind, type;
    uint16_t source;
    uint32_t team, operation;
    uint64_t sequence;
    uint16_t body_bytes, entries;
} __attribute__((packed));

struct wire_progress {
    uint32_t done_before, done_mask, lost, echo;
} __attribute__((packed));

struct wire_credit {
    uint16_t source, gaps;
    uint32_t received;
} __attribute__((packed));

struct wire_nack {
    uint16_t source;
    uint8_t why, label;
} __attribute__((packed));

struct wire_range {
    uint32_t first, count;
} __attribute__((packed));

struct wire_read_offer {
    uint16_t source;
    uint8_t way, label;
    uint32_t key;
    uint64_t address, block_bytes;
} __attribute__((packed));

struct wire_read_offer_chunk {
    uint32_t psn;
    uint8_t tag[CO_AUTH_TAG_MAX];
} __attribute__((packed));

#define CAN_READ 0x80 // in `why` of a NACK
#define WAY_SHIFT 14  // in block_high

_Static_assert(sizeof(struct wire_chunk) == CO_WIRE_HEAD_BYTES, "chunk head");
_Static_assert(offsetof(struct wire_chunk, psn) == 12, "chunk head");
_Static_assert(offsetof(struct wire_chunk, chunk_bytes) == 22, "chunk head");
_Static_assert(sizeof(struct wire_control) == CO_WIRE_HEAD_BYTES, "control head");
_Static_assert(offsetof(struct wire_control, sequence) == 12, "control head");
_Static_assert(sizeof(struct wire_progress) == 16 && sizeof(struct wire_credit) == 8, "progress body");
_Static_assert(sizeof(struct wire_nack) == 4 && sizeof(struct wire_range) == 8, "NACK body");
_Static_assert(sizeof(struct wire_read_offer) == 24 && sizeof(struct wire_read_offer_chunk) == 20, "read offer");

static uint8_t version_and_kind(enum co_wire_kind kind)
{
    return (uint8_t)(CO_WIRE_VERSION << 4 | kind);
}

int co_wire_kind(const uint8_t *data, size_t bytes)
{
    if (bytes < CO_WIRE_HEAD_BYTES || data[0] >> 4 != CO_WIRE_VERSION) {
        return -EPROTO;
    }
    int kind = data[0] & 15;
    return kind >= CO_WIRE_CHUNK && kind <= CO_WIRE_CONTRIBUTION ? kind : -EPROTO;
}

static_assert(CO_AUTH_HEAD_BYTES == CO_WIRE_HEAD_BYTES, "a tag of the head alone covers all of it");

static uint8_t how_of(const struct co_chunk *chunk)
{
    return chunk->is_repair ? (uint8_t)(chunk->label << 1 | 1) : (uint8_t)(chunk->credit_shift << 1);
}

static bool is_how_valid(const struct co_chunk *chunk)
{
    if (chunk->is_repair) {
        return chunk->label == 0 || co_wire_is_nack_label(chunk->label);
    }
    return chunk->credit_shift <= (chunk->is_contribution ? 0 : CO_WIRE_CREDIT_SHIFT_MAX);
}

void co_wire_chunk_encode(uint8_t head[CO_WIRE_HEAD_BYTES], const struct co_chunk *chunk)
{
    struct wire_chunk wire = {
        .version_kind = version_and_kind(chunk->is_contribution ? CO_WIRE_CONTRIBUTION : CO_WIRE_CHUNK),
        .how = how_of(chunk),
        .source = htole16(chunk->source),
        .team = htole32(chunk->team),
        .operation = htole32(chunk->operation),
        .psn = htole32(chunk->psn),
        .block_low = htole32((uint32_t)chunk->block_bytes),
        .block_high = htole16((uint16_t)(chunk->block_bytes >> 32 | (uint64_t)chunk->way << WAY_SHIFT)),
        .chunk_bytes = htole16(chunk->chunk_bytes),
    };
    memcpy(head, &wire, sizeof(wire));
}

int co_wire_chunk_decode(struct co_chunk *chunk, const uint8_t *data, size_t bytes)
{
    int kind = co_wire_kind(data, bytes);
    if (kind != CO_WIRE_CHUNK && kind != CO_WIRE_CONTRIBUTION) {
        return -EPROTO;
    }
    struct wire_chunk wire;
    memcpy(&wire, data, sizeof(wire));
    chunk->source = le16toh(wire.source);
    chunk->chunk_bytes = le16toh(wire.chunk_bytes);
    chunk->team = le32toh(wire.team);
    chunk->operation = le32toh(wire.operation);
    chunk->psn = le32toh(wire.psn);
    uint16_t high = le16toh(wire.block_high);
    chunk->block_bytes = (uint64_t)(high & ((1U << WAY_SHIFT) - 1)) << 32 | le32toh(wire.block_low);
    chunk->way = (uint8_t)(high >> WAY_SHIFT);
    chunk->is_contribution = kind == CO_WIRE_CONTRIBUTION;
    chunk->is_repair = wire.how & 1;
    chunk->credit_shift = chunk->is_repair ? 0 : wire.how >> 1;
    chunk->label = chunk->is_repair ? wire.how >> 1 : 0;
    if (!is_how_valid(chunk) || (chunk->is_contribution && chunk->is_repair) || chunk->chunk_bytes == 0 ||
        chunk->block_bytes == 0 || chunk->way >= CO_WAY_END) {
        return -EPROTO;
    }
    uint64_t start = (uint64_t)chunk->psn * chunk->chunk_bytes;
    if (start >= chunk->block_bytes) {
        return -EPROTO;
    }
    uint64_t rest = chunk->block_bytes - start;
    uint64_t expected = rest < chunk->chunk_bytes ? rest : chunk->chunk_bytes;
    return bytes - CO_WIRE_HEAD_BYTES == expected ? 0 : -EPROTO;
}

bool co_wire_is_first_of(const uint8_t *head, const uint8_t *other, uint32_t psn)
{
    struct wire_chunk wire, expected;
    memcpy(&wire, head, sizeof(wire));
    memcpy(&expected, other, sizeof(expected));
    expected.how = wire.how; // when credit is wanted changes from chunk to chunk
    expected.psn = htole32(psn);
    return !co_wire_is_repair(head) && wire.how >> 1 <= CO_WIRE_CREDIT_SHIFT_MAX &&
           memcmp(&wire, &expected, sizeof(wire)) == 0;
}

void co_wire_control_encode(uint8_t head[CO_WIRE_HEAD_BYTES], const struct co_control *control, size_t body_bytes)
{
    struct wire_control wire = {
        .version_kind = version_and_kind(CO_WIRE_CONTROL),
        .type = (uint8_t)control->type,
        .source = htole16(control->source),
        .team = htole32(control->team),
        .operation = htole32(control->operation),
        .sequence = htole64(control->sequence),
        .body_bytes = htole16((uint16_t)body_bytes),
        .entries = htole16(control->entries),
    };
    memcpy(head, &wire, sizeof(wire));
}

static size_t expected_body_bytes(enum co_control_type type, uint16_t entries)
{
    switch (type) {
    case CO_CONTROL_ACK:
        return sizeof(struct wire_progress) + entries * sizeof(struct wire_credit);
    case CO_CONTROL_NACK:
    case CO_CONTROL_NACK_DEFERRED:
        return sizeof(struct wire_nack) + entries * sizeof(struct wire_range);
    case CO_CONTROL_READ_OFFER:
        return co_wire_read_offer_bytes(entries);
    default:
        return 0;
    }
}

int co_wire_control_decode(struct co_control *control, const uint8_t *data, size_t bytes)
{
    if (co_wire_kind(data, bytes) != CO_WIRE_CONTROL) {
        return -EPROTO;
    }
    struct wire_control wire;
    memcpy(&wire, data, sizeof(wire));
    if (wire.type == 0 || wire.type >= CO_CONTROL_TYPE_END) {
        return -EPROTO;
    }
    control->type = wire.type;
    control->source = le16toh(wire.source);
    control->entries = le16toh(wire.entries);
    control->team = le32toh(wire.team);
    control->operation = le32toh(wire.operation);
    control->sequence = le64toh(wire.sequence);
    size_t body = le16toh(wire.body_bytes);
    bool agrees = body == bytes - CO_WIRE_HEAD_BYTES && body == expected_body_bytes(control->type, control->entries);
    return agrees ? 0 : -EPROTO;
}

size_t co_wire_ack_encode(uint8_t *to, const struct co_ack_body *body, const struct co_credit_entry *entries,
                          unsigned count)
{
    struct wire_progress wire = {htole32(body->done_before), htole32(body->done_mask), htole32(body->lost),
                                 htole32(body->echo)};
    memcpy(to, &wire, sizeof(wire));
    for (unsigned i = 0; i < count; i++) {
        struct wire_credit credit = {htole16(entries[i].source), htole16(entries[i].gaps),
                                     htole32(entries[i].received)};
        memcpy(to + sizeof(wire) + i * sizeof(credit), &credit, sizeof(credit));
    }
    return sizeof(wire) + count * sizeof(struct wire_credit);
}

void co_wire_ack_decode(struct co_ack_body *body, const uint8_t *from)
{
    struct wire_progress wire;
    memcpy(&wire, from, sizeof(wire));
    body->done_before = le32toh(wire.done_before);
    body->done_mask = le32toh(wire.done_mask);
    body->lost = le32toh(wire.lost);
    body->echo = le32toh(wire.echo);
}

void co_wire_credit_decode(struct co_credit_entry *entry, const uint8_t *from, unsigned index)
{
    struct wire_credit wire;
    memcpy(&wire, from + sizeof(struct wire_progress) + index * sizeof(wire), sizeof(wire));
    entry->source = le16toh(wire.source);
    entry->gaps = le16toh(wire.gaps);
    entry->received = le32toh(wire.received);
}

size_t co_wire_nack_encode(uint8_t *to, const struct co_nack_body *body, const struct co_nack_range *ranges,
                           unsigned count)
{
    struct wire_nack wire = {htole16(body->source), (uint8_t)(body->why | (body->can_read ? CAN_READ : 0)),
                             body->label};
    memcpy(to, &wire, sizeof(wire));
    for (unsigned i = 0; i < count; i++) {
        struct wire_range range = {htole32(ranges[i].first), htole32(ranges[i].count)};
        memcpy(to + sizeof(wire) + i * sizeof(range), &range, sizeof(range));
    }
    return sizeof(wire) + count * sizeof(struct wire_range);
}

void co_wire_nack_decode(struct co_nack_body *body, const uint8_t *from)
{
    struct wire_nack wire;
    memcpy(&wire, from, sizeof(wire));
    body->source = le16toh(wire.source);
    body->why = wire.why & (uint8_t)~CAN_READ;
    body->can_read = (wire.why & CAN_READ) != 0;
    body->label = co_wire_is_nack_label(wire.label) ? wire.label : 0;
}

void co_wire_range_decode(struct co_nack_range *range, const uint8_t *from, unsigned index)
{
    struct wire_range wire;
    memcpy(&wire, from + sizeof(struct wire_nack) + index * sizeof(wire), sizeof(wire));
    range->first = le32toh(wire.first);
    range->count = le32toh(wire.count);
}

size_t co_wire_read_offer_bytes(unsigned entries)
{
    return sizeof(struct wire_read_offer) + entries * sizeof(struct wire_read_offer_chunk);
}

void co_wire_read_offer_encode(uint8_t *to, const struct co_read_offer_body *body)
{
    struct wire_read_offer wire = {.source = htole16(body->source),
                                   .way = body->way,
                                   .label = body->label,
                                   .key = htole32(body->key),
                                   .address = htole64(body->address),
                                   .block_bytes = htole64(body->block_bytes)};
    memcpy(to, &wire, sizeof(wire));
}

void co_wire_read_offer_chunk_encode(uint8_t *to, const struct co_read_offer_chunk *chunk, unsigned index)
{
    struct wire_read_offer_chunk wire = {.psn = htole32(chunk->psn)};
    memcpy(wire.tag, chunk->tag, sizeof(wire.tag));
    memcpy(to + co_wire_read_offer_bytes(index), &wire, sizeof(wire));
}

void co_wire_read_offer_decode(struct co_read_offer_body *body, const uint8_t *from)
{
    struct wire_read_offer wire;
    memcpy(&wire, from, sizeof(wire));
    *body = (struct co_read_offer_body){.source = le16toh(wire.source),
                                        .way = wire.way < CO_WAY_END ? wire.way : CO_WAY_UNSAID,
                                        .label = co_wire_is_nack_label(wire.label) ? wire.label : 0,
                                        .key = le32toh(wire.key),
                                        .address = le64toh(wire.address),
                                        .block_bytes = le64toh(wire.block_bytes)};
}

void co_wire_read_offer_chunk_decode(struct co_read_offer_chunk *chunk, const uint8_t *from, unsigned index)
{
    struct wire_read_offer_chunk wire;
    memcpy(&wire, from + co_wire_read_offer_bytes(index), sizeof(wire));
    chunk->psn = le32toh(wire.psn);
    memcpy(chunk->tag, wire.tag, sizeof(chunk->tag));
}

void co_wire_chunk_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], const struct co_chunk *chunk)
{
    uint32_t words[3] = {htole32(how_of(chunk)), htole32(chunk->operation), htole32(chunk->psn)};
    memcpy(nonce, words, sizeof(words));
}

void co_wire_control_nonce(uint8_t nonce[CO_AUTH_NONCE_BYTES], const struct co_control *control, unsigned receiver)
{
    bool is_for_all = co_wire_may_be_for_all(control->type) && control->entries == 0;
    uint64_t sequence = control->sequence;
    uint32_t words[3] = {htole32((uint32_t)sequence), htole32((uint32_t)(sequence >> 32)),
                         is_for_all ? 0 : htole32(receiver + 1)};
    memcpy(nonce, words, sizeof(words));
}
