// SPDX-License-Identifier: BSD-3-Clause
//
// Opens shared memory and the network for a job and makes all ranks agree on what works: every exchange is collective,
// so a rank on which something fails still takes part and says so. Start-up only.
#include "engine/start/transports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auth/auth.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/collective/onesided_open.h"
#include "engine/engine_state.h"
#include "engine/start/descriptor_budget.h"
#include "engine/start/job_facts.h"
#include "engine/start/messages_channels.h"
#include "engine/start/messages_verbs.h"
#include "engine/start/network.h"
#include "engine/start/network_text.h"
#include "engine/start/network_verbs.h"
#include "engine/start/shared_network.h"
#include "shm/shm.h"

// Half of what the network leaves, with the rest for threads: peers without a descriptor are watched by number.
static int watched_most(struct co_engine *engine)
{
    int left = engine->descriptors - (co_network_is_wanted(engine) ? co_descriptors_for_network() : 0);
    int wanted = engine->bootstrap.node_size - 1, most = left > 1 ? left / 2 : 0;
    most = wanted < most ? wanted : most;
    co_descriptors_take(engine, most);
    return most;
}

static int open_shm(struct co_engine *engine, uint64_t job_tag, struct co_messages_rings *rings)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    if (bootstrap->node_size < 2) {
        return 0;
    }
    struct co_shm_config config = {.job_key = job_tag,
                                   .node_index = bootstrap->node_index,
                                   .rank = bootstrap->node_rank,
                                   .size = bootstrap->node_size,
                                   .team_bytes = (size_t)co_setting_number(CO_SET_SHM_TEAM),
                                   .staging_bytes = (size_t)co_setting_number(CO_SET_SHM_STAGING),
                                   .single_copy = (int)co_setting_number(CO_SET_SHM_SINGLE_COPY),
                                   .single_copy_min = (size_t)co_setting_number(CO_SET_SHM_SINGLE_COPY_MIN),
                                   .cores = engine->cores,
                                   .measures = co_setting_number(CO_SET_SHM_SINGLE_COPY) == CO_AUTO,
                                   .watched_most = watched_most(engine),
                                   .minimum = bootstrap->node_minimum,
                                   .company = co_messages_company(rings),
                                   .arg = bootstrap->arg};
    return co_shm_node_open(&engine->shm, &config);
}

// The first rank's that could not carry messages between hosts, if it was to.
static int native_channel_error(const struct co_engine *engine, const struct co_rank_facts *facts)
{
    int error = 0;
    for (int rank = 0; engine->bootstrap.native != NULL && error == 0 && rank < engine->bootstrap.world_size; rank++) {
        error = facts[rank].native_channel_status;
    }
    return error;
}

// What is equal everywhere once all have told theirs.
static void merge(struct co_engine *engine, const struct co_rank_facts *facts)
{
    int error = native_channel_error(engine, facts);
    engine->has_shm = engine->has_single_copy = engine->has_messages = true;
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        if (engine->has_shm && facts[rank].shm_status != 0) {
            engine->has_shm = false;
            engine->shm_error = facts[rank].shm_status;
        }
        engine->has_single_copy = engine->has_single_copy && facts[rank].single_copy;
        engine->has_messages = engine->has_messages && facts[rank].message_status == 0;
    }
    engine->has_remote_channel = engine->has_messages && engine->bootstrap.native != NULL && error == 0;
    if (engine->has_messages && error != 0 && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "messages between hosts stay native: %s (CASTOFF_P2P_CARRIER_MEMORY)",
               strerror(-error));
    }
}

static void tell_mine(struct co_engine *engine, struct co_rank_facts *mine, int shm_status)
{
    mine->shm_status = shm_status;
    mine->single_copy = engine->shm == NULL || co_shm_node_single_copy(engine->shm);
    mine->lacks_aes = engine->auth != NULL && co_auth_is_portable(engine->auth);
    if (engine->transport != NULL) {
        mine->datagram_bytes = engine->transport->max_datagram_bytes;
        mine->receive_buffer_bytes = engine->transport->receive_buffer_bytes;
    }
}

// Once all is agreed: is anything left to serve?
static int conclude(struct co_engine *engine, char *why, size_t why_room)
{
    bool some_node_has_several = engine->bootstrap.node_count < engine->bootstrap.world_size;
    bool serves_nodes = engine->has_shm && some_node_has_several;
    if (!serves_nodes && !engine->has_multicast && !engine->has_remote_channel) {
        int told = engine->has_shm ? 0
                                   : snprintf(why, why_room, "ranks of a node cannot share memory by /dev/shm: %s%s",
                                              strerror(-engine->shm_error), engine->network[0] ? ", and " : "");
        if (told >= 0 && (size_t)told < why_room) {
            snprintf(why + told, why_room - (size_t)told, "%s", engine->network);
        }
        return -ENOTSUP;
    }
    if (co_network_is_wanted(engine) && !engine->has_multicast && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE,
               engine->has_remote_channel ? "collectives of several nodes stay native: %s"
                                          : "communicators of several nodes stay native: %s",
               engine->network);
    }
    if (!engine->has_shm && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "communicators with several ranks on a node stay native: /dev/shm: %s",
               strerror(-engine->shm_error));
    }
    return 0;
}

// Without multicast the network still tells who is gone, which the MPI below does not.
static bool is_kept_for_messages(const struct co_engine *engine)
{
    return engine->hears_unicast_alone && engine->has_remote_channel && engine->message_policy == CO_YES;
}

// Everything that can fail on one rank alone, then what all say about it.
static int open_parts(struct co_engine *engine, const struct co_job_offer *offer)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    struct co_rank_facts mine = {.udp_status = 0};
    struct co_rank_facts *all = engine->exchange;
    _Static_assert(sizeof(mine) <= CO_EXCHANGE_BYTES, "facts fit the exchange");
    struct co_messages_rings rings = {.engine = engine, .job_tag = offer->tag};
    int shm_status = open_shm(engine, offer->tag, &rings);
    mine.native_channel_status = -ENOTSUP;
    mine.message_status = shm_status;
    if (bootstrap->native_takes_device_memory) {
        mine.message_status = -ENOTSUP;
    } else if (shm_status == 0) {
        mine.message_status = co_messages_open(engine, &rings, &mine.native_channel_status);
    }
    if (co_network_is_wanted(engine)) {
        mine.udp_status = co_network_open(engine, offer, &mine.address);
        co_network_open_verbs(engine, offer, &mine);
        co_network_open_rc(engine, &mine);
    } else if (bootstrap->node_count > 1) {
        co_network_say(engine, "CASTOFF_TRANSPORT=%s keeps off the network", co_setting_text(CO_SET_TRANSPORT));
    }
    tell_mine(engine, &mine, shm_status);
    int status = bootstrap->allgather(bootstrap->arg, &mine, all, sizeof(mine));
    if (status == 0) {
        merge(engine, all);
        if (co_network_is_wanted(engine)) {
            co_network_connect(engine, all);
            co_network_choose_rc(engine, all);
        }
    }
    if (!engine->has_multicast && !is_kept_for_messages(engine)) {
        co_network_close(engine);
    }
    return status;
}

int co_transports_open(struct co_engine *engine, char *why, size_t why_room)
{
    if (co_setting_number(CO_SET_TRANSPORT) == CO_ALLOW_NONE) {
        snprintf(why, why_room, "CASTOFF_TRANSPORT=none allows no transport");
        return -ENOTSUP;
    }
    const struct co_first_words *words = engine->exchange;
    struct co_job_offer offer = words[0].offer; // what lies there makes room for what is told next
    int status = open_parts(engine, &offer);
    if (status < 0) {
        snprintf(why, why_room, "the ranks could not compare their transports (%s)", strerror(-status));
        return status;
    }
    co_onesided_collective_open(engine, offer.tag);
    return conclude(engine, why, why_room);
}

void co_transports_close(struct co_engine *engine)
{
    co_onesided_collective_close(engine);
    co_network_close(engine);
    co_messages_close(engine);
    if (engine->shm != NULL) {
        co_shm_node_close(engine->shm);
        engine->shm = NULL;
    }
}
