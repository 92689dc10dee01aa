// SPDX-License-Identifier: BSD-3-Clause
//
// Point-to-point of the engine: opens the channel between the ranks of a node, and says which communicators are served,
// from facts that are equal on all ranks. Start and end of the job and of communicators.
#include <stdlib.h>

#include "base/settings.h"
#include "engine/channel/ring_channel.h"
#include "engine/engine_state.h"

#define PLACES_FIRST 1024 // in the tables of a communicator; most never need more
#define SPINS 400
#define SPINS_CROWDED 16

static int read_peer(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    const struct co_engine *engine = arg;
    return co_shm_node_read(engine->shm, peer, local, remote, bytes);
}

static uint32_t power_of_two(uint32_t least)
{
    uint32_t bins = 1;
    while (bins < least) {
        bins *= 2;
    }
    return bins;
}

static struct co_p2p_config config_of(struct co_engine *engine, struct co_channel *channel)
{
    uint32_t most = (uint32_t)co_setting_number(CO_SET_MATCH_TABLE);
    uint32_t places = most < PLACES_FIRST ? most : PLACES_FIRST;
    return (struct co_p2p_config){
        .channel = channel,
        .size = engine->bootstrap.node_size,
        .self = engine->bootstrap.node_rank,
        .eager_most = (size_t)co_setting_number(CO_SET_P2P_EAGER),
        .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT),
        .kept_most = (size_t)co_setting_number(CO_SET_P2P_BUFFER),
        .matcher = {places, places, power_of_two((uint32_t)co_setting_number(CO_SET_MATCH_BINS))},
        .places_most = most,
        .read = co_shm_node_single_copy(engine->shm) ? read_peer : NULL,
        .arg = engine,
    };
}

int co_messages_ranks_most(size_t memory)
{
    int ranks = 1;
    while (co_ring_channel_area(memory, ranks + 1) > 0) {
        ranks++;
    }
    return ranks;
}

int co_messages_open(struct co_engine *engine, uint64_t job_tag)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    engine->message_policy = (int)co_setting_number(CO_SET_P2P);
    engine->message_spins = engine->is_oversubscribed ? SPINS_CROWDED : SPINS;
    if (engine->message_policy != CO_YES || engine->shm == NULL) {
        return 0;
    }
    struct co_ring_channel_config rings = {
        .job_key = job_tag,
        .number = (unsigned)(bootstrap->node_count + bootstrap->node_index), // beside the collectives' own
        .rank = bootstrap->node_rank,
        .size = bootstrap->node_size,
        .memory = (size_t)co_setting_number(CO_SET_P2P_MEMORY),
        .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT),
        .all_agree = bootstrap->node_minimum,
        .arg = bootstrap->arg,
    };
    struct co_channel *channel;
    int error = co_ring_channel_open(&channel, &rings);
    if (error != 0) {
        return error;
    }
    struct co_p2p_config config = config_of(engine, channel);
    error = co_p2p_open(&engine->p2p, &config);
    if (error != 0) {
        channel->ops->close(channel);
    }
    return error;
}

void co_messages_close(struct co_engine *engine)
{
    if (engine->p2p != NULL) {
        co_p2p_close(engine->p2p);
        engine->p2p = NULL;
    }
}

enum co_reason co_messages_decide(const struct co_engine *engine, const struct co_team_facts *facts)
{
    if (engine->message_policy == CO_NO) {
        return CO_DISABLED;
    }
    if (engine->message_policy == CO_AUTO) { // which communicators gain has not been measured yet
        return CO_STOCK_FASTER;
    }
    if (facts->nodes > 1) {
        return CO_SEVERAL_NODES;
    }
    return engine->has_messages ? CO_TAKE : CO_NO_TRANSPORT;
}

struct co_p2p_context *co_messages_open_context(struct co_engine *engine, const struct co_team_seed *seed,
                                                const int *world_ranks)
{
    int size = seed->facts.ranks;
    int *peers = malloc((size_t)size * sizeof(int));
    if (peers == NULL) {
        return NULL;
    }
    for (int rank = 0; rank < size; rank++) {
        peers[rank] = engine->place_of_rank[world_ranks[rank]];
    }
    struct co_p2p_context *context = co_p2p_context_open(engine->p2p, seed->id, peers, size, seed->rank);
    free(peers);
    return context;
}

bool co_engine_has_messages(const struct co_engine *engine)
{
    return engine->p2p != NULL && engine->has_messages;
}
