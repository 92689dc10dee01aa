// SPDX-License-Identifier: BSD-3-Clause
//
// Verbs in place of UDP: tried on the interface that UDP has found, taken where every rank of the job has them. UDP
// is open before and stays open, as what is used without them or for signs of life beside them. Start-up only.
#include "engine/start/network_verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/start/descriptor_budget.h"
#include "engine/start/job_facts.h"
#include "engine/start/network_text.h"
#include "transport/transport_liveness.h"
#include "transport/transport.h"
#include "transport/udp/udp.h"
#include "transport/verbs.h"

#define DESCRIPTORS 12 // of the connection manager, the device, its bell, the watch of the program's memory

static void count(enum co_verbs_count what, uint64_t number)
{
    static const enum co_counter_id ids[] = {
        [CO_VERBS_SENT] = CO_COUNT_DATAGRAMS_SENT,         [CO_VERBS_SENT_BYTES] = CO_COUNT_WIRE_BYTES_SENT,
        [CO_VERBS_RECEIVED] = CO_COUNT_DATAGRAMS_RECEIVED, [CO_VERBS_RECEIVED_BYTES] = CO_COUNT_WIRE_BYTES_RECEIVED,
        [CO_VERBS_FAILED] = CO_COUNT_VERBS_FAILED,         [CO_VERBS_FLUSHED] = CO_COUNT_VERBS_FLUSHED,
        [CO_VERBS_REVIVED] = CO_COUNT_VERBS_REVIVED,       [CO_VERBS_EVENTS] = CO_COUNT_VERBS_EVENTS,
        [CO_VERBS_REFUSED] = CO_COUNT_SEND_REFUSED,        [CO_VERBS_UNCOPIED_BYTES] = CO_COUNT_VERBS_UNCOPIED,
        [CO_VERBS_REGISTERED] = CO_COUNT_VERBS_REGISTERED, [CO_VERBS_REUSED] = CO_COUNT_VERBS_REUSED,
        [CO_VERBS_CHANGED] = CO_COUNT_VERBS_CHANGED,       [CO_VERBS_UNREGISTERED] = CO_COUNT_VERBS_UNREGISTERED,
        [CO_VERBS_READS_DONE] = CO_COUNT_VERBS_READS,      [CO_VERBS_READ_BYTES] = CO_COUNT_VERBS_READ_BYTES,
        [CO_VERBS_WORDS_SENT] = CO_COUNT_VERBS_WORDS};
    co_counter_add(ids[what], number);
}

static void warn(const char *text)
{
    co_log(CO_LOG_WARN, CO_SUBSYS_VERBS, "%s", text);
}

static int try_device(struct co_engine *engine, const struct co_job_offer *offer, struct co_rank_facts *mine)
{
    char *why = engine->verbs_text;
    size_t room = sizeof(engine->verbs_text);
    engine->verbs_module = co_verbs_load(why, room);
    if (engine->verbs_module == NULL) {
        return -ENODEV;
    }
    if (!co_descriptors_take(engine, DESCRIPTORS)) {
        snprintf(why, room, "ulimit -n leaves no %d descriptors for verbs", DESCRIPTORS);
        return -EMFILE;
    }
    struct co_verbs_config config = {.device = co_setting_text(CO_SET_VERBS_DEVICE),
                                     .own_ip = mine->address.ip,
                                     .first_group_ip = co_udp_first_group(engine->transport),
                                     .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                     .key = (uint32_t)(offer->tag >> 32) & INT32_MAX, // the top bit is the kernel's
                                     .receive_bytes = (size_t)co_setting_number(CO_SET_VERBS_RECEIVE),
                                     .register_bytes = (size_t)co_setting_number(CO_SET_VERBS_REGISTER),
                                     .kept_bytes = (size_t)co_setting_number(CO_SET_VERBS_KEEP),
                                     .join_ns = (uint64_t)co_setting_number(CO_SET_VERBS_JOIN),
                                     .give_up_ns = (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S,
                                     .count = count,
                                     .warn = warn};
    return engine->verbs_module->open(&engine->verbs, &config, &mine->verbs_address, why, room);
}

void co_network_open_verbs(struct co_engine *engine, const struct co_job_offer *offer, struct co_rank_facts *mine)
{
    if (co_setting_number(CO_SET_TRANSPORT) == CO_ALLOW_UDP || mine->udp_status < 0) {
        mine->verbs_status = -ENOTSUP;
        return;
    }
    mine->verbs_status = try_device(engine, offer, mine);
    if (mine->verbs_status == 0) {
        mine->verbs_datagram_bytes = (uint32_t)engine->verbs->max_datagram_bytes;
        mine->verbs_receive_bytes = (uint32_t)engine->verbs->receive_buffer_bytes;
    }
}

static int find_refusal(const struct co_engine *engine, const struct co_rank_facts *facts)
{
    int rank = 0;
    while (rank < engine->bootstrap.world_size && facts[rank].verbs_status == 0) {
        rank++;
    }
    return rank;
}

static void say_why_not(struct co_engine *engine, const struct co_rank_facts *facts, int refusing)
{
    if (refusing != engine->bootstrap.world_rank) {
        snprintf(engine->verbs_text, sizeof(engine->verbs_text), "rank %d cannot use verbs (%s)", refusing,
                 strerror(-facts[refusing].verbs_status));
    }
    if (engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_VERBS, "verbs are not used: %s", engine->verbs_text);
    }
}

int co_network_neighbour(const int *node_of_rank, const int *local_rank_of, int ranks, int nodes, int rank,
                         int direction)
{
    for (int step = 1; step < nodes; step++) {
        int node = (node_of_rank[rank] + direction * step + nodes) % nodes;
        for (int other = 0; other < ranks; other++) {
            if (node_of_rank[other] == node && local_rank_of[other] == local_rank_of[rank]) {
                return other;
            }
        }
    }
    return -1;
}

static int find_neighbour(const struct co_engine *engine, int direction)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    return co_network_neighbour(engine->node_of_rank, engine->local_rank_of, bootstrap->world_size,
                                bootstrap->node_count, bootstrap->world_rank, direction);
}

// UDP stays beside it, for signs of life.
static int take_over(struct co_engine *engine, struct co_rank_facts *facts)
{
    struct co_transport *with_liveness;
    int world = engine->bootstrap.world_size;
    struct co_verbs_address *addresses = calloc((size_t)world, sizeof(*addresses));
    if (addresses == NULL) {
        return -ENOMEM;
    }
    for (int rank = 0; rank < world; rank++) {
        addresses[rank] = facts[rank].verbs_address;
        facts[rank].datagram_bytes = facts[rank].verbs_datagram_bytes;
        facts[rank].receive_buffer_bytes = facts[rank].verbs_receive_bytes;
    }
    const int neighbours[CO_VERBS_NEIGHBOURS] = {find_neighbour(engine, -1), find_neighbour(engine, 1)};
    int error =
        engine->verbs_module->connect(engine->verbs, addresses, world, engine->bootstrap.world_rank, neighbours);
    free(addresses);
    error = error == 0
                ? co_transport_liveness_open(&with_liveness, engine->verbs, engine->transport, world, co_clock_now_ns)
                : error;
    if (error == 0) {
        engine->verbs_module->describe(engine->verbs, engine->verbs_text, sizeof(engine->verbs_text));
        engine->transport = with_liveness;
        engine->verbs = NULL;
        engine->transport_kind = CO_TRANSPORT_VERBS;
    }
    return error;
}

int co_network_choose_verbs(struct co_engine *engine, struct co_rank_facts *facts)
{
    int refusing = find_refusal(engine, facts), error = 0;
    if (refusing == engine->bootstrap.world_size) {
        error = take_over(engine, facts);
    } else if (co_setting_number(CO_SET_TRANSPORT) != CO_ALLOW_UDP) {
        say_why_not(engine, facts, refusing);
        error = co_setting_number(CO_SET_TRANSPORT) == CO_ALLOW_VERBS ? facts[refusing].verbs_status : 0;
        if (error != 0) {
            co_network_say(engine, "CASTOFF_TRANSPORT=verbs: %s", engine->verbs_text);
        }
    }
    if (engine->verbs != NULL) {
        engine->verbs->ops->close(engine->verbs);
        engine->verbs = NULL;
    }
    return error;
}
