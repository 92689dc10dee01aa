// SPDX-License-Identifier: BSD-3-Clause
//
// Opening is collective, so each rank opens in a thread of its own; afterwards one thread plays all of them.
#include "p2p_world.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "p2p/channel/native_channel.h"
#include "p2p/channel/rc_channel.h"
#include "p2p/channel/ring_channel.h"
#include "fake_rc.h"
#include "fake_native.h"

#define VALUES 4   // of an exchange at the opening
#define SETTLED 20 // rounds without an event

static struct {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    int least[VALUES], size;
    struct co_channel **channels;
    size_t credit, memory;
} opening = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void minimum(int *values, int count)
{
    if (pthread_barrier_wait(&opening.barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        for (int i = 0; i < VALUES; i++) {
            opening.least[i] = INT_MAX;
        }
    }
    pthread_barrier_wait(&opening.barrier);
    pthread_mutex_lock(&opening.lock);
    for (int i = 0; i < count && i < VALUES; i++) {
        opening.least[i] = values[i] < opening.least[i] ? values[i] : opening.least[i];
    }
    pthread_mutex_unlock(&opening.lock);
    pthread_barrier_wait(&opening.barrier);
    for (int i = 0; i < count && i < VALUES; i++) {
        values[i] = opening.least[i];
    }
    pthread_barrier_wait(&opening.barrier);
}

static void *open_channel(void *arg)
{
    int rank = (int)(intptr_t)arg;
    struct co_ring_channel_config config = {.job_key = (uint64_t)getpid() << 20 | 0x9215,
                                            .rank = rank,
                                            .size = opening.size,
                                            .memory = opening.memory,
                                            .credit = opening.credit};
    int words[CO_RING_CHANNEL_WORDS];
    struct co_channel *channel = co_ring_channel_make(&config, words);
    minimum(words, CO_RING_CHANNEL_WORDS);
    int status = co_ring_channel_map(channel, words);
    minimum(&status, 1);
    opening.channels[rank] = co_ring_channel_settle(channel, status);
    return (void *)(intptr_t)status;
}

static int read_own_memory(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    memcpy(local, (const void *)(uintptr_t)remote, bytes);
    return 0;
}

// Of the ranks of a node.
static void open_rings(struct p2p_world *world, const struct p2p_world_options *options, int first, int size)
{
    pthread_t threads[P2P_WORLD_MOST];
    opening.size = size;
    opening.channels = &world->channels[first];
    opening.credit = options->credit;
    opening.memory = options->memory != 0 ? options->memory : (size_t)8 << 20;
    pthread_barrier_init(&opening.barrier, NULL, (unsigned)size);
    for (int rank = 0; rank < size; rank++) {
        assert_int_equal(pthread_create(&threads[rank], NULL, open_channel, (void *)(intptr_t)rank), 0);
    }
    for (int rank = 0; rank < size; rank++) {
        void *error;
        pthread_join(threads[rank], &error);
        assert_int_equal((intptr_t)error, 0);
    }
    pthread_barrier_destroy(&opening.barrier);
}

static void open_nodes(struct p2p_world *world, const struct p2p_world_options *options, int node_ranks)
{
    for (int first = 0; first < world->size; first += node_ranks) {
        int size = first + node_ranks <= world->size ? node_ranks : world->size - first;
        if (size > 1) {
            open_rings(world, options, first, size);
        }
    }
}

static void open_native(struct p2p_world *world, const struct p2p_world_options *options)
{
    fake_net_open(world->size);
    for (int rank = 0; rank < world->size; rank++) {
        struct co_native_channel_config config = {.native = fake_native(rank),
                                                  .size = world->size,
                                                  .memory = options->native_memory != 0 ? options->native_memory
                                                                                        : (size_t)1 << 20,
                                                  .eager = options->remote_eager_most,
                                                  .credit = options->credit};
        assert_int_equal(co_native_channel_open(&world->remote_channels[rank], &config), 0);
    }
}

static void open_rc(struct p2p_world *world, const struct p2p_world_options *options)
{
    fake_rc_open(world->size);
    world->has_rc = true;
    for (int rank = 0; rank < world->size; rank++) {
        struct co_rc_channel_config config = {
            .rc = fake_rc(rank), .size = world->size, .packet_bytes = FAKE_PACKET_BYTES, .credit = options->credit};
        assert_int_equal(co_rc_channel_open(&world->remote_channels[rank], &config), 0);
    }
}

static struct co_channel *wrapped(const struct p2p_world_options *options, struct co_channel *channel, int rank,
                                  int first)
{
    return options->wrap == NULL || channel == NULL ? channel : options->wrap(channel, rank, first);
}

static void open_rank(struct p2p_world *world, const struct p2p_world_options *options, int rank, int node_ranks)
{
    int peers[P2P_WORLD_MOST] = {0, 1, 2, 3}, local_ranks[P2P_WORLD_MOST], first = rank / node_ranks * node_ranks;
    for (int peer = 0; peer < world->size; peer++) {
        local_ranks[peer] = peer / node_ranks == rank / node_ranks ? peer - first : -1;
    }
    struct co_p2p_config config = {.channel = wrapped(options, world->channels[rank], rank, first),
                                   .local_ranks = local_ranks,
                                   .remote_channel = wrapped(options, world->remote_channels[rank], rank, 0),
                                   .size = world->size,
                                   .self = rank,
                                   .eager_most = options->eager_most,
                                   .remote_eager_most = options->remote_eager_most,
                                   .stream_most = options->stream_most,
                                   .is_crowded = options->is_crowded,
                                   .tries_streams = options->tries_streams,
                                   .patience_ns = options->patience_ns,
                                   .now_ns = options->now_ns,
                                   .credit = options->credit,
                                   .matcher = options->matcher,
                                   .places_most = options->places_most,
                                   .buffered_most = options->buffered_most,
                                   .read = options->read != NULL ? options->read
                                           : options->may_read   ? read_own_memory
                                                                 : NULL,
                                   .lanes = options->lanes};
    assert_int_equal(co_p2p_open(&world->ranks[rank], &config), 0);
    world->contexts[rank] = co_p2p_context_open(world->ranks[rank], 1, peers, world->size, rank);
    assert_non_null(world->contexts[rank]);
}

void p2p_world_open(struct p2p_world *world, const struct p2p_world_options *options)
{
    int node_ranks = options->node_ranks != 0 ? options->node_ranks : options->size;
    *world = (struct p2p_world){.size = options->size};
    open_nodes(world, options, node_ranks);
    if (node_ranks < world->size) {
        (options->has_rc ? open_rc : open_native)(world, options);
    }
    for (int rank = 0; rank < world->size; rank++) {
        open_rank(world, options, rank, node_ranks);
    }
}

void p2p_world_close(struct p2p_world *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        co_p2p_context_close(world->contexts[rank]);
        co_p2p_close(world->ranks[rank]);
    }
    if (world->remote_channels[0] != NULL) {
        (world->has_rc ? fake_rc_close : fake_net_close)();
    }
}

int p2p_world_move(struct p2p_world *world, int rank)
{
    bool is_native = world->remote_channels[rank] != NULL && !world->has_rc;
    int events = !is_native ? 0 : co_native_channel_progress(world->remote_channels[rank], false);
    return events + co_p2p_progress(world->ranks[rank]);
}

void p2p_world_settle(struct p2p_world *world)
{
    for (int idle = 0; idle < SETTLED;) { // what is carried takes several turns
        int events = 0;
        for (int rank = 0; rank < world->size; rank++) {
            events += p2p_world_move(world, rank);
        }
        idle = events > 0 ? 0 : idle + 1;
    }
}
