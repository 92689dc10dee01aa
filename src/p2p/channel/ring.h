// SPDX-License-Identifier: BSD-3-Clause
//
// A ring of packets in shared memory between one writer and one reader. A slot has two lines: head and small payloads
// stand in the first, so that a small message is one line written and one read; larger payloads follow in an area of
// bytes of the same ring. A slot is ready when its stamp says its number, which no earlier turn of the ring has
// written, so nothing is cleared. Header only, hot.
#ifndef CASTOFF_P2P_CHANNEL_RING_H
#define CASTOFF_P2P_CHANNEL_RING_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/atomics.h"
#include "base/memory/memory_copy.h"
#include "p2p/channel/packet.h"

#define CO_RING_INLINE 104 // bytes of a payload that fit its slot
#define CO_RING_AHEAD 4    // slots: a line of the other side's is asked for so long before it is needed

struct co_ring_slot {
    alignas(CO_LINE_PAIR) _Atomic uint32_t stamp; // number of the packet, from 1
    uint32_t kind_and_bytes;                      // kind in the top eight bits
    uint64_t context;
    int32_t source, tag;
    unsigned char payload[CO_RING_INLINE];
};

_Static_assert(sizeof(struct co_ring_slot) == CO_LINE_PAIR, "two lines for each slot");

struct co_ring {
    // Written by the reader now and then.
    alignas(CO_LINE_PAIR) _Atomic uint64_t read_slots;
    _Atomic uint64_t read_bytes;
    _Atomic uint64_t given_back;                 // struct co_channel_ops
    alignas(CO_LINE_PAIR) _Atomic uint64_t gate; // struct co_channel_ops; mostly the writer's
    struct co_ring_slot slots[];                 // and behind them the area of bytes
};

// Both are powers of two, and the same on both sides.
struct co_ring_shape {
    size_t slots;
    size_t area; // bytes; a payload is at most half of it
};

static inline size_t co_ring_bytes(struct co_ring_shape shape)
{
    return sizeof(struct co_ring) + shape.slots * sizeof(struct co_ring_slot) + shape.area;
}

// One side's place, in its own memory.
struct co_ring_side {
    struct co_ring *ring;
    uint64_t slots, bytes;           // written, or read, so far
    uint64_t slots_told, bytes_told; // by the other side when it was last looked at; by the reader: last told
    uint64_t given_back, given_back_told;
    bool is_broken; // reader: a packet was CO_PACKET_BROKEN
};

static inline struct co_ring_slot *co_ring_slot_of(struct co_ring *ring, struct co_ring_shape shape, uint64_t number)
{
    return &ring->slots[number & (shape.slots - 1)];
}

static inline unsigned char *co_ring_area(struct co_ring *ring, struct co_ring_shape shape)
{
    return (unsigned char *)&ring->slots[shape.slots];
}

// Where a payload stands that does not fit a slot: in a row, so the end of the area may stay empty.
static inline uint64_t co_ring_place(uint64_t at, size_t bytes, size_t area)
{
    size_t offset = (size_t)at & (area - 1);
    return offset + bytes > area ? at + (area - offset) : at;
}

static inline uint64_t co_ring_after(uint64_t place, size_t bytes)
{
    return place + ((bytes + CO_CACHE_LINE - 1) & ~(size_t)(CO_CACHE_LINE - 1));
}

// For so many slots, and bytes up to `end`.
static inline bool co_ring_has_room(struct co_ring_side *writer, uint64_t slots, uint64_t end,
                                    struct co_ring_shape shape)
{
    uint64_t last = writer->slots + slots;
    if (last - writer->slots_told <= shape.slots && end - writer->bytes_told <= shape.area) {
        return true;
    }
    // acquire R1: what the reader has read may be written over.
    writer->slots_told = co_load_acquire(&writer->ring->read_slots);
    writer->bytes_told = co_load_acquire(&writer->ring->read_bytes);
    return last - writer->slots_told <= shape.slots && end - writer->bytes_told <= shape.area;
}

// Bytes, at most `wanted`, for which there is room in payloads of `piece` behind one that stands in its slot.
static inline size_t co_ring_room(struct co_ring_side *writer, struct co_ring_shape shape, size_t piece, size_t wanted)
{
    uint64_t end = writer->bytes;
    size_t found = 0;
    for (uint64_t slots = 2; found < wanted; slots++) {
        size_t bytes = wanted - found < piece ? wanted - found : piece;
        end = co_ring_after(co_ring_place(end, bytes, shape.area), bytes);
        if (!co_ring_has_room(writer, slots, end, shape)) {
            break;
        }
        found += bytes;
    }
    return found;
}

static inline void co_ring_copy(unsigned char *to, const void *first, size_t first_bytes, const void *second,
                                size_t second_bytes)
{
    co_memory_copy_few(to, first, first_bytes);
    if (second_bytes > 0) {
        co_memory_copy(to + first_bytes, second, second_bytes);
    }
}

// False: full.
static inline bool co_ring_write(struct co_ring_side *writer, struct co_ring_shape shape,
                                 const struct co_packet *packet, const void *first, size_t first_bytes,
                                 const void *second, size_t second_bytes)
{
    struct co_ring_slot *slot = co_ring_slot_of(writer->ring, shape, writer->slots);
    size_t bytes = first_bytes + second_bytes;
    uint64_t end = writer->bytes;
    unsigned char *payload = slot->payload;
    if (bytes > CO_RING_INLINE) {
        uint64_t place = co_ring_place(writer->bytes, bytes, shape.area);
        end = co_ring_after(place, bytes);
        payload = co_ring_area(writer->ring, shape) + ((size_t)place & (shape.area - 1));
    }
    if (!co_ring_has_room(writer, 1, end, shape)) {
        return false;
    }
    co_ring_copy(payload, first, first_bytes, second, second_bytes);
    slot->kind_and_bytes = (uint32_t)packet->kind << 24 | (uint32_t)bytes;
    slot->context = packet->context;
    slot->source = packet->source;
    slot->tag = packet->tag;
    writer->bytes = end;
    writer->slots++;
    co_store_release(&slot->stamp, (uint32_t)writer->slots); // release R2, read by R2 in co_ring_front
    co_prefetch_to_write(co_ring_slot_of(writer->ring, shape, writer->slots + CO_RING_AHEAD));
    return true;
}

// The next packet, or NULL. It stays until co_ring_drop. CO_PACKET_BROKEN: the memory, which the writer's process can
// write to as it likes, says more bytes than a packet has.
static inline const unsigned char *co_ring_front(const struct co_ring_side *reader, struct co_ring_shape shape,
                                                 struct co_packet *packet)
{
    const struct co_ring_slot *slot = co_ring_slot_of(reader->ring, shape, reader->slots);
    if (co_load_acquire(&slot->stamp) != (uint32_t)(reader->slots + 1)) { // acquire R2
        return NULL;
    }
    packet->kind = (enum co_packet_kind)(slot->kind_and_bytes >> 24);
    packet->bytes = slot->kind_and_bytes & UINT32_C(0xffffff);
    packet->context = slot->context;
    packet->source = slot->source;
    packet->tag = slot->tag;
    if (packet->bytes <= CO_RING_INLINE) {
        return slot->payload;
    }
    if (packet->bytes > shape.area / 2) { // somebody wrote over it: there are no such bytes
        packet->kind = CO_PACKET_BROKEN;
        packet->bytes = 0;
        return slot->payload;
    }
    return co_ring_area(reader->ring, shape) +
           ((size_t)co_ring_place(reader->bytes, packet->bytes, shape.area) & (shape.area - 1));
}

static inline void co_ring_tell_read(struct co_ring_side *reader)
{
    if (reader->slots != reader->slots_told) {
        reader->slots_told = reader->slots;
        reader->bytes_told = reader->bytes;
        co_store_release(&reader->ring->read_bytes, reader->bytes); // release R1
        co_store_release(&reader->ring->read_slots, reader->slots); // release R1
    }
}

// Where packets come they come in numbers: what is asked for ahead is taken from a writer who is further already.
static inline void co_ring_drop(struct co_ring_side *reader, struct co_ring_shape shape, size_t bytes)
{
    reader->slots++;
    __builtin_prefetch(co_ring_slot_of(reader->ring, shape, reader->slots + CO_RING_AHEAD));
    if (bytes > CO_RING_INLINE) {
        reader->bytes = co_ring_after(co_ring_place(reader->bytes, bytes, shape.area), bytes);
    }
    // Told by quarters while more comes, so that the writer's line does not travel with every packet.
    if (reader->slots - reader->slots_told >= shape.slots / 4 || reader->bytes - reader->bytes_told >= shape.area / 4) {
        co_ring_tell_read(reader);
    }
}

#endif
