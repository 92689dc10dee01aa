// SPDX-License-Identifier: BSD-3-Clause
//
// Packets in words: kind, communicator, source and tag of a message, or the operation that an answer is for. Pure,
// cold.
#include "p2p/channel/packet_describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[] = {
    [CO_PACKET_BROKEN] = "BROKEN",   [CO_PACKET_EAGER] = "EAGER",   [CO_PACKET_EAGER_SYNC] = "EAGER_SYNC",
    [CO_PACKET_RTS] = "RTS",         [CO_PACKET_ACK] = "ACK",       [CO_PACKET_CTS] = "CTS",
    [CO_PACKET_FIRST] = "FIRST",     [CO_PACKET_DATA] = "DATA",     [CO_PACKET_FIN] = "FIN",
    [CO_PACKET_READING] = "READING", [CO_PACKET_CREDIT] = "CREDIT",
};
enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

// What stands at the beginning of the payload; zeros where it is shorter.
#define READ_PAYLOAD(words, payload, bytes) memcpy(&(words), payload, (bytes) < sizeof(words) ? (bytes) : sizeof(words))

static int describe_message(char *text, size_t room, const struct co_packet *packet)
{
    return snprintf(text, room, "%s context %016" PRIx64 " source %d tag %d", kind_names[packet->kind], packet->context,
                    packet->source, packet->tag);
}

static void describe_rts(char *text, size_t room, const void *payload, size_t bytes)
{
    struct co_packet_rts rts = {0};
    READ_PAYLOAD(rts, payload, bytes);
    snprintf(text, room, ", %" PRIu64 " bytes, operation %" PRIx64 ", %" PRIu32 " of them in the first fragment%s",
             rts.bytes, rts.operation, rts.first_fragment, rts.is_in_pieces ? ", the rest in pieces" : "");
}

static void describe_answer(char *text, size_t room, const struct co_packet *packet, const void *payload, size_t bytes)
{
    struct co_packet_cts cts = {0};
    READ_PAYLOAD(cts, payload, bytes);
    if (packet->kind == CO_PACKET_CTS) {
        snprintf(text, room, "CTS operation %" PRIx64 ", %" PRIu64 " bytes to receive %" PRIx64 ", number %" PRIu64,
                 cts.operation, cts.bytes, cts.receive, cts.number);
    } else {
        snprintf(text, room, "%s operation %" PRIx64, kind_names[packet->kind], cts.operation);
    }
}

void co_packet_describe(char text[CO_PACKET_TEXT_BYTES], const struct co_packet *packet, const void *payload,
                        size_t payload_bytes)
{
    size_t room = CO_PACKET_TEXT_BYTES, used;
    struct co_packet_credit credit = {0};
    if ((unsigned)packet->kind >= KINDS) {
        snprintf(text, room, "no packet of castoff: kind %u", (unsigned)packet->kind);
        return;
    }
    switch (packet->kind) {
    case CO_PACKET_EAGER:
    case CO_PACKET_EAGER_SYNC:
        used = (size_t)describe_message(text, room, packet);
        snprintf(text + used, room - used, ", %" PRIu32 " bytes", packet->bytes);
        return;
    case CO_PACKET_RTS:
        used = (size_t)describe_message(text, room, packet);
        describe_rts(text + used, room - used, payload, payload_bytes);
        return;
    case CO_PACKET_DATA:
        snprintf(text, room, "DATA receive %" PRIx64 ", %" PRIu32 " bytes", packet->context, packet->bytes);
        return;
    case CO_PACKET_CREDIT:
        READ_PAYLOAD(credit, payload, payload_bytes);
        snprintf(text, room, "CREDIT %" PRIu64 " bytes given back", credit.given_back);
        return;
    case CO_PACKET_BROKEN:
    case CO_PACKET_FIRST:
        snprintf(text, room, "%s, %" PRIu32 " bytes", kind_names[packet->kind], packet->bytes);
        return;
    default:
        describe_answer(text, room, packet, payload, payload_bytes);
    }
}
