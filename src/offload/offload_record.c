// SPDX-License-Identifier: BSD-3-Clause
//
// Records between proxies; see the header.
#include "offload/offload_record.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "offload/little_endian.h"

enum { GONE_BODY_BYTES = 8, DATA_BODY_BYTES = CO_OFFLOAD_RECORD_DATA_HEAD_BYTES - CO_OFFLOAD_RECORD_HEAD_BYTES };

static bool kind_is_of_teams(uint32_t kind)
{
    return kind >= CO_OFFLOAD_RECORD_CALLED && kind <= CO_OFFLOAD_RECORD_TEAM_DATA;
}

static bool kind_has_entries(uint32_t kind)
{
    return kind >= CO_OFFLOAD_RECORD_READY && kind < CO_OFFLOAD_RECORD_END && kind != CO_OFFLOAD_RECORD_GONE &&
           !co_offload_record_is_data(kind);
}

static void head_encode(uint8_t *out, uint32_t kind, uint32_t entries, uint32_t body_bytes)
{
    co_little_endian_put(out, CO_OFFLOAD_RECORD_VERSION, 1);
    co_little_endian_put(out + 1, kind, 1);
    co_little_endian_put(out + 2, entries, 2);
    co_little_endian_put(out + 4, body_bytes, 4);
}

static void key_encode(uint8_t *out, const struct co_offload_key *key)
{
    co_little_endian_put(out, key->from, 4);
    co_little_endian_put(out + 4, key->to, 4);
    if (key->space == CO_OFFLOAD_TEAM) {
        co_little_endian_put(out + 8, key->tag, 8);
    } else {
        co_little_endian_put(out + 8, key->tag, 4);
        co_little_endian_put(out + 12, key->space, 4);
    }
    co_little_endian_put(out + 16, key->number, 8);
}

// -EPROTO: a space that is none.
static int key_decode(struct co_offload_key *key, const uint8_t *bytes, uint32_t kind)
{
    bool is_of_team = kind_is_of_teams(kind);

    *key =
        (struct co_offload_key){.from = (uint32_t)co_little_endian_get(bytes, 4),
                                .to = (uint32_t)co_little_endian_get(bytes + 4, 4),
                                .tag = co_little_endian_get(bytes + 8, is_of_team ? 8 : 4),
                                .space = is_of_team ? CO_OFFLOAD_TEAM : (uint32_t)co_little_endian_get(bytes + 12, 4),
                                .number = co_little_endian_get(bytes + 16, 8)};
    return is_of_team || key->space < CO_OFFLOAD_SPACES ? 0 : -EPROTO;
}

// What is said of a rank, and not of a message.
static bool entry_is_good(const struct co_offload_key *key, uint32_t kind)
{
    return (kind != CO_OFFLOAD_RECORD_CALLED && kind != CO_OFFLOAD_RECORD_ASK) ||
           (key->to == 0 && (kind == CO_OFFLOAD_RECORD_CALLED || key->number == 0));
}

size_t co_offload_record_encode_entries(uint8_t *out, enum co_offload_record_kind kind,
                                        const struct co_offload_key *keys, uint32_t count)
{
    assert(kind_has_entries(kind) && count > 0 && count <= CO_OFFLOAD_RECORD_ENTRIES_MAX);
    head_encode(out, kind, count, count * CO_OFFLOAD_RECORD_ENTRY_BYTES);
    for (uint32_t i = 0; i < count; i++) {
        assert((keys[i].space == CO_OFFLOAD_TEAM) == kind_is_of_teams(kind));
        key_encode(out + CO_OFFLOAD_RECORD_HEAD_BYTES + (size_t)i * CO_OFFLOAD_RECORD_ENTRY_BYTES, &keys[i]);
    }
    return CO_OFFLOAD_RECORD_HEAD_BYTES + (size_t)count * CO_OFFLOAD_RECORD_ENTRY_BYTES;
}

size_t co_offload_record_encode_gone(uint8_t out[CO_OFFLOAD_RECORD_HEAD_BYTES + 8], uint32_t rank)
{
    head_encode(out, CO_OFFLOAD_RECORD_GONE, 0, GONE_BODY_BYTES);
    co_little_endian_put(out + CO_OFFLOAD_RECORD_HEAD_BYTES, rank, 8);
    return CO_OFFLOAD_RECORD_HEAD_BYTES + GONE_BODY_BYTES;
}

void co_offload_record_encode_data_head(uint8_t out[CO_OFFLOAD_RECORD_DATA_HEAD_BYTES],
                                        const struct co_offload_key *key, uint64_t offset, uint64_t whole,
                                        uint32_t payload_bytes)
{
    assert(payload_bytes <= CO_OFFLOAD_RECORD_PAYLOAD_MAX);
    head_encode(out, key->space == CO_OFFLOAD_TEAM ? CO_OFFLOAD_RECORD_TEAM_DATA : CO_OFFLOAD_RECORD_DATA, 0,
                DATA_BODY_BYTES + payload_bytes);
    key_encode(out + CO_OFFLOAD_RECORD_HEAD_BYTES, key);
    co_little_endian_put(out + CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRY_BYTES, offset, 8);
    co_little_endian_put(out + CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRY_BYTES + 8, whole, 8);
}

int64_t co_offload_record_bytes(const uint8_t *head, size_t bytes)
{
    if (bytes < CO_OFFLOAD_RECORD_HEAD_BYTES) {
        return 0;
    }
    uint32_t kind = head[1], entries = (uint32_t)co_little_endian_get(head + 2, 2);
    uint32_t body = (uint32_t)co_little_endian_get(head + 4, 4);
    bool is_good = head[0] == CO_OFFLOAD_RECORD_VERSION;

    if (kind_has_entries(kind)) {
        is_good = is_good && entries > 0 && entries <= CO_OFFLOAD_RECORD_ENTRIES_MAX &&
                  body == entries * CO_OFFLOAD_RECORD_ENTRY_BYTES;
    } else if (kind == CO_OFFLOAD_RECORD_GONE) {
        is_good = is_good && entries == 0 && body == GONE_BODY_BYTES;
    } else if (co_offload_record_is_data(kind)) {
        is_good = is_good && entries == 0 && body >= DATA_BODY_BYTES &&
                  body <= DATA_BODY_BYTES + CO_OFFLOAD_RECORD_PAYLOAD_MAX;
    } else {
        is_good = false;
    }
    return is_good ? CO_OFFLOAD_RECORD_HEAD_BYTES + (int64_t)body : -EPROTO;
}

struct co_offload_key co_offload_record_entry(const struct co_offload_record *record, uint32_t index)
{
    struct co_offload_key key;
    assert(index < record->entries.count);
    (void)key_decode(&key, record->entries.bytes + (size_t)index * CO_OFFLOAD_RECORD_ENTRY_BYTES, record->kind);
    return key;
}

// A piece lies inside its message; only an empty message has an empty piece.
static int data_decode(struct co_offload_record *out, const uint8_t *body, uint32_t payload_bytes)
{
    if (key_decode(&out->data.key, body, out->kind) != 0) {
        return -EPROTO;
    }
    out->data.offset = co_little_endian_get(body + CO_OFFLOAD_RECORD_ENTRY_BYTES, 8);
    out->data.whole = co_little_endian_get(body + CO_OFFLOAD_RECORD_ENTRY_BYTES + 8, 8);
    out->data.payload = body + DATA_BODY_BYTES;
    out->data.payload_bytes = payload_bytes;
    return out->data.offset <= out->data.whole && payload_bytes <= out->data.whole - out->data.offset &&
                   (payload_bytes == 0) == (out->data.whole == 0)
               ? 0
               : -EPROTO;
}

int co_offload_record_decode(struct co_offload_record *out, const uint8_t *record, size_t bytes)
{
    int64_t length = co_offload_record_bytes(record, bytes);
    const uint8_t *body = record + CO_OFFLOAD_RECORD_HEAD_BYTES;

    if (length <= 0 || (size_t)length != bytes) {
        return -EPROTO;
    }
    out->kind = record[1];
    if (co_offload_record_is_data(out->kind)) {
        return data_decode(out, body, (uint32_t)bytes - CO_OFFLOAD_RECORD_DATA_HEAD_BYTES);
    }
    if (out->kind == CO_OFFLOAD_RECORD_GONE) {
        out->rank = (uint32_t)co_little_endian_get(body, 4);
        return co_little_endian_get(body + 4, 4) == 0 ? 0 : -EPROTO;
    }
    out->entries.count = (uint32_t)co_little_endian_get(record + 2, 2);
    out->entries.bytes = body;
    for (uint32_t i = 0; i < out->entries.count; i++) {
        struct co_offload_key key;
        if (key_decode(&key, body + (size_t)i * CO_OFFLOAD_RECORD_ENTRY_BYTES, out->kind) != 0 ||
            !entry_is_good(&key, out->kind)) {
            return -EPROTO;
        }
    }
    return 0;
}
