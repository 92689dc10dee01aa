// SPDX-License-Identifier: BSD-3-Clause
//
// Opening is collective, so each rank opens in a thread of its own; afterwards one thread plays all of them.
#include "p2p_world.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/channel/ring_channel.h"

static struct {
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    int least, size;
    struct co_channel **channels;
    size_t credit, memory;
} opening = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int all_agree(void *arg, int mine)
{
    (void)arg;
    if (pthread_barrier_wait(&opening.barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
        opening.least = 0x7fffffff;
    }
    pthread_barrier_wait(&opening.barrier);
    pthread_mutex_lock(&opening.lock);
    opening.least = mine < opening.least ? mine : opening.least;
    pthread_mutex_unlock(&opening.lock);
    pthread_barrier_wait(&opening.barrier);
    int least = opening.least;
    pthread_barrier_wait(&opening.barrier);
    return least;
}

static void *open_channel(void *arg)
{
    int rank = (int)(intptr_t)arg;
    struct co_ring_channel_config config = {.job_key = (uint64_t)getpid() << 20 | 0x9215,
                                            .rank = rank,
                                            .size = opening.size,
                                            .memory = opening.memory,
                                            .credit = opening.credit,
                                            .all_agree = all_agree};
    return (void *)(intptr_t)co_ring_channel_open(&opening.channels[rank], &config);
}

static int read_own_memory(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    memcpy(local, (const void *)(uintptr_t)remote, bytes);
    return 0;
}

static void open_channels(struct p2p_world *world, size_t credit, size_t memory)
{
    pthread_t threads[P2P_WORLD_MOST];
    opening.size = world->size;
    opening.channels = world->channels;
    opening.credit = credit;
    opening.memory = memory != 0 ? memory : (size_t)8 << 20;
    pthread_barrier_init(&opening.barrier, NULL, (unsigned)world->size);
    for (int rank = 0; rank < world->size; rank++) {
        assert_int_equal(pthread_create(&threads[rank], NULL, open_channel, (void *)(intptr_t)rank), 0);
    }
    for (int rank = 0; rank < world->size; rank++) {
        void *error;
        pthread_join(threads[rank], &error);
        assert_int_equal((intptr_t)error, 0);
    }
    pthread_barrier_destroy(&opening.barrier);
}

void p2p_world_open(struct p2p_world *world, const struct p2p_world_options *options)
{
    int peers[P2P_WORLD_MOST] = {0, 1, 2, 3};
    *world = (struct p2p_world){.size = options->size};
    if (world->size > 1) {
        open_channels(world, options->credit, options->memory);
    }
    for (int rank = 0; rank < world->size; rank++) {
        if (options->wrap != NULL) {
            world->channels[rank] = options->wrap(world->channels[rank], rank);
        }
        struct co_p2p_config config = {.channel = world->channels[rank],
                                       .size = world->size,
                                       .self = rank,
                                       .eager_most = options->eager_most,
                                       .credit = options->credit,
                                       .matcher = options->matcher,
                                       .places_most = options->places_most,
                                       .kept_most = options->kept_most,
                                       .read = options->read != NULL ? options->read
                                               : options->may_read   ? read_own_memory
                                                                     : NULL};
        assert_int_equal(co_p2p_open(&world->ranks[rank], &config), 0);
        world->contexts[rank] = co_p2p_context_open(world->ranks[rank], 1, peers, world->size, rank);
        assert_non_null(world->contexts[rank]);
    }
}

void p2p_world_close(struct p2p_world *world)
{
    for (int rank = 0; rank < world->size; rank++) {
        co_p2p_context_close(world->contexts[rank]);
        co_p2p_close(world->ranks[rank]);
    }
}

void p2p_world_settle(struct p2p_world *world)
{
    int events;
    do {
        events = 0;
        for (int rank = 0; rank < world->size; rank++) {
            events += co_p2p_progress(world->ranks[rank]);
        }
    } while (events > 0);
}
