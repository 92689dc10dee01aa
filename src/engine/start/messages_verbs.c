// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between hosts over verbs: connections on the device that the multicast uses, in place of the MPI below where
// every rank of the job has them. Start-up only.
#include "engine/start/messages_verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auth/auth.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/module.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/start/job_facts.h"
#include "transport/transport.h"
#include "transport/verbs.h"
#include "p2p/channel/rc_channel.h"
#include "p2p/p2p_open.h"

#define FRAMES_LEAST 8
#define FRAMES_MOST 1024

static void count_failed(uint64_t completions)
{
    co_counter_add(CO_COUNT_VERBS_FAILED, completions);
}

static void warn(const char *text)
{
    co_log(CO_LOG_WARN, CO_SUBSYS_VERBS, "%s", text);
}

static int open_channel(struct co_engine *engine, struct co_rc *rc, size_t frame_bytes)
{
    struct co_rc_channel_config config = {.rc = rc,
                                          .size = engine->bootstrap.world_size,
                                          .packet_bytes = frame_bytes,
                                          .credit = (size_t)co_setting_number(CO_SET_P2P_CREDIT)};
    int error = co_rc_channel_open(&engine->rc_channel, &config);
    if (error != 0) {
        rc->ops->close(rc);
    }
    return error;
}

static int rc_open(struct co_engine *engine, uint32_t *connect_qp, char *why, size_t why_room)
{
    const struct co_rc_module *(*find)(void) = NULL;
    struct co_rc *rc = NULL;
    struct co_verbs_port port;
    *(void **)&find = co_module_load(NULL, CO_VERBS_MODULE_FILE, "co_rc_module", why, why_room);
    if (find == NULL || find()->version != CO_RC_MODULE_VERSION) {
        return -ENODEV;
    }
    engine->verbs_module->port(engine->verbs, &port);
    size_t frame_bytes = co_rc_channel_packet_bytes((size_t)co_setting_number(CO_SET_P2P_CARRIER_EAGER));
    size_t frames = (size_t)co_setting_number(CO_SET_P2P_CARRIER_MEMORY) / 2 / frame_bytes;
    frames = frames < FRAMES_LEAST ? FRAMES_LEAST : frames > FRAMES_MOST ? FRAMES_MOST : frames;
    struct co_rc_config config = {.device = port.device,
                                  .port = port.port,
                                  .gid_index = port.gid_index,
                                  .size = engine->bootstrap.world_size,
                                  .self = engine->bootstrap.world_rank,
                                  .job = co_auth_word(engine->auth), // the job's own number shows in its multicast
                                  .packet_bytes = frame_bytes,
                                  .packets = (unsigned)frames,
                                  .count_failed = count_failed,
                                  .warn = warn};
    int error = find()->open(&rc, &config, connect_qp, why, why_room);
    return error != 0 ? error : open_channel(engine, rc, frame_bytes);
}

// Wanted where the MPI below would carry messages otherwise.
void co_network_open_rc(struct co_engine *engine, struct co_rank_facts *mine)
{
    char why[200] = "";
    mine->rc_status = -ENOTSUP;
    if (engine->bootstrap.native == NULL || mine->native_channel_status != 0 || mine->verbs_status != 0 ||
        engine->auth == NULL) {
        return;
    }
    mine->rc_status = rc_open(engine, &mine->connect_qp, why, sizeof why);
    if (mine->rc_status != 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_VERBS, "messages between hosts go by the MPI below, not by verbs: %s", why);
    }
}

static bool all_have_rc(const struct co_engine *engine, const struct co_rank_facts *facts)
{
    bool have = engine->has_multicast && engine->transport_kind == CO_TRANSPORT_VERBS && engine->has_remote_channel;
    for (int rank = 0; have && rank < engine->bootstrap.world_size; rank++) {
        have = facts[rank].rc_status == 0;
    }
    return have;
}

void co_network_choose_rc(struct co_engine *engine, const struct co_rank_facts *facts)
{
    if (engine->rc_channel == NULL) {
        return;
    }
    if (!all_have_rc(engine, facts)) {
        engine->rc_channel->ops->close(engine->rc_channel);
        engine->rc_channel = NULL;
        return;
    }
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        struct co_rc_address peer = {.connect_qp = facts[rank].connect_qp, .lid = facts[rank].verbs_address.lid};
        memcpy(peer.gid, facts[rank].verbs_address.gid, sizeof peer.gid);
        co_rc_channel_set_peer(engine->rc_channel, rank, &peer);
    }
    co_p2p_set_remote_channel(engine->p2p, engine->rc_channel);
    struct co_channel *native = engine->native_channel;
    engine->native_channel = NULL;
    native->ops->close(native);
    if (engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_VERBS, "messages between hosts go by verbs");
    }
}
