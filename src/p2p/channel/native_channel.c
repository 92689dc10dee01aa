// SPDX-License-Identifier: BSD-3-Clause
//
// The side of the channel between hosts that its callers see: packets, credit, transfers. No native call is made here
// but at the end. No peer has more than half of the packets, so that one that takes nothing does not keep them from the
// others. Hot.
#include "p2p/channel/native_channel.h"

#include <errno.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "base/log.h"
#include "p2p/channel/native_channel_state.h"

// Packets that native has done with.
static void packets_reclaim(struct co_native_channel *self)
{
    unsigned number;
    while (co_index_queue_take(&self->ended_packets, &number)) {
        const struct co_native_operation *operation = &self->operations[number];
        struct co_native_peer *peer = &self->peers[operation->peer];
        peer->packets--;
        self->free_packets[self->free_packet_count++] = (uint16_t)number;
        if (operation->result != 0 && !peer->is_lost) {
            peer->is_lost = true;
            self->lost++;
        }
    }
}

static bool has_packet(const struct co_native_channel *self, int peer)
{
    return self->free_packet_count > 0 && self->peers[peer].packets < self->packets / 2;
}

static void operation_start(struct co_native_channel *self, unsigned number,
                            const struct co_native_operation *operation)
{
    self->operations[number] = *operation;
    co_add_relaxed(number < self->packets ? &self->packets_out : &self->transfers, 1); // relaxed: a hint
    co_index_queue_put(&self->starts, number);
}

static bool packet_send(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                        size_t first_bytes, const void *second, size_t second_bytes)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    if (!has_packet(self, peer)) {
        packets_reclaim(self);
        if (!has_packet(self, peer)) {
            return false;
        }
    }
    unsigned number = self->free_packets[--self->free_packet_count];
    struct co_native_packet *out = co_native_packet_out(self, number);
    co_store_relaxed(&out->mark, 1); // relaxed: the queue orders it
    out->head = *packet;
    co_memory_copy(out->payload, first, first_bytes);
    co_memory_copy(out->payload + first_bytes, second, second_bytes);
    self->peers[peer].packets++;
    struct co_native_operation operation = {
        .address = out, .bytes = sizeof(*out) + first_bytes + second_bytes, .peer = peer, .tag = CO_NATIVE_TAG_PACKET};
    operation_start(self, number, &operation);
    return true;
}

static void credit_give_back(struct co_channel *channel, int peer, size_t bytes)
{
    co_channel_credits_give_back(&co_native_channel_of(channel)->credits, channel, peer, bytes);
}

static uint64_t credit_given_back(const struct co_channel *channel, int peer)
{
    return ((const struct co_native_channel *)channel)->credits.peers[peer].given_back;
}

// False: not taken.
static bool packet_hand_over(struct co_native_channel *self, uint64_t number, co_channel_handler *handler, void *arg)
{
    const struct co_native_arrival *arrival = &self->arrivals[number % self->packets];
    const struct co_native_packet *packet = co_native_packet_in(self, number);
    if (arrival->bytes < sizeof(*packet) || arrival->bytes != sizeof(*packet) + packet->head.bytes ||
        packet->head.kind == CO_PACKET_BROKEN || (unsigned)arrival->peer >= (unsigned)self->config.size) {
        co_log(CO_LOG_ERROR, CO_SUBSYS_P2P, "%zu bytes from rank %d are no message of castoff: left out",
               arrival->bytes, arrival->peer);
        return true;
    }
    if (packet->head.kind != CO_PACKET_CREDIT) {
        return handler(arg, arrival->peer, &packet->head, packet->payload);
    }
    co_channel_credits_hear(&self->credits, arrival->peer, &packet->head, packet->payload);
    return true;
}

static int packets_poll(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    uint64_t consumed = co_load_relaxed(&self->consumed);
    uint64_t arrived = co_load_acquire(&self->arrived); // acquire C1
    int count = 0;
    while (count < most && consumed < arrived && packet_hand_over(self, consumed, handler, arg)) {
        co_store_release(&self->consumed, ++consumed); // release C2
        count++;
    }
    if (self->credits.telling > 0) {
        co_channel_credits_tell_waiting(&self->credits, channel);
    }
    return count;
}

static unsigned expected_first(const struct co_native_channel *self)
{
    return self->packets + CO_NATIVE_TRANSFERS;
}

static uint32_t transfer_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    if (self->free_expected_count == 0) {
        return 0;
    }
    unsigned number = self->free_expected[--self->free_expected_count];
    uint32_t name = number - expected_first(self) + 1;
    struct co_native_operation operation = {
        .address = buffer, .bytes = bytes, .peer = peer, .tag = (int)name, .is_receive = true, .owner = owner};
    operation_start(self, number, &operation);
    return name;
}

static bool transfer_start(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number,
                           void *owner)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    if (self->free_outgoing_count == 0) {
        return false;
    }
    struct co_native_operation operation = {
        .address = (void *)(uintptr_t)data, .bytes = bytes, .peer = peer, .tag = (int)number, .owner = owner};
    operation_start(self, self->free_outgoing[--self->free_outgoing_count], &operation);
    return true;
}

// One that nobody has been told about; a broken channel reaches nobody.
static bool peer_find_lost(struct co_native_channel *self, struct co_channel_end *end)
{
    int broken = co_load_relaxed(&self->broken); // relaxed: an errno
    if (self->lost == 0 && (broken == 0 || self->is_broken_told)) {
        return false;
    }
    for (int peer = 0; peer < self->config.size; peer++) {
        struct co_native_peer *state = &self->peers[peer];
        if ((state->is_lost || broken != 0) && !state->is_told) {
            self->lost -= state->is_lost;
            state->is_lost = state->is_told = true;
            *end = (struct co_channel_end){.peer = peer, .result = broken != 0 ? broken : -ECONNRESET};
            return true;
        }
    }
    self->is_broken_told = broken != 0;
    return false;
}

static bool transfer_next_end(struct co_channel *channel, struct co_channel_end *end)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    unsigned number;
    packets_reclaim(self);
    while (co_index_queue_take(&self->ended_transfers, &number)) {
        struct co_native_operation *operation = &self->operations[number];
        if (operation->is_receive) {
            self->free_expected[self->free_expected_count++] = (uint16_t)number;
        } else {
            self->free_outgoing[self->free_outgoing_count++] = (uint16_t)number;
        }
        if (operation->owner != NULL) {
            *end = (struct co_channel_end){operation->owner, operation->peer, operation->is_receive, operation->result};
            operation->owner = NULL;
            return true;
        }
    }
    return peer_find_lost(self, end);
}

static void peer_forget(struct co_channel *channel, int peer)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    for (unsigned i = self->packets; i < co_native_operation_count(self); i++) {
        struct co_native_operation *operation = &self->operations[i];
        if (operation->peer == peer && operation->owner != NULL) {
            operation->owner = NULL;
            co_store_relaxed(&operation->is_forgotten, true);
        }
    }
    atomic_fetch_add_explicit(&self->forgotten, 1, memory_order_release); // release C3: which ones
}

static void channel_free(struct co_native_channel *self)
{
    co_index_queue_close(&self->starts);
    co_index_queue_close(&self->ended_packets);
    co_index_queue_close(&self->ended_transfers);
    free(self->operations);
    free(self->arrivals);
    free(self->done);
    free(self->under_way);
    free(self->peers);
    co_channel_credits_close(&self->credits);
    free(self->free_packets);
    free(self->memory);
    free(self);
}

// Native reads it, or writes to it, until the process ends. There is one channel.
static _Atomic(unsigned char *) left_to_native;

static void channel_close(struct co_channel *channel)
{
    struct co_native_channel *self = co_native_channel_of(channel);
    if (!co_native_channel_end(self)) {
        co_store_relaxed(&left_to_native, self->memory); // relaxed: for leak checkers alone
        self->memory = NULL;
    }
    channel_free(self);
}

static const struct co_channel_ops ops = {.send = packet_send,
                                          .poll = packets_poll,
                                          .give_back = credit_give_back,
                                          .given_back = credit_given_back,
                                          .close = channel_close,
                                          .expect = transfer_expect,
                                          .transfer = transfer_start,
                                          .next_end = transfer_next_end,
                                          .flush = co_native_channel_flush,
                                          .forget = peer_forget};

static size_t packet_bytes_of(size_t eager)
{
    size_t bytes = sizeof(struct co_native_packet) + sizeof(struct co_packet_cts) + eager;
    return (bytes + CO_CACHE_LINE - 1) & ~(size_t)(CO_CACHE_LINE - 1);
}

static int channel_allocate(struct co_native_channel *self)
{
    unsigned operations = co_native_operation_count(self);
    self->operations = calloc(operations, sizeof(*self->operations));
    self->arrivals = calloc(self->packets, sizeof(*self->arrivals));
    self->done = calloc(operations, sizeof(*self->done));
    self->under_way = calloc(operations, sizeof(*self->under_way));
    self->peers = calloc((size_t)self->config.size, sizeof(*self->peers));
    self->free_packets = calloc(operations, sizeof(*self->free_packets));
    self->memory = calloc(2 * (size_t)self->packets, self->packet_bytes);
    bool has_credits = co_channel_credits_open(&self->credits, self->config.size, self->config.credit) == 0;
    bool has_queues = co_index_queue_open(&self->starts, operations) == 0;
    has_queues = co_index_queue_open(&self->ended_packets, operations) == 0 && has_queues;
    has_queues = co_index_queue_open(&self->ended_transfers, operations) == 0 && has_queues;
    if (!has_credits || !has_queues || self->operations == NULL || self->arrivals == NULL || self->done == NULL ||
        self->under_way == NULL || self->peers == NULL || self->free_packets == NULL || self->memory == NULL) {
        return -ENOMEM;
    }
    return self->native.reserve(self->native.arg, self->packets + operations);
}

static void operations_fill_free(struct co_native_channel *self)
{
    for (unsigned i = 0; i < co_native_operation_count(self); i++) {
        self->free_packets[i] = (uint16_t)i;
    }
    self->free_outgoing = self->free_packets + self->packets;
    self->free_expected = self->free_outgoing + CO_NATIVE_TRANSFERS;
    self->free_packet_count = self->packets;
    self->free_outgoing_count = self->free_expected_count = CO_NATIVE_TRANSFERS;
}

int co_native_channel_open(struct co_channel **out, const struct co_native_channel_config *config)
{
    size_t packet_bytes = packet_bytes_of(config->eager), packets = config->memory / 2 / packet_bytes;
    packets = packets > CO_NATIVE_PACKETS_MOST ? CO_NATIVE_PACKETS_MOST : packets;
    if (packets < CO_NATIVE_PACKETS_LEAST) {
        return -ENOSPC;
    }
    struct co_native_channel *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return -ENOMEM;
    }
    *self = (struct co_native_channel){.channel = {&ops, packet_bytes - sizeof(struct co_native_packet)},
                                       .config = *config,
                                       .native = *config->native,
                                       .packets = (unsigned)packets,
                                       .packet_bytes = packet_bytes,
                                       .mover = CO_TRYLOCK_INIT};
    int error = channel_allocate(self);
    if (error != 0) {
        channel_free(self);
        return error;
    }
    operations_fill_free(self);
    *out = &self->channel;
    return 0;
}

size_t co_native_channel_bytes(const struct co_channel *channel)
{
    const struct co_native_channel *self = (const struct co_native_channel *)channel;
    return 2 * (size_t)self->packets * self->packet_bytes +
           co_native_operation_count(self) * (sizeof(*self->operations) + sizeof(*self->done)) +
           (size_t)self->config.size * (sizeof(*self->peers) + sizeof(*self->credits.peers));
}
