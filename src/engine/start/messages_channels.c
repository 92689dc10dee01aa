// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point of the engine: opens the channels between the ranks of a node and between hosts, and says which
// communicators are served, from facts that are equal on all ranks. Peers are numbered as the job's ranks. Start and
// end of the job and of communicators; progress is hot.
#include "engine/start/messages_channels.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/progress/wake_sleepers.h"
#include "shm/shm.h"
#include "transport/transport.h"
#include "p2p/channel/native_channel.h"
#include "p2p/channel/ring_channel.h"
#include "p2p/p2p_open.h"

#define PLACES_FIRST 64                        // in the tables of a communicator: a page or two; they double
#define STREAM_PATIENCE_NS (20 * CO_NS_PER_US) // more than most turns of a sender that is in a call
#define STREAM_MOST ((size_t)1 << 20)          // where nothing else is known
#define STREAM_MOST_CROWDED ((size_t)16 << 10)
#define MEMORY_LEAST ((size_t)8 << 20)
#define MEMORY_OF_RANK ((size_t)2 << 20) // half of what Open MPI's vader asks for

static int read_peer(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    const struct co_engine *engine = arg;
    return co_shm_node_read(engine->shm, engine->local_rank_of[peer], local, remote, bytes);
}

static uint32_t power_of_two(uint32_t least)
{
    uint32_t bins = 1;
    while (bins < least) {
        bins *= 2;
    }
    return bins;
}

// A stream longer than a ring needs both ranks on their cores; where they take turns, one reading is better.
static size_t stream_most(const struct co_engine *engine)
{
    int64_t asked = co_setting_number(CO_SET_P2P_STREAM);
    size_t measured = engine->shm == NULL ? 0 : co_shm_node_stream_most(engine->shm);
    size_t most = asked >= 0 ? (size_t)asked : measured > 0 ? measured : STREAM_MOST;
    return engine->is_oversubscribed && most > STREAM_MOST_CROWDED ? STREAM_MOST_CROWDED : most;
}

static struct co_p2p_config config_of(struct co_engine *engine, struct co_channel *channel, const int *local_ranks)
{
    uint32_t most = (uint32_t)co_setting_number(CO_SET_MATCH_TABLE);
    uint32_t entries = most < PLACES_FIRST ? most : PLACES_FIRST;
    return (struct co_p2p_config){
        .channel = channel,
        .local_ranks = local_ranks,
        .remote_channel = engine->native_channel,
        .size = engine->bootstrap.world_size,
        .self = engine->bootstrap.world_rank,
        .eager_most = (size_t)co_setting_number(CO_SET_P2P_EAGER),
        .remote_eager_most = (size_t)co_setting_number(CO_SET_P2P_CARRIER_EAGER),
        .stream_most = stream_most(engine),
        .is_crowded = engine->is_oversubscribed,
        .tries_streams = co_setting_number(CO_SET_P2P_STREAM) < 0 && !engine->is_oversubscribed,
        .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT),
        .buffered_most = (size_t)co_setting_number(CO_SET_P2P_BUFFER),
        .matcher = {entries, entries, power_of_two((uint32_t)co_setting_number(CO_SET_MATCH_BINS))},
        .places_most = most,
        .lanes = (unsigned)co_setting_number(CO_SET_MATCH_LANES),
        .read = engine->shm != NULL && co_shm_node_single_copy(engine->shm) ? read_peer : NULL,
        .arg = engine,
        .patience_ns = STREAM_PATIENCE_NS,
        .now_ns = co_clock_now_ns,
    };
}

// CASTOFF_P2P_MEMORY of a node with so many ranks.
static size_t memory_of(int ranks)
{
    int64_t asked = co_setting_number(CO_SET_P2P_MEMORY);
    size_t wanted = (size_t)ranks * MEMORY_OF_RANK;
    return asked >= 0 ? (size_t)asked : wanted > MEMORY_LEAST ? wanted : MEMORY_LEAST;
}

int co_messages_ranks_most(void)
{
    int ranks = 1;
    while (co_ring_channel_shape(memory_of(ranks + 1), ranks + 1, true).area > 0) {
        ranks++;
    }
    return ranks;
}

int co_messages_try(int ranks, uint64_t key)
{
    struct co_ring_channel_config config = {.job_key = key, .number = 1, .size = ranks, .memory = memory_of(ranks)};
    int words[CO_RING_CHANNEL_WORDS];
    struct co_channel *channel = co_ring_channel_make(&config, words);
    int error = channel == NULL ? -ENOMEM : co_ring_channel_map(channel, words);
    co_ring_channel_settle(channel, -ECANCELED);
    return error;
}

static void make_rings(void *arg, int words[])
{
    struct co_messages_rings *rings = arg;
    const struct co_bootstrap *bootstrap = &rings->engine->bootstrap;
    struct co_ring_channel_config config = {
        .job_key = rings->job_tag,
        .number = (unsigned)(bootstrap->node_count + bootstrap->node_index), // beside the collectives' own
        .rank = bootstrap->node_rank,
        .size = bootstrap->node_size,
        .memory = memory_of(bootstrap->node_size),
        .is_deep = rings->engine->is_oversubscribed,
        .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT),
    };
    _Static_assert(CO_RING_CHANNEL_WORDS <= CO_SHM_COMPANY_WORDS, "there is room for them");
    rings->channel = co_ring_channel_make(&config, words);
}

static int map_rings(void *arg, const int words[])
{
    const struct co_messages_rings *rings = arg;
    return co_ring_channel_map(rings->channel, words);
}

static void settle_rings(void *arg, int status)
{
    struct co_messages_rings *rings = arg;
    rings->channel = co_ring_channel_settle(rings->channel, status);
    rings->status = status;
}

const struct co_shm_company *co_messages_company(struct co_messages_rings *rings)
{
    rings->company = (struct co_shm_company){make_rings, map_rings, settle_rings, rings};
    return co_setting_number(CO_SET_P2P) == CO_NO || rings->engine->bootstrap.native_takes_device_memory
               ? NULL
               : &rings->company;
}

static int native_channel_open(struct co_engine *engine)
{
    struct co_native_channel_config config = {
        .native = engine->bootstrap.native,
        .size = engine->bootstrap.world_size,
        .memory = (size_t)co_setting_number(CO_SET_P2P_CARRIER_MEMORY),
        .eager = (size_t)co_setting_number(CO_SET_P2P_CARRIER_EAGER),
        .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT),
    };
    if (config.native == NULL) {
        return -ENOTSUP;
    }
    int error = co_native_channel_open(&engine->native_channel, &config);
    if (error == 0) {
        co_counter_raise(CO_COUNT_REMOTE_CHANNEL_HIGH, co_native_channel_bytes(engine->native_channel));
    }
    return error;
}

// By world rank: its number among the ranks of our node, -1 elsewhere.
static int *local_ranks_of_peers(const struct co_engine *engine)
{
    int size = engine->bootstrap.world_size;
    int *local_ranks = malloc((size_t)size * sizeof(int));
    for (int rank = 0; local_ranks != NULL && rank < size; rank++) {
        local_ranks[rank] =
            engine->node_of_rank[rank] == engine->bootstrap.node_index ? engine->local_rank_of[rank] : -1;
    }
    return local_ranks;
}

static int open_p2p(struct co_engine *engine, struct co_channel *channel)
{
    int *local_ranks = local_ranks_of_peers(engine);
    struct co_p2p_config config = config_of(engine, channel, local_ranks);
    int error = local_ranks == NULL ? -ENOMEM : co_p2p_open(&engine->p2p, &config);
    free(local_ranks);
    return error;
}

int co_messages_open(struct co_engine *engine, const struct co_messages_rings *rings, int *native_channel)
{
    struct co_channel *channel = rings->channel;
    engine->message_policy = (int)co_setting_number(CO_SET_P2P);
    if (engine->message_policy == CO_NO) {
        return 0;
    }
    if (rings->status != 0) {
        return rings->status;
    }
    *native_channel = native_channel_open(engine);
    if (channel == NULL && *native_channel != 0) {
        return 0; // there is nobody to speak to
    }
    int error = open_p2p(engine, channel);
    if (error != 0) {
        if (channel != NULL) {
            channel->ops->close(channel);
        }
        if (engine->native_channel != NULL) {
            engine->native_channel->ops->close(engine->native_channel);
            engine->native_channel = NULL;
        }
    }
    return error;
}

static void call_worker(void *arg)
{
    co_workers_notice(arg);
}

// Below MPI_THREAD_MULTIPLE only the program's threads may call native, so what it carries moves with them alone.
void co_messages_share(struct co_engine *engine)
{
    bool may_move = engine->native_channel == NULL || engine->bootstrap.native->takes_all_threads;
    if (engine->p2p != NULL && engine->workers != NULL && may_move) {
        co_p2p_share(engine->p2p, call_worker, engine);
        co_store_release(&engine->shares_messages, true); // release U1: the threads run already
    }
}

void co_messages_close(struct co_engine *engine)
{
    if (engine->p2p != NULL) {
        co_p2p_close(engine->p2p);
        engine->p2p = NULL;
        engine->native_channel = NULL;
        engine->rc_channel = NULL;
    }
}

enum co_reason co_messages_decide(const struct co_engine *engine, const struct co_team_facts *facts)
{
    const struct co_message_ways ways = {engine->has_messages, engine->has_remote_channel,
                                         engine->bootstrap.native_takes_device_memory};
    return co_decide_messages(facts, &ways, engine->message_policy);
}

struct co_p2p_context *co_messages_open_context(struct co_engine *engine, const struct co_team_seed *seed,
                                                const int *world_ranks)
{
    return co_p2p_context_open(engine->p2p, seed->id, world_ranks, seed->facts.ranks, seed->rank);
}

bool co_engine_has_messages(const struct co_engine *engine)
{
    return engine->p2p != NULL && engine->has_messages;
}
