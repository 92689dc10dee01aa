// SPDX-License-Identifier: BSD-3-Clause
//
// The side of the channel between hosts that its callers see: packets into frames and out of them, credit, bodies. No
// native call is made here but at the end. No peer has more than half of the frames, so that one that takes nothing
// does not keep them from the others. Hot.
#include "p2p/channel/carrier_channel.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "p2p/channel/carrier_state.h"

static struct co_carrier_frame *frame_of(const struct co_carrier *carrier, unsigned number)
{
    return co_carrier_frame_out(carrier, number);
}

// Frames that native has done with.
static void reclaim_frames(struct co_carrier *carrier)
{
    unsigned number;
    while (co_index_queue_take(&carrier->ended_frames, &number)) {
        const struct co_carrier_operation *operation = &carrier->operations[number];
        struct co_carrier_peer *peer = &carrier->peers[operation->peer];
        peer->frames--;
        carrier->free_frames[carrier->free_frame_count++] = (uint16_t)number;
        if (operation->result != 0 && !peer->is_lost) {
            peer->is_lost = true;
            carrier->lost++;
        }
    }
}

static bool has_frame(const struct co_carrier *carrier, int peer)
{
    return carrier->free_frame_count > 0 && carrier->peers[peer].frames < carrier->frames / 2;
}

static void start(struct co_carrier *carrier, unsigned number, const struct co_carrier_operation *operation)
{
    carrier->operations[number] = *operation;
    co_add_relaxed(number < carrier->frames ? &carrier->frames_out : &carrier->bodies, 1); // relaxed: a hint
    co_index_queue_put(&carrier->starts, number);
}

static bool send_packet(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    if (!has_frame(carrier, peer)) {
        reclaim_frames(carrier);
        if (!has_frame(carrier, peer)) {
            return false;
        }
    }
    unsigned number = carrier->free_frames[--carrier->free_frame_count];
    struct co_carrier_frame *frame = frame_of(carrier, number);
    co_store_relaxed(&frame->mark, 1); // relaxed: the queue orders it
    frame->packet = *packet;
    if (first_bytes > 0) {
        memcpy(frame->payload, first, first_bytes);
    }
    if (second_bytes > 0) {
        memcpy(frame->payload + first_bytes, second, second_bytes);
    }
    carrier->peers[peer].frames++;
    struct co_carrier_operation operation = {.address = frame,
                                             .bytes = sizeof(*frame) + first_bytes + second_bytes,
                                             .peer = peer,
                                             .tag = CO_CARRIER_TAG_FRAME};
    start(carrier, number, &operation);
    return true;
}

static bool tell_credit(struct co_carrier *carrier, int peer)
{
    struct co_packet_credit credit = {carrier->peers[peer].owed};
    struct co_packet packet = {.kind = CO_PACKET_CREDIT, .bytes = sizeof(credit)};
    if (!send_packet(&carrier->channel, peer, &packet, &credit, sizeof(credit), NULL, 0)) {
        return false;
    }
    carrier->peers[peer].told = credit.given_back;
    return true;
}

static void give_back(struct co_channel *channel, int peer, size_t bytes)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    struct co_carrier_peer *state = &carrier->peers[peer];
    state->owed += bytes;
    if (state->owed - state->told >= carrier->config.credit / 8 && !state->wants_to_tell &&
        !tell_credit(carrier, peer)) {
        state->wants_to_tell = true;
        carrier->telling++;
    }
}

static void tell_waiting(struct co_carrier *carrier)
{
    for (int peer = 0; peer < carrier->config.size && carrier->telling > 0; peer++) {
        struct co_carrier_peer *state = &carrier->peers[peer];
        if (state->wants_to_tell && tell_credit(carrier, peer)) {
            state->wants_to_tell = false;
            carrier->telling--;
        }
    }
}

static uint64_t given_back(const struct co_channel *channel, int peer)
{
    return ((const struct co_carrier *)channel)->peers[peer].given_back;
}

// False: not taken.
static bool hand_over(struct co_carrier *carrier, uint64_t number, co_channel_handler *handler, void *arg)
{
    const struct co_carrier_arrival *arrival = &carrier->arrivals[number % carrier->frames];
    const struct co_carrier_frame *frame = co_carrier_frame_in(carrier, number);
    if (arrival->bytes < sizeof(*frame) || arrival->bytes != sizeof(*frame) + frame->packet.bytes ||
        frame->packet.kind == CO_PACKET_BROKEN || (unsigned)arrival->peer >= (unsigned)carrier->config.size) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "%zu bytes from rank %d are no message of castoff: left out",
               arrival->bytes, arrival->peer);
        return true;
    }
    if (frame->packet.kind != CO_PACKET_CREDIT) {
        return handler(arg, arrival->peer, &frame->packet, frame->payload);
    }
    struct co_packet_credit credit;
    if (frame->packet.bytes == sizeof(credit)) {
        memcpy(&credit, frame->payload, sizeof(credit));
        carrier->peers[arrival->peer].given_back = credit.given_back;
    }
    return true;
}

static int poll_frames(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    uint64_t consumed = co_load_relaxed(&carrier->consumed);
    uint64_t arrived = co_load_acquire(&carrier->arrived); // acquire C1
    int count = 0;
    while (count < most && consumed < arrived && hand_over(carrier, consumed, handler, arg)) {
        co_store_release(&carrier->consumed, ++consumed); // release C2
        count++;
    }
    if (carrier->telling > 0) {
        tell_waiting(carrier);
    }
    return count;
}

static unsigned first_expected(const struct co_carrier *carrier)
{
    return carrier->frames + CO_CARRIER_BODIES;
}

static uint32_t expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    if (carrier->free_expected_count == 0) {
        return 0;
    }
    unsigned number = carrier->free_expected[--carrier->free_expected_count];
    uint32_t name = number - first_expected(carrier) + 1;
    struct co_carrier_operation operation = {
        .address = buffer, .bytes = bytes, .peer = peer, .tag = (int)name, .is_receive = true, .owner = owner};
    start(carrier, number, &operation);
    return name;
}

static bool carry(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number, void *owner)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    if (carrier->free_carried_count == 0) {
        return false;
    }
    struct co_carrier_operation operation = {
        .address = (void *)(uintptr_t)data, .bytes = bytes, .peer = peer, .tag = (int)number, .owner = owner};
    start(carrier, carrier->free_carried[--carrier->free_carried_count], &operation);
    return true;
}

// One that nobody has been told about; a broken channel reaches nobody.
static bool find_lost(struct co_carrier *carrier, struct co_channel_end *end)
{
    int broken = co_load_relaxed(&carrier->broken); // relaxed: an errno
    if (carrier->lost == 0 && (broken == 0 || carrier->is_broken_told)) {
        return false;
    }
    for (int peer = 0; peer < carrier->config.size; peer++) {
        struct co_carrier_peer *state = &carrier->peers[peer];
        if ((state->is_lost || broken != 0) && !state->is_told) {
            carrier->lost -= state->is_lost;
            state->is_lost = state->is_told = true;
            *end = (struct co_channel_end){.peer = peer, .result = broken != 0 ? broken : -ECONNRESET};
            return true;
        }
    }
    carrier->is_broken_told = broken != 0;
    return false;
}

static bool next_end(struct co_channel *channel, struct co_channel_end *end)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    unsigned number;
    reclaim_frames(carrier);
    while (co_index_queue_take(&carrier->ended_bodies, &number)) {
        struct co_carrier_operation *operation = &carrier->operations[number];
        if (operation->is_receive) {
            carrier->free_expected[carrier->free_expected_count++] = (uint16_t)number;
        } else {
            carrier->free_carried[carrier->free_carried_count++] = (uint16_t)number;
        }
        if (operation->owner != NULL) {
            *end = (struct co_channel_end){operation->owner, operation->peer, operation->is_receive, operation->result};
            operation->owner = NULL;
            return true;
        }
    }
    return find_lost(carrier, end);
}

static void forget(struct co_channel *channel, int peer)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    for (unsigned i = carrier->frames; i < co_carrier_operation_count(carrier); i++) {
        struct co_carrier_operation *operation = &carrier->operations[i];
        if (operation->peer == peer && operation->owner != NULL) {
            operation->owner = NULL;
            co_store_relaxed(&operation->is_forgotten, true);
        }
    }
    atomic_fetch_add_explicit(&carrier->forgotten, 1, memory_order_release);
}

static void free_carrier(struct co_carrier *carrier)
{
    co_index_queue_close(&carrier->starts);
    co_index_queue_close(&carrier->ended_frames);
    co_index_queue_close(&carrier->ended_bodies);
    free(carrier->operations);
    free(carrier->arrivals);
    free(carrier->done);
    free(carrier->under_way);
    free(carrier->peers);
    free(carrier->free_frames);
    free(carrier->memory);
    free(carrier);
}

// Native reads it, or writes to it, until the process ends. There is one carrier.
static _Atomic(unsigned char *) left_to_native;

static void close_channel(struct co_channel *channel)
{
    struct co_carrier *carrier = co_carrier_of(channel);
    if (!co_carrier_end(carrier)) {
        co_store_relaxed(&left_to_native, carrier->memory); // relaxed: for leak checkers alone
        carrier->memory = NULL;
    }
    free_carrier(carrier);
}

static const struct co_channel_ops ops = {.send = send_packet,
                                          .poll = poll_frames,
                                          .give_back = give_back,
                                          .given_back = given_back,
                                          .close = close_channel,
                                          .expect = expect,
                                          .carry = carry,
                                          .next_end = next_end,
                                          .flush = co_carrier_flush,
                                          .forget = forget};

static size_t frame_bytes_of(size_t eager)
{
    size_t bytes = sizeof(struct co_carrier_frame) + sizeof(struct co_packet_clear) + eager;
    return (bytes + CO_CACHE_LINE - 1) & ~(size_t)(CO_CACHE_LINE - 1);
}

static int allocate(struct co_carrier *carrier)
{
    unsigned operations = co_carrier_operation_count(carrier);
    carrier->operations = calloc(operations, sizeof(*carrier->operations));
    carrier->arrivals = calloc(carrier->frames, sizeof(*carrier->arrivals));
    carrier->done = calloc(operations, sizeof(*carrier->done));
    carrier->under_way = calloc(operations, sizeof(*carrier->under_way));
    carrier->peers = calloc((size_t)carrier->config.size, sizeof(*carrier->peers));
    carrier->free_frames = calloc(operations, sizeof(*carrier->free_frames));
    carrier->memory = calloc(2 * (size_t)carrier->frames, carrier->frame_bytes);
    bool has_queues = co_index_queue_open(&carrier->starts, operations) == 0;
    has_queues = co_index_queue_open(&carrier->ended_frames, operations) == 0 && has_queues;
    has_queues = co_index_queue_open(&carrier->ended_bodies, operations) == 0 && has_queues;
    if (!has_queues || carrier->operations == NULL || carrier->arrivals == NULL || carrier->done == NULL ||
        carrier->under_way == NULL || carrier->peers == NULL || carrier->free_frames == NULL ||
        carrier->memory == NULL) {
        return -ENOMEM;
    }
    return carrier->native.reserve(carrier->native.arg, carrier->frames + operations);
}

static void fill_free(struct co_carrier *carrier)
{
    for (unsigned i = 0; i < co_carrier_operation_count(carrier); i++) {
        carrier->free_frames[i] = (uint16_t)i;
    }
    carrier->free_carried = carrier->free_frames + carrier->frames;
    carrier->free_expected = carrier->free_carried + CO_CARRIER_BODIES;
    carrier->free_frame_count = carrier->frames;
    carrier->free_carried_count = carrier->free_expected_count = CO_CARRIER_BODIES;
}

int co_carrier_channel_open(struct co_channel **out, const struct co_carrier_channel_config *config)
{
    size_t frame_bytes = frame_bytes_of(config->eager), frames = config->memory / 2 / frame_bytes;
    frames = frames > CO_CARRIER_FRAMES_MOST ? CO_CARRIER_FRAMES_MOST : frames;
    if (frames < CO_CARRIER_FRAMES_LEAST) {
        return -ENOSPC;
    }
    struct co_carrier *carrier = calloc(1, sizeof(*carrier));
    if (carrier == NULL) {
        return -ENOMEM;
    }
    *carrier = (struct co_carrier){.channel = {&ops, frame_bytes - sizeof(struct co_carrier_frame)},
                                   .config = *config,
                                   .native = *config->native,
                                   .frames = (unsigned)frames,
                                   .frame_bytes = frame_bytes,
                                   .mover = CO_TRYLOCK_INIT};
    int error = allocate(carrier);
    if (error != 0) {
        free_carrier(carrier);
        return error;
    }
    fill_free(carrier);
    *out = &carrier->channel;
    return 0;
}

size_t co_carrier_channel_bytes(const struct co_channel *channel)
{
    const struct co_carrier *carrier = (const struct co_carrier *)channel;
    return 2 * (size_t)carrier->frames * carrier->frame_bytes +
           co_carrier_operation_count(carrier) * (sizeof(*carrier->operations) + sizeof(*carrier->done)) +
           (size_t)carrier->config.size * sizeof(*carrier->peers);
}
