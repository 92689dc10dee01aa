// SPDX-License-Identifier: BSD-3-Clause
//
// Chunks of a transfer; see the header.
#include "onesided/transfer_plan.h"

#include "base/chunk_bitmap.h"

enum { GRAIN = 4096, FEW = 50 }; // FEW: one in so many is what links lose by themselves

uint32_t co_transfer_chunk_bytes(uint64_t bytes)
{
    uint64_t least = (bytes + CO_TRANSFER_CHUNKS_MAX - 1) / CO_TRANSFER_CHUNKS_MAX;
    least = (least + GRAIN - 1) / GRAIN * GRAIN;
    return (uint32_t)(least < CO_TRANSFER_CHUNK_MIN ? CO_TRANSFER_CHUNK_MIN : least);
}

uint32_t co_transfer_chunks(uint64_t bytes)
{
    uint32_t chunk = co_transfer_chunk_bytes(bytes);
    return (uint32_t)((bytes + chunk - 1) / chunk);
}

uint32_t co_transfer_bytes_of(uint64_t bytes, uint32_t chunk)
{
    uint32_t whole = co_transfer_chunk_bytes(bytes);
    uint64_t left = bytes - (uint64_t)chunk * whole;
    return (uint32_t)(left < whole ? left : whole);
}

bool co_transfer_setup_fits(const struct co_coordination_setup *setup, bool is_sender, uint64_t buffer_bytes,
                            uint32_t members)
{
    bool is_possible = setup->bytes > 0 && setup->bytes <= CO_TRANSFER_BYTES_MAX && setup->bytes <= buffer_bytes;
    return is_possible && (!is_sender || (setup->bytes == buffer_bytes && setup->members == members));
}

uint32_t co_transfer_immediate(uint32_t transfer, uint32_t chunk)
{
    return transfer << 24 | chunk;
}

bool co_transfer_take_immediate(uint32_t immediate, uint32_t transfer, uint32_t chunks, uint32_t *chunk)
{
    *chunk = immediate & 0xffffff;
    return immediate >> 24 == (transfer & 0xff) && *chunk < chunks;
}

void co_transfer_list_missing(struct co_coordination_missing *out, const uint64_t *bitmap, uint32_t chunks)
{
    uint32_t at = 0;
    out->missing = co_chunk_bitmap_count_clear(bitmap, 0, chunks);
    out->range_count = 0;
    while (out->range_count < CO_COORDINATION_RANGES_MAX &&
           (at = co_chunk_bitmap_find(bitmap, at, chunks, false)) < chunks) {
        uint32_t end = co_chunk_bitmap_find(bitmap, at, chunks, true);
        out->ranges[out->range_count++] = (struct co_coordination_range){.first = at, .count = end - at};
        at = end;
    }
}

void co_transfer_pace_learn(struct co_transfer_pace *pace, uint32_t sent, uint64_t took_ns, uint32_t gaps)
{
    if (sent == 0 || gaps <= sent / FEW + 1) {
        return;
    }
    uint64_t each_ns = took_ns / sent;
    pace->pause_ns += each_ns > 0 ? each_ns : 1; // half the rate
}
