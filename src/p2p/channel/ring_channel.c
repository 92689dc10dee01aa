// SPDX-License-Identifier: BSD-3-Clause
//
// Rings between the ranks of a node. All memory is asked for at open and written to there, so that a full /dev/shm is
// an error at the start and never a signal later; by its reader, so that it comes to lie in the memory near to the one
// who looks there all the time. A reader looks at one line for each other rank. Hot.
#include "p2p/channel/ring_channel.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/memory/shm_segment.h"
#include "p2p/channel/ring.h"

#define AREA_MOST ((size_t)256 << 10) // holds enough pieces of a stream for both sides to copy all the time
#define SMALL_RING ((size_t)48 << 10) // bytes: an area of 32 KiB, and slots
#define AREA_LEAST ((size_t)2 << 10)
#define SLOTS_MOST 512 // packets that a rank can leave to another one which is not there
#define SLOTS 64       // before the area is made smaller for them
#define SLOTS_LEAST 16

struct ring_channel {
    struct co_channel channel; // first: what callers see
    struct co_ring_channel_config config;
    struct co_shm_segment segment;
    struct co_ring_shape shape;
    struct co_ring_side *writers, *readers; // [size]; none to ourselves
};

static struct ring_channel *ring_own(struct co_channel *channel)
{
    return (struct ring_channel *)channel;
}

static bool ring_fits(struct co_ring_shape shape, size_t memory, int size)
{
    return (size_t)size * (size_t)(size - 1) * co_ring_bytes(shape) <= memory;
}

struct co_ring_shape co_ring_channel_shape(size_t memory, int size, bool is_deep)
{
    struct co_ring_shape shape = {is_deep ? SLOTS_MOST : SLOTS, AREA_MOST};
    while (shape.area >= AREA_LEAST && !ring_fits(shape, memory, size)) {
        bool has_slots = shape.slots > SLOTS_LEAST && shape.slots * sizeof(struct co_ring_slot) > shape.area;
        shape.slots /= has_slots ? 2 : 1;
        shape.area /= has_slots ? 1 : 2;
    }
    shape.area = shape.area < AREA_LEAST ? 0 : shape.area;
    while (shape.slots < SLOTS_MOST && ring_fits((struct co_ring_shape){shape.slots * 2, shape.area}, memory, size)) {
        shape.slots *= 2;
    }
    return shape;
}

static bool packet_send(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct ring_channel *rings = ring_own(channel);
    return co_ring_write(&rings->writers[peer], rings->shape, packet, first, first_bytes, second, second_bytes);
}

static int ring_poll(struct ring_channel *rings, int peer, int most, co_channel_handler *handler, void *arg)
{
    struct co_ring_side *reader = &rings->readers[peer];
    struct co_packet packet;
    const unsigned char *payload;
    int count = 0;
    while (count < most && !reader->is_broken && (payload = co_ring_front(reader, rings->shape, &packet)) != NULL) {
        reader->is_broken = packet.kind == CO_PACKET_BROKEN;
        if (!handler(arg, peer, &packet, payload)) {
            break;
        }
        co_ring_drop(reader, rings->shape, packet.bytes);
        count++;
    }
    if (count < most) {
        co_ring_tell_read(reader); // the writer may go on writing for long without us
    }
    return count;
}

static int rings_poll(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct ring_channel *rings = ring_own(channel);
    int count = 0;
    for (int peer = 0; peer < rings->config.size; peer++) {
        if (peer != rings->config.rank) {
            count += ring_poll(rings, peer, most, handler, arg);
        }
    }
    return count;
}

static bool ring_has_more(const struct co_channel *channel, int peer)
{
    const struct ring_channel *rings = (const struct ring_channel *)channel;
    struct co_packet packet;
    return !rings->readers[peer].is_broken && co_ring_front(&rings->readers[peer], rings->shape, &packet) != NULL;
}

static size_t ring_room(struct co_channel *channel, int peer, size_t piece, size_t wanted)
{
    struct ring_channel *rings = ring_own(channel);
    return co_ring_room(&rings->writers[peer], rings->shape, piece, wanted);
}

static _Atomic uint64_t *ring_gate(struct co_channel *channel, int peer, bool is_writer)
{
    struct ring_channel *rings = ring_own(channel);
    return &(is_writer ? rings->writers : rings->readers)[peer].ring->gate;
}

static void credit_give_back(struct co_channel *channel, int peer, size_t bytes)
{
    struct ring_channel *rings = ring_own(channel);
    struct co_ring_side *reader = &rings->readers[peer];
    reader->given_back += bytes;
    if (reader->given_back - reader->given_back_told >= rings->config.credit / 8) {
        reader->given_back_told = reader->given_back;
        co_store_relaxed(&reader->ring->given_back, reader->given_back); // relaxed: a count, nothing hangs on it
    }
}

static uint64_t credit_given_back(const struct co_channel *channel, int peer)
{
    const struct ring_channel *rings = (const struct ring_channel *)channel;
    return co_load_relaxed(&rings->writers[peer].ring->given_back); // relaxed: as above
}

static void channel_close(struct co_channel *channel)
{
    struct ring_channel *rings = ring_own(channel);
    co_shm_segment_close(&rings->segment);
    free(rings->writers);
    free(rings->readers);
    free(rings);
}

static const struct co_channel_ops ops = {.send = packet_send,
                                          .poll = rings_poll,
                                          .has_more = ring_has_more,
                                          .room = ring_room,
                                          .gate = ring_gate,
                                          .give_back = credit_give_back,
                                          .given_back = credit_given_back,
                                          .close = channel_close};

// Of an ordered pair; those of a reader lie in a row.
static struct co_ring *rings_find(const struct ring_channel *rings, int writer, int reader)
{
    size_t row = (size_t)reader * (size_t)(rings->config.size - 1) + (size_t)(writer < reader ? writer : writer - 1);
    return (struct co_ring *)((char *)rings->segment.base + row * co_ring_bytes(rings->shape));
}

static int rings_allocate(struct ring_channel *rings)
{
    size_t size = (size_t)rings->config.size;
    rings->writers = calloc(size, sizeof(*rings->writers));
    rings->readers = calloc(size, sizeof(*rings->readers));
    return rings->writers == NULL || rings->readers == NULL ? -ENOMEM : 0;
}

static size_t rings_bytes(const struct co_ring_channel_config *config, struct co_ring_shape shape)
{
    return (size_t)config->size * (size_t)(config->size - 1) * co_ring_bytes(shape);
}

// By the first rank. What is asked for, or less where /dev/shm is small: half of what is free, for collectives have
// been promised memory that they have not touched; and what makes rings larger than need be, of an eighth.
static size_t rings_memory(const struct co_ring_channel_config *config)
{
    size_t small = (size_t)config->size * (size_t)(config->size - 1) * SMALL_RING;
    size_t room = co_shm_segment_room((size_t)config->size * CO_SHM_NATIVE_BYTES), most = room / 8;
    if (most < small) {
        most = small < room / 2 ? small : room / 2;
    }
    return most < config->memory ? most : config->memory;
}

static int rings_create(struct ring_channel *rings, const char *name, size_t memory)
{
    const struct co_ring_channel_config *config = &rings->config;
    struct co_ring_shape shape = co_ring_channel_shape(memory, config->size, config->is_deep);
    return shape.area == 0 ? -ENOSPC
                           : co_shm_segment_create(&rings->segment, name, rings_bytes(config, shape),
                                                   (size_t)config->size * CO_SHM_NATIVE_BYTES);
}

// On every rank, once the first one has made the segment.
static int rings_map(struct ring_channel *rings, const char *name)
{
    const struct co_ring_channel_config *config = &rings->config;
    size_t bytes = rings_bytes(config, rings->shape), own = bytes / (size_t)config->size;
    int error = rings_allocate(rings);
    if (error == 0 && config->rank != 0) {
        error = co_shm_segment_attach(&rings->segment, name, bytes);
        rings->segment.name[0] = '\0'; // the first rank's to remove
    }
    return error != 0 ? error : co_shm_segment_touch((char *)rings->segment.base + (size_t)config->rank * own, own);
}

static void rings_find_all(struct ring_channel *rings)
{
    const struct co_ring_channel_config *config = &rings->config;
    for (int peer = 0; peer < config->size; peer++) {
        if (peer != config->rank) {
            rings->writers[peer].ring = rings_find(rings, config->rank, peer);
            rings->readers[peer].ring = rings_find(rings, peer, config->rank);
        }
    }
}

enum { STATUS, KIB };

struct co_channel *co_ring_channel_make(const struct co_ring_channel_config *config, int words[])
{
    char name[CO_SHM_NAME_MAX];
    struct ring_channel *rings = calloc(1, sizeof(*rings));
    words[STATUS] = rings == NULL ? -ENOMEM : 0;
    words[KIB] = INT_MAX;
    if (rings == NULL) {
        return NULL;
    }
    rings->config = *config;
    rings->channel.ops = &ops;
    if (config->rank == 0) {
        size_t kib = rings_memory(config) >> 10;
        words[KIB] = kib < INT_MAX ? (int)kib : INT_MAX;
        co_shm_segment_name(name, config->job_key, config->number);
        words[STATUS] = rings_create(rings, name, (size_t)words[KIB] << 10);
    }
    return &rings->channel;
}

int co_ring_channel_map(struct co_channel *channel, const int words[])
{
    char name[CO_SHM_NAME_MAX];
    if (words[STATUS] < 0) {
        return words[STATUS];
    }
    struct ring_channel *rings = ring_own(channel);
    const struct co_ring_channel_config *config = &rings->config;
    rings->shape = co_ring_channel_shape((size_t)words[KIB] << 10, config->size, config->is_deep);
    rings->channel.payload_most = rings->shape.area / 4 + sizeof(struct co_packet_handle);
    co_shm_segment_name(name, config->job_key, config->number);
    return rings_map(rings, name);
}

struct co_channel *co_ring_channel_settle(struct co_channel *channel, int status)
{
    if (channel != NULL && status < 0) {
        channel_close(channel);
        return NULL;
    }
    if (channel != NULL) {
        co_shm_segment_unlink(&ring_own(channel)->segment);
        rings_find_all(ring_own(channel));
    }
    return channel;
}
