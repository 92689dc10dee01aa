// SPDX-License-Identifier: BSD-3-Clause
//
// One endpoint of the multicast protocol against the network at its worst: the input is a list of commands that start
// operations, move the clock, fill the send queue, kill peers and deliver datagrams: raw ones, and ones that carry a
// right check and so reach the depths of the protocol. The sanitizers judge memory; we judge that every operation can
// be brought to an end.
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fed_transport.h"
#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#define MEMBERS 4
#define SELF 1
#define TEAM UINT64_C(0x0102030405060708) // member 0 collects; of the next one member 1 does, which is SELF
#define CHUNK_BYTES 64
#define OPERATIONS_MAX 24
#define COMMANDS_MAX 400
#define BLOCK_MAX 8192
#define ENTRIES_MAX 32

struct input {
    const uint8_t *at, *end;
};

struct started {
    struct co_mcast_op *op;
    uint8_t *buffer;
};

struct world {
    struct fed_transport wire;
    struct co_auth *auth;
    struct co_mcast *mcast;
    struct co_mcast_seed *seed;
    struct co_mcast_group *group; // NULL: the own program has started nothing yet
    struct started started[OPERATIONS_MAX];
    uint32_t next_operation;
    uint64_t now_ns, sequence[MEMBERS], team;
};

static unsigned next_byte(struct input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static unsigned next_short(struct input *input)
{
    unsigned low = next_byte(input);
    return low | next_byte(input) << 8;
}

static void progress(struct world *world)
{
    co_mcast_progress(world->mcast, world->now_ns);
}

// Puts the check on a datagram whose head and body are in place, as the sender that the head names would.
static void seal(struct world *world, size_t bytes, uint64_t team)
{
    uint8_t *data = world->wire.datagram, nonce[CO_AUTH_NONCE_BYTES] = {0};
    enum co_auth_domain domain = CO_AUTH_CONTROL;
    int rank = data[2] % MEMBERS;

    if ((data[0] & 15) == CO_WIRE_CONTROL) {
        struct co_control control = {.type = data[1]};
        memcpy(&control.sequence, data + 12, 8);
        control.sequence = le64toh(control.sequence);
        co_wire_control_nonce(nonce, &control, SELF);
    } else {
        domain = (data[0] & 15) == CO_WIRE_CONTRIBUTION ? CO_AUTH_CONTRIBUTION
                 : data[1] & 1                          ? CO_AUTH_REPAIR
                                                        : CO_AUTH_CHUNK;
        co_wire_head_nonce(nonce, data);
    }
    co_auth_seal(world->auth, domain, rank, team, nonce, data, bytes, NULL, 0, data + bytes);
    world->wire.bytes = bytes + co_auth_tag_bytes(world->auth);
    world->wire.has_datagram = true;
}

static void deliver_raw(struct world *world, struct input *input, bool sealed)
{
    size_t bytes = next_byte(input);

    memset(world->wire.datagram, 0, CO_WIRE_HEAD_BYTES);
    for (size_t i = 0; i < bytes; i++) {
        world->wire.datagram[i] = (uint8_t)next_byte(input);
    }
    if (sealed && bytes >= CO_WIRE_HEAD_BYTES) {
        uint32_t team = htole32((uint32_t)world->team);
        memcpy(world->wire.datagram + 4, &team, sizeof team);
        seal(world, bytes, world->team);
    } else {
        world->wire.bytes = bytes;
        world->wire.has_datagram = true;
    }
    progress(world);
}

// An operation's number near those in use.
static uint32_t near_operation(const struct world *world, struct input *input)
{
    return world->next_operation + (uint32_t)((int8_t)next_byte(input) / 16);
}

// A chunk as another member sends it, with numbers near those in use.
static void deliver_chunk(struct world *world, struct input *input)
{
    unsigned flags = next_byte(input);
    struct co_chunk chunk = {.source = (uint16_t)(flags % MEMBERS),
                             .chunk_bytes = CHUNK_BYTES,
                             .team = (uint32_t)world->team,
                             .is_repair = flags & 0x80,
                             .is_contribution = (flags & 0xc0) == 0x40,
                             .credit_shift = flags & 0xc0 ? 0 : (uint8_t)((flags & 0x3f) % 33)};
    chunk.operation = near_operation(world, input);
    chunk.block_bytes = next_short(input) % BLOCK_MAX;
    chunk.psn = next_byte(input);
    uint64_t at = (uint64_t)chunk.psn * CHUNK_BYTES;
    uint64_t left = at < chunk.block_bytes ? chunk.block_bytes - at : 0;
    size_t payload = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    co_wire_chunk_encode(world->wire.datagram, &chunk);
    memset(world->wire.datagram + CO_WIRE_HEAD_BYTES, (int)flags, payload);
    seal(world, CO_WIRE_HEAD_BYTES + payload, world->team);
    progress(world);
}

static size_t make_progress(struct world *world, struct input *input, uint8_t *body, unsigned entries)
{
    struct co_credit_entry credits[ENTRIES_MAX];
    struct co_ack_body progress_body = {.done_before = near_operation(world, input),
                                        .done_mask = next_byte(input),
                                        .lost = next_byte(input),
                                        .echo = next_byte(input)};
    for (unsigned i = 0; i < entries; i++) {
        credits[i] = (struct co_credit_entry){.source = (uint16_t)(next_byte(input) % (MEMBERS + 1)),
                                              .gaps = next_byte(input),
                                              .received = next_short(input)};
    }
    return co_wire_ack_encode(body, &progress_body, credits, entries);
}

static size_t make_fetch(struct input *input, uint8_t *body, unsigned entries)
{
    struct co_nack_range ranges[ENTRIES_MAX];
    unsigned who = next_byte(input);
    struct co_nack_body fetch = {(uint16_t)(who % (MEMBERS + 1)), (uint16_t)(who >> 6)};
    for (unsigned i = 0; i < entries; i++) {
        ranges[i].first = next_byte(input);
        unsigned count = next_byte(input);
        ranges[i].count = count == 255 ? UINT32_MAX : count;
    }
    return co_wire_nack_encode(body, &fetch, ranges, entries);
}

// A control message with numbers near those in use; sequences grow, or nothing would get past the replay window.
static void deliver_control(struct world *world, struct input *input)
{
    unsigned source = next_byte(input) % MEMBERS, entries = next_byte(input) % ENTRIES_MAX;
    struct co_control control = {.type = (enum co_control_type)(1 + next_byte(input) % (CO_CONTROL_TYPE_END - 1)),
                                 .source = (uint16_t)source,
                                 .team = (uint32_t)world->team};
    uint8_t *body = world->wire.datagram + CO_WIRE_HEAD_BYTES;
    size_t body_bytes = 0;
    bool is_probe = control.type >= CO_CONTROL_PROBE && control.type <= CO_CONTROL_PROBE_DONE;

    control.operation = is_probe ? next_byte(input) % 3 : near_operation(world, input);
    if (control.type == CO_CONTROL_ACK) {
        control.entries = (uint16_t)entries;
        body_bytes = make_progress(world, input, body, entries);
    } else if (control.type == CO_CONTROL_NACK) {
        control.entries = (uint16_t)entries;
        body_bytes = make_fetch(input, body, entries);
    }
    unsigned replay = next_byte(input);
    control.sequence = replay >= 250 ? world->sequence[source] - (replay - 250) : ++world->sequence[source];
    control.team = is_probe ? 0 : control.team;
    co_wire_control_encode(world->wire.datagram, &control, body_bytes);
    seal(world, CO_WIRE_HEAD_BYTES + body_bytes, is_probe ? 0 : world->team);
    progress(world);
}

static struct started *free_place(struct world *world)
{
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        if (world->started[i].op == NULL) {
            return &world->started[i];
        }
    }
    return NULL;
}

static void start(struct world *world, struct input *input, bool is_bcast)
{
    struct started *place = free_place(world);
    unsigned root = next_byte(input) % MEMBERS;
    size_t bytes = next_short(input) % BLOCK_MAX, all = is_bcast ? bytes : bytes * MEMBERS;

    if (place == NULL) {
        return;
    }
    if (world->group == NULL && co_mcast_group_open(&world->group, world->mcast, world->seed, NULL) != 0) {
        abort();
    }
    place->buffer = calloc(1, all ? all : 1);
    int result = is_bcast
                     ? co_mcast_bcast_start(&place->op, world->group, (int)root, place->buffer, bytes, world->now_ns)
                     : co_mcast_allgather_start(&place->op, world->group, place->buffer, bytes, world->now_ns);
    if (result != 0) {
        place->op = NULL;
        free(place->buffer);
        place->buffer = NULL;
        return;
    }
    world->next_operation++;
    progress(world);
}

static void release(struct started *started)
{
    co_mcast_op_release(started->op);
    free(started->buffer);
    *started = (struct started){0};
}

static void release_ended(struct world *world)
{
    char text[256];

    for (int i = 0; i < OPERATIONS_MAX; i++) {
        struct co_mcast_op *op = world->started[i].op;
        if (op != NULL) {
            co_mcast_op_describe(op, text, sizeof text);
            if (co_mcast_op_state(op) != 0) {
                release(&world->started[i]);
            }
        }
    }
}

static void probe(struct world *world, struct input *input)
{
    static const int members[MEMBERS] = {0, 1, 2, 3};
    co_mcast_probe_start(world->mcast, members, MEMBERS, (int)(next_byte(input) % MEMBERS), 50000000, world->now_ns);
    progress(world);
}

static void obey(struct world *world, struct input *input)
{
    switch (next_byte(input) % 13) {
    case 0:
        start(world, input, true);
        break;
    case 1:
        start(world, input, false);
        break;
    case 2:
        world->now_ns += (uint64_t)next_short(input) * 1000;
        progress(world);
        break;
    case 3:
        deliver_raw(world, input, false);
        break;
    case 4:
        deliver_raw(world, input, true);
        break;
    case 5:
    case 6:
    case 7:
        deliver_chunk(world, input);
        break;
    case 8:
    case 9:
        deliver_control(world, input);
        break;
    case 10:
        world->wire.refuse = next_byte(input) % 8;
        if (next_byte(input) % 16 == 0) {
            world->wire.dead = (int)(next_byte(input) % MEMBERS);
        }
        progress(world);
        break;
    case 11:
        probe(world, input);
        break;
    default:
        release_ended(world);
    }
}

static bool open_world(struct world *world, unsigned flags)
{
    static const uint8_t key[CO_AUTH_KEY_BYTES];
    static const int members[MEMBERS] = {0, 1, 2, 3};

    *world = (struct world){.now_ns = 1000000, .team = TEAM + (flags >> 3 & 1)};
    fed_transport_open(&world->wire, MEMBERS);
    if (co_auth_open(&world->auth, key, MEMBERS, CO_AUTH_CHECK) != 0) {
        return false;
    }
    struct co_mcast_config config = {.transport = &world->wire.transport,
                                     .auth = world->auth,
                                     .world_rank = SELF,
                                     .world_size = MEMBERS,
                                     .subgroups = 1 + flags % 2,
                                     .chunk_bytes = CHUNK_BYTES,
                                     .window_bytes = flags & 2 ? 1024 : 65536,
                                     .staging_bytes = flags & 4 ? 4096 : 1 << 20,
                                     .eager_bytes = flags & 8 ? 0 : 2048,
                                     .collect_bytes = flags & 0x20 ? MEMBERS * BLOCK_MAX : 0,
                                     .chains = flags >> 4 & 3,
                                     .ack_radix = 2 + (flags >> 6),
                                     .cutoff_ns = 200000,
                                     .deadline_ns = UINT64_C(1000000000)};
    if (co_mcast_open(&world->mcast, &config) != 0) {
        co_auth_close(world->auth);
        return false;
    }
    if (co_mcast_seed_open(&world->seed, world->mcast, world->team, members, MEMBERS, SELF) != 0) {
        abort();
    }
    return true;
}

// All peers fall silent for good: the dead are told, time passes, and every operation must end.
static void close_world(struct world *world)
{
    world->wire.refuse = 0;
    for (int rank = 0; rank < MEMBERS; rank++) {
        if (rank != SELF) {
            world->wire.dead = rank;
            progress(world);
        }
    }
    for (int i = 0; i < 10; i++) {
        world->now_ns += UINT64_C(1000000000);
        progress(world);
    }
    release_ended(world);
    for (int i = 0; i < OPERATIONS_MAX; i++) {
        if (world->started[i].op != NULL) {
            abort(); // waits for ever
        }
    }
    co_mcast_seed_close(world->mcast, world->seed);
    co_mcast_close(world->mcast);
    world->wire.transport.ops->close(&world->wire.transport);
    co_auth_close(world->auth);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct world world;
    struct input input = {.at = data, .end = data + bytes};

    if (!open_world(&world, next_byte(&input))) {
        return 0;
    }
    for (int i = 0; i < COMMANDS_MAX && input.at < input.end; i++) {
        obey(&world, &input);
    }
    close_world(&world);
    return 0;
}
