// SPDX-License-Identifier: BSD-3-Clause
//
// ICRC; see the header. The sum of a packet is put together from that of its head and that of its payload, so a copy
// with another head costs the head alone.
#include "onesided/roce_icrc.h"

#include <string.h>
#include <zlib.h>

enum { ONES = 8, BTH_MASKED_AT = CO_ROCE_BTH_AT + 4 - CO_ROCE_IP_AT };

static const uint8_t masked[] = {1, 8, 10, 11, 26, 27, BTH_MASKED_AT}; // from the IPv4 header on

void co_roce_icrc_read(struct co_roce_icrc *icrc, const uint8_t *frame, const struct co_roce *packet)
{
    icrc->payload_crc = (uint32_t)crc32(0, frame + packet->payload_at, packet->payload_bytes);
    if (icrc->operation == 0 || icrc->payload_bytes != packet->payload_bytes) {
        icrc->payload_bytes = packet->payload_bytes;
        icrc->operation = (uint32_t)crc32_combine_gen(packet->payload_bytes);
    }
}

void co_roce_icrc_write(const struct co_roce_icrc *icrc, const uint8_t *head, size_t head_bytes,
                        uint8_t out[CO_ROCE_ICRC_BYTES])
{
    uint8_t covered[ONES + CO_ROCE_HEAD_MAX];
    size_t count = head_bytes - CO_ROCE_IP_AT;
    memset(covered, 0xff, ONES);
    memcpy(covered + ONES, head + CO_ROCE_IP_AT, count);
    for (size_t i = 0; i < sizeof masked; i++) {
        covered[ONES + masked[i]] = 0xff;
    }
    uint32_t crc = (uint32_t)crc32(0, covered, (uInt)(ONES + count));
    crc = (uint32_t)crc32_combine_op(crc, icrc->payload_crc, icrc->operation);
    for (int i = 0; i < CO_ROCE_ICRC_BYTES; i++) {
        out[i] = (uint8_t)(crc >> 8 * i);
    }
}

bool co_roce_icrc_holds(const struct co_roce_icrc *icrc, const uint8_t *frame, const struct co_roce *packet)
{
    uint8_t right[CO_ROCE_ICRC_BYTES];
    co_roce_icrc_write(icrc, frame, packet->payload_at, right);
    return memcmp(right, frame + packet->frame_bytes - CO_ROCE_ICRC_BYTES, CO_ROCE_ICRC_BYTES) == 0;
}
