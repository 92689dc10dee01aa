// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams in words: kind, team, operation, source, then what the kind has to say. The names are those of
// docs/wire-format.md. Pure, cold.
#include "mcast/wire/wire_describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "mcast/wire/wire.h"

#define ENTRIES_MOST 8 // of ranges, credits and chunks that are named one by one

static const char *const type_names[] = {
    [CO_CONTROL_ACK] = "ACK",
    [CO_CONTROL_ACK_REQUEST] = "ACK_REQUEST",
    [CO_CONTROL_NACK] = "NACK",
    [CO_CONTROL_TOKEN] = "TOKEN",
    [CO_CONTROL_PROBE] = "PROBE",
    [CO_CONTROL_PROBE_REPLY] = "PROBE_REPLY",
    [CO_CONTROL_PROBE_DONE] = "PROBE_DONE",
    [CO_CONTROL_END_OF_BLOCK] = "END_OF_BLOCK",
    [CO_CONTROL_ABORT] = "ABORT",
    [CO_CONTROL_NACK_DEFERRED] = "NACK_DEFERRED",
    [CO_CONTROL_READ_OFFER] = "READ_OFFER",
    [CO_CONTROL_CONTRIBUTION_REQUEST] = "CONTRIBUTION_REQUEST",
    [CO_CONTROL_SKIPPED] = "SKIPPED",
};

_Static_assert(sizeof type_names / sizeof type_names[0] == CO_CONTROL_TYPE_END, "one name for each type");

struct line {
    char *text;
    size_t used;
};

static void line_add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void line_add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int added = vsnprintf(line->text + line->used, CO_WIRE_TEXT_BYTES - line->used, format, arguments);
    va_end(arguments);
    line->used += added > 0 ? (size_t)added : 0;
    if (line->used >= CO_WIRE_TEXT_BYTES) {
        line->used = CO_WIRE_TEXT_BYTES - 1;
    }
}

static void line_add_head(struct line *line, const char *kind, uint32_t team, uint32_t operation, unsigned source)
{
    line_add(line, "%s team %08" PRIx32 " operation %" PRIu32 " source %u", kind, team, operation, source);
}

static void line_add_label(struct line *line, uint8_t label)
{
    if (label != 0) {
        line_add(line, ", request %u", (unsigned)label);
    }
}

static void line_add_chunk(struct line *line, const struct co_chunk *chunk)
{
    line_add_head(line, chunk->is_contribution ? "CONTRIBUTION" : "CHUNK", chunk->team, chunk->operation,
                  chunk->source);
    line_add(line, " psn %" PRIu32 " of %" PRIu32, chunk->psn,
             co_wire_chunk_count(chunk->block_bytes, chunk->chunk_bytes));
    if (chunk->is_repair) {
        line_add(line, ", repair");
        line_add_label(line, chunk->label);
    }
    if (chunk->way != CO_WAY_UNSAID) {
        line_add(line, ", later ones %s", chunk->way == CO_WAY_COLLECTED ? "collected" : "apart");
    }
    if (chunk->credit_shift > 0) {
        line_add(line, ", credit every %" PRIu64, UINT64_C(1) << (chunk->credit_shift - 1));
    }
}

static void line_add_rest(struct line *line, unsigned entries)
{
    if (entries > ENTRIES_MOST) {
        line_add(line, " and %u more", entries - ENTRIES_MOST);
    }
}

static void line_add_nack(struct line *line, const struct co_control *control, const uint8_t *body)
{
    static const char *const whys[] = {"lost", "guess", "deaf"};
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    line_add(line, ", of source %u psn", (unsigned)nack.source);
    for (unsigned i = 0; i < control->entries && i < ENTRIES_MOST; i++) {
        struct co_nack_range range;
        co_wire_range_decode(&range, body, i);
        line_add(line, " %" PRIu32 "-%" PRIu64, range.first, (uint64_t)range.first + range.count - 1);
    }
    line_add_rest(line, control->entries);
    if (control->type == CO_CONTROL_NACK) {
        line_add(line, ", %s", nack.why < sizeof whys / sizeof whys[0] ? whys[nack.why] : "for no reason known");
    }
    line_add_label(line, nack.label);
}

static void line_add_ack(struct line *line, const struct co_control *control, const uint8_t *body)
{
    struct co_ack_body progress;
    co_wire_ack_decode(&progress, body);
    line_add(line, ", done before %" PRIu32 " and %08" PRIx32 ", lost %" PRIu32, progress.done_before,
             progress.done_mask, progress.lost);
    for (unsigned i = 0; i < control->entries && i < ENTRIES_MOST; i++) {
        struct co_credit_entry entry;
        co_wire_credit_decode(&entry, body, i);
        line_add(line, "%s %u:%" PRIu32, i == 0 ? ", credit" : "", (unsigned)entry.source, entry.received);
    }
    line_add_rest(line, control->entries);
}

static void line_add_read_offer(struct line *line, const struct co_control *control, const uint8_t *body)
{
    struct co_read_offer_body offer;
    co_wire_read_offer_decode(&offer, body);
    line_add(line, ", of source %u psn", (unsigned)offer.source);
    for (unsigned i = 0; i < control->entries && i < ENTRIES_MOST; i++) {
        struct co_read_offer_chunk chunk;
        co_wire_read_offer_chunk_decode(&chunk, body, i);
        line_add(line, " %" PRIu32, chunk.psn);
    }
    line_add_rest(line, control->entries);
    line_add_label(line, offer.label);
}

static void line_add_control(struct line *line, const struct co_control *control, const uint8_t *body)
{
    line_add_head(line, type_names[control->type], control->team, control->operation, control->source);
    switch (control->type) {
    case CO_CONTROL_ACK:
        line_add_ack(line, control, body);
        break;
    case CO_CONTROL_NACK:
    case CO_CONTROL_NACK_DEFERRED:
        line_add_nack(line, control, body);
        break;
    case CO_CONTROL_READ_OFFER:
        line_add_read_offer(line, control, body);
        break;
    default:
        break;
    }
}

void co_wire_describe(char text[CO_WIRE_TEXT_BYTES], const uint8_t *data, size_t bytes)
{
    struct line line = {.text = text};
    struct co_chunk chunk;
    struct co_control control;
    text[0] = '\0';
    if (co_wire_chunk_decode(&chunk, data, bytes) == 0) {
        line_add_chunk(&line, &chunk);
    } else if (co_wire_control_decode(&control, data, bytes) == 0) {
        line_add_control(&line, &control, data + CO_WIRE_HEAD_BYTES);
    } else {
        line_add(&line, "no datagram of castoff, %zu bytes", bytes);
    }
}
