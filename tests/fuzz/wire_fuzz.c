// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a datagram without its tag: what decodes encodes to the same head, and all that a decoded head promises
// (ranges, credits, payload) lies inside the datagram.
#include <stdlib.h>
#include <string.h>

#include "mcast/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_chunk(const uint8_t *data, size_t bytes)
{
    struct co_chunk chunk;
    uint8_t head[CO_WIRE_HEAD_BYTES];

    if (co_wire_chunk_decode(&chunk, data, bytes) != 0) {
        return;
    }
    size_t payload = bytes - CO_WIRE_HEAD_BYTES;
    uint64_t at = (uint64_t)chunk.psn * chunk.chunk_bytes;
    must(chunk.chunk_bytes > 0 && payload <= chunk.chunk_bytes);
    must(at + payload <= chunk.block_bytes);
    must(payload == chunk.chunk_bytes || at + payload == chunk.block_bytes);
    co_wire_chunk_encode(head, &chunk);
    must(memcmp(head, data, sizeof head) == 0);
}

static void check_body(const struct co_control *control, const uint8_t *body)
{
    struct co_ack_body progress;
    struct co_credit_entry entry;
    struct co_nack_body fetch;
    struct co_nack_range range;
    struct co_read_offer_body lent;
    struct co_read_offer_chunk chunk;

    if (control->type == CO_CONTROL_ACK) {
        co_wire_ack_decode(&progress, body);
        for (unsigned i = 0; i < control->entries; i++) {
            co_wire_credit_decode(&entry, body, i);
        }
    } else if (control->type == CO_CONTROL_NACK) {
        co_wire_nack_decode(&fetch, body);
        for (unsigned i = 0; i < control->entries; i++) {
            co_wire_range_decode(&range, body, i);
        }
    } else if (control->type == CO_CONTROL_READ_OFFER) {
        co_wire_read_offer_decode(&lent, body);
        for (unsigned i = 0; i < control->entries; i++) {
            co_wire_read_offer_chunk_decode(&chunk, body, i);
        }
    }
}

static void check_control(const uint8_t *data, size_t bytes)
{
    struct co_control control;
    uint8_t head[CO_WIRE_HEAD_BYTES];

    if (co_wire_control_decode(&control, data, bytes) != 0) {
        return;
    }
    must(control.type >= CO_CONTROL_ACK && control.type < CO_CONTROL_TYPE_END);
    check_body(&control, data + CO_WIRE_HEAD_BYTES);
    co_wire_control_encode(head, &control, bytes - CO_WIRE_HEAD_BYTES);
    must(memcmp(head, data, sizeof head) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(copy, data, bytes);
    switch (co_wire_kind(copy, bytes)) {
    case CO_WIRE_CHUNK:
    case CO_WIRE_CONTRIBUTION:
        check_chunk(copy, bytes);
        break;
    case CO_WIRE_CONTROL:
        check_control(copy, bytes);
        break;
    default:
        break;
    }
    free(copy);
    return 0;
}
