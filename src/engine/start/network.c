// SPDX-License-Identifier: BSD-3-Clause
//
// The network side of the start: sockets, faults asked for, and the multicast protocol. What fails on one rank is told
// to all, so that they use the network together or not at all.
#include "engine/start/network.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/progress/descriptors_look.h"
#include "engine/start/descriptor_budget.h"
#include "engine/start/job_facts.h"
#include "engine/start/job_key.h"
#include "engine/start/network_probe.h"
#include "engine/start/network_text.h"
#include "engine/start/network_verbs.h"
#include "engine/start/shared_network.h"
#include "mcast/mcast.h"
#include "transport/fault/lossy.h"
#include "transport/transport.h"
#include "transport/udp/udp.h"

bool co_network_is_wanted(const struct co_engine *engine)
{
    int64_t transport = co_setting_number(CO_SET_TRANSPORT);
    return engine->bootstrap.node_size < engine->bootstrap.world_size && transport != CO_ALLOW_SHM &&
           transport != CO_ALLOW_NONE;
}

static int open_auth(struct co_engine *engine)
{
    uint8_t key[CO_AUTH_KEY_BYTES];
    int status = co_job_key_share(engine, key);
    if (status == 0) {
        status = co_auth_open(&engine->auth, key, engine->bootstrap.world_size,
                              (enum co_auth_form)co_setting_number(CO_SET_AUTH));
    }
    sodium_memzero(key, sizeof(key));
    return status;
}

void co_network_udp_config(struct co_udp_config *config, uint64_t job_tag)
{
    *config = (struct co_udp_config){.interface = co_setting_text(CO_SET_UDP_INTERFACE),
                                     .group_range = co_setting_text(CO_SET_UDP_GROUP),
                                     .job_tag = job_tag,
                                     .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                     .ttl = (int)co_setting_number(CO_SET_UDP_TTL),
                                     .mtu_bytes = (size_t)co_setting_number(CO_SET_UDP_MTU),
                                     .receive_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_RCVBUF),
                                     .send_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_SNDBUF),
                                     .give_up_ns = (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S,
                                     .plain = !co_setting_number(CO_SET_UDP_OFFLOAD)};
}

// By the first rank of a node, before the others hear of it: whoever then asks whether all hear him is heard, though
// this one has yet to get so far.
static int join_groups(struct co_engine *engine)
{
    int status = 0, groups = engine->bootstrap.node_rank == 0 ? (int)co_setting_number(CO_SET_UDP_SUBGROUPS) : 0;
    for (int i = 0; status == 0 && i < groups; i++) {
        status = engine->transport->ops->join(engine->transport, (unsigned)i);
    }
    if (status < 0) {
        co_network_say(engine, "multicast groups cannot be joined (%s)", strerror(-status));
    }
    return status;
}

int co_network_open(struct co_engine *engine, const struct co_job_offer *offer, struct co_udp_address *mine)
{
    uint32_t near_ip = co_shared_network_find(engine, offer); // collective, so before anything that may fail
    int status = open_auth(engine);                           // likewise
    if (status < 0) {
        co_network_say(engine, "no keys for datagrams (%s)", strerror(-status));
        return status;
    }
    if (!co_descriptors_take(engine, co_descriptors_for_network())) {
        co_network_say(engine,
                       "ulimit -n is too low: beside what native MPI may need %d descriptors are left, multicast "
                       "takes %d; raise it",
                       engine->descriptors, co_descriptors_for_network());
        return -EMFILE;
    }
    struct co_udp_config config;
    co_network_udp_config(&config, offer->tag);
    config.near_ip = near_ip;
    status = co_udp_open(&engine->transport, &config, mine, engine->network, sizeof(engine->network));
    return status == 0 ? join_groups(engine) : status;
}

static uint64_t lossy_now(void *arg)
{
    (void)arg;
    return co_clock_now_ns();
}

// Faults asked for by CASTOFF_FAULT go between the protocol and the socket.
static int insert_faults(struct co_engine *engine)
{
    const char *text = co_setting_text(CO_SET_FAULT);
    if (text[0] == '\0') {
        return 0;
    }
    struct co_fault_plan plan;
    int status = co_fault_plan_parse(&plan, text, NULL, 0);
    if (status < 0) {
        return status;
    }
    struct co_transport *below = engine->transport;
    return co_lossy_open(&engine->transport, below, &plan, engine->bootstrap.world_rank, co_mcast_classify, lossy_now,
                         NULL);
}

static int open_protocol(struct co_engine *engine, const struct co_rank_facts *facts)
{
    uint64_t datagram = UINT64_MAX, receive_buffer = UINT64_MAX;
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        datagram = facts[rank].datagram_bytes < datagram ? facts[rank].datagram_bytes : datagram;
        uint64_t granted = facts[rank].receive_buffer_bytes;
        receive_buffer = granted > 0 && granted < receive_buffer ? granted : receive_buffer;
        if (facts[rank].lacks_aes) {
            co_auth_use_portable(engine->auth); // one rank without it decides for all: they check each other's tags
        }
    }
    uint64_t window = (uint64_t)co_setting_number(CO_SET_MCAST_WINDOW);
    window = window < receive_buffer / 2 ? window : receive_buffer / 2;
    struct co_mcast_config config = {
        .transport = engine->transport,
        .auth = engine->auth,
        .world_rank = engine->bootstrap.world_rank,
        .world_size = engine->bootstrap.world_size,
        .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
        .chunk_bytes = co_mcast_chunk_bytes(engine->auth, datagram),
        .window_bytes = window,
        .shared_window_bytes = (size_t)co_setting_number(CO_SET_MCAST_SHARED_WINDOW),
        .staging_bytes = co_network_staging_bytes((size_t)co_setting_number(CO_SET_MCAST_STAGING),
                                                  engine->bootstrap.node_rank, engine->bootstrap.node_size),
        .eager_bytes = (size_t)co_setting_number(CO_SET_MCAST_EAGER),
        .read_bytes = (size_t)co_setting_number(CO_SET_VERBS_READ),
        .collect_bytes = (size_t)co_setting_number(CO_SET_MCAST_COLLECT),
        .chains = (unsigned)co_setting_number(CO_SET_MCAST_CHAINS),
        .ack_radix = (unsigned)co_setting_number(CO_SET_MCAST_ACK_RADIX),
        .cutoff_ns = (uint64_t)co_setting_number(CO_SET_MCAST_CUTOFF),
        .deadline_ns = (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S};
    co_descriptors_watch(engine);
    return co_mcast_open(&engine->mcast, &config);
}

static void describe(struct co_engine *engine)
{
    char text[sizeof(engine->network)];
    if (engine->transport_kind == CO_TRANSPORT_VERBS) {
        snprintf(text, sizeof(text), "%s", engine->verbs_text);
    } else {
        co_udp_describe(engine->transport, text, sizeof(text));
    }
    co_network_say(engine, "%s", text);
}

static int start_network(struct co_engine *engine, struct co_rank_facts *facts, struct co_udp_address *addresses)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    engine->transport_kind = CO_TRANSPORT_UDP;
    int status = co_udp_connect(engine->transport, addresses, bootstrap->world_size, bootstrap->world_rank);
    status = status == 0 ? co_network_choose_verbs(engine, facts) : status;
    if (status == 0) {
        describe(engine);
        status = insert_faults(engine);
    }
    return status < 0 ? status : open_protocol(engine, facts);
}

void co_network_connect(struct co_engine *engine, struct co_rank_facts *facts)
{
    int world = engine->bootstrap.world_size, opened = 0, failed = 0;
    struct co_udp_address *addresses = calloc((size_t)world, sizeof(*addresses));
    for (int rank = 0; rank < world; rank++) {
        if (facts[rank].udp_status < 0 && opened == 0) {
            opened = facts[rank].udp_status;
            failed = rank;
        }
        if (addresses != NULL) {
            addresses[rank] = facts[rank].address;
        }
    }
    // facts are the same everywhere, so is this decision
    int status = opened;
    if (opened == 0) {
        status = co_network_probe(engine, addresses == NULL ? -ENOMEM : start_network(engine, facts, addresses));
    } else if (engine->transport != NULL) {
        co_network_say(engine, "rank %d could not open UDP multicast (%s)%s", failed, strerror(-opened),
                       opened == -EMFILE ? "; raise ulimit -n" : "");
    }
    free(addresses);
    engine->has_multicast = status == 0;
}

void co_network_close(struct co_engine *engine)
{
    if (engine->mcast != NULL) {
        co_mcast_close(engine->mcast);
        engine->mcast = NULL;
    }
    if (engine->auth != NULL) {
        co_auth_close(engine->auth);
        engine->auth = NULL;
    }
    if (engine->transport != NULL) {
        engine->transport->ops->close(engine->transport);
        engine->transport = NULL;
    }
    if (engine->verbs != NULL) {
        engine->verbs->ops->close(engine->verbs);
        engine->verbs = NULL;
    }
}
