// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a frame: what is taken for a RoCE packet lies inside it, a copy of it is one, too, for its receiver, and
// the ICRC of the copy, made from the sum of the payload, holds.
#include <stdlib.h>
#include <string.h>

#include "onesided/roce_icrc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const struct co_roce_target target = {
    .mac = {2, 0, 0, 0, 0, 1}, .ip = 0x0a000001, .qpn = 7, .psn_offset = 9, .rkey = 3, .address = 1 << 20};

static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void check_copy(uint8_t *frame, const struct co_roce *packet)
{
    struct co_roce_icrc icrc = {0};
    struct co_roce copy;
    co_roce_icrc_read(&icrc, frame, packet);
    co_roce_rewrite(frame, packet, &target);
    co_roce_icrc_write(&icrc, frame, packet->payload_at, frame + packet->frame_bytes - CO_ROCE_ICRC_BYTES);
    must(co_roce_parse(&copy, frame, packet->frame_bytes) == CO_ROCE_PACKET);
    must(copy.qpn == target.qpn && copy.destination_ip == target.ip && copy.payload_at == packet->payload_at);
    must(copy.psn == ((packet->psn + target.psn_offset) & CO_ROCE_PSN_MASK));
    must(!co_roce_starts(packet->opcode) || !co_roce_is_write(packet->opcode) ||
         copy.address == packet->address + target.address);
    must(co_roce_icrc_holds(&icrc, frame, &copy));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct co_roce packet;
    uint8_t *frame = malloc(bytes ? bytes : 1); // exactly as long, so that reading on is seen

    memcpy(frame, data, bytes);
    if (co_roce_parse(&packet, frame, bytes) == CO_ROCE_PACKET) {
        must(packet.frame_bytes <= bytes && packet.pad_bytes <= packet.payload_bytes);
        must(packet.payload_at + packet.payload_bytes + CO_ROCE_ICRC_BYTES == packet.frame_bytes);
        must(packet.payload_at <= CO_ROCE_HEAD_MAX);
        if (co_roce_is_write(packet.opcode)) {
            check_copy(frame, &packet);
        }
    }
    free(frame);
    return 0;
}
