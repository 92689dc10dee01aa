// SPDX-License-Identifier: BSD-3-Clause
//
// Opens shared memory and the network for a job and makes all ranks agree on what works: every exchange is collective,
// so a rank on which something fails still takes part and says so. Start-up only.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "mcast/transport/lossy.h"
#include "mcast/transport/udp.h"

enum { TRANSPORT_AUTO, TRANSPORT_SHM, TRANSPORT_UDP, TRANSPORT_NONE }; // positions in the setting's choices

struct job_secret {
    uint8_t key[CO_AUTH_KEY_BYTES];
    uint64_t tag;
    int status;
};

// What each rank tells all others once its parts are open.
struct rank_facts {
    struct co_udp_address address;
    int32_t udp_status;
    int32_t shm_ok, single_copy;
    int32_t has_aes;
    uint64_t datagram_bytes, receive_buffer_bytes;
};

static uint64_t lossy_now(void *arg)
{
    (void)arg;
    return co_clock_now_ns();
}

static int open_shm(struct co_engine *engine, uint64_t job_tag)
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
                                   .single_copy = (int)co_setting_number(CO_SET_SHM_SINGLE_COPY),
                                   .single_copy_min = (size_t)co_setting_number(CO_SET_SHM_SINGLE_COPY_MIN),
                                   .barrier = bootstrap->node_barrier,
                                   .all_agree = bootstrap->node_minimum,
                                   .arg = bootstrap->arg};
    return co_shm_node_open(&engine->shm, &config);
}

static bool wants_network(const struct co_engine *engine)
{
    int64_t transport = co_setting_number(CO_SET_TRANSPORT);
    return engine->bootstrap.node_count > 1 && (transport == TRANSPORT_AUTO || transport == TRANSPORT_UDP);
}

static int open_udp(struct co_engine *engine, const struct job_secret *secret, struct co_udp_address *mine)
{
    int status =
        co_auth_open(&engine->auth, secret->key, engine->bootstrap.world_size, co_setting_number(CO_SET_AUTH) != 0);
    if (status < 0) {
        return status;
    }
    struct co_udp_config config = {.interface = co_setting_text(CO_SET_UDP_INTERFACE),
                                   .group_range = co_setting_text(CO_SET_UDP_GROUP),
                                   .job_tag = secret->tag,
                                   .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                   .ttl = (int)co_setting_number(CO_SET_UDP_TTL),
                                   .mtu_bytes = (size_t)co_setting_number(CO_SET_UDP_MTU),
                                   .receive_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_RCVBUF),
                                   .send_buffer_bytes = (size_t)co_setting_number(CO_SET_UDP_SNDBUF)};
    return co_udp_open(&engine->transport, &config, mine, engine->network, sizeof(engine->network));
}

// Faults asked for by CASTOFF_FAULT go between the protocol and the socket.
static int insert_faults(struct co_engine *engine)
{
    const char *text = co_setting_text(CO_SET_FAULT);
    if (text[0] == '\0') {
        return 0;
    }
    struct co_fault_plan plan;
    char why[120];
    int status = co_fault_plan_parse(&plan, text, why, sizeof(why));
    if (status < 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "CASTOFF_FAULT: %s; no faults are injected", why);
        return 0;
    }
    struct co_transport *below = engine->transport;
    return co_lossy_open(&engine->transport, below, &plan, engine->bootstrap.world_rank, co_mcast_classify, lossy_now,
                         NULL);
}

static int open_protocol(struct co_engine *engine, const struct rank_facts *facts)
{
    uint64_t datagram = UINT64_MAX, receive_buffer = UINT64_MAX;
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        datagram = facts[rank].datagram_bytes < datagram ? facts[rank].datagram_bytes : datagram;
        uint64_t granted = facts[rank].receive_buffer_bytes;
        receive_buffer = granted > 0 && granted < receive_buffer ? granted : receive_buffer;
        if (!facts[rank].has_aes) {
            co_auth_use_portable(engine->auth); // one rank without it decides for all: they check each other's tags
        }
    }
    uint64_t window = (uint64_t)co_setting_number(CO_SET_MCAST_WINDOW);
    window = window < receive_buffer / 2 ? window : receive_buffer / 2;
    struct co_mcast_config config = {.transport = engine->transport,
                                     .auth = engine->auth,
                                     .world_rank = engine->bootstrap.world_rank,
                                     .world_size = engine->bootstrap.world_size,
                                     .subgroups = (unsigned)co_setting_number(CO_SET_UDP_SUBGROUPS),
                                     .chunk_bytes = datagram - co_mcast_overhead_bytes(engine->auth),
                                     .window_bytes = window,
                                     .staging_bytes = (size_t)co_setting_number(CO_SET_MCAST_STAGING),
                                     .eager_bytes = (size_t)co_setting_number(CO_SET_MCAST_EAGER),
                                     .chains = (unsigned)co_setting_number(CO_SET_MCAST_CHAINS),
                                     .ack_radix = (unsigned)co_setting_number(CO_SET_MCAST_ACK_RADIX),
                                     .cutoff_ns = (uint64_t)co_setting_number(CO_SET_MCAST_CUTOFF),
                                     .deadline_ns = (uint64_t)co_setting_number(CO_SET_DEADLINE_S) * CO_NS_PER_S,
                                     .peers_answer = engine->uses_threads};
    return co_mcast_open(&engine->mcast, &config);
}

// Leaders take part; the first one asks. Returns the state in which the probe ended.
static int run_probe(struct co_engine *engine)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    if (bootstrap->node_rank != 0) {
        return 1;
    }
    int *leaders = calloc((size_t)bootstrap->node_count, sizeof(int));
    if (leaders == NULL) {
        return -ENOMEM;
    }
    for (int rank = bootstrap->world_size - 1; rank >= 0; rank--) {
        leaders[engine->node_of_rank[rank]] = rank; // the lowest rank of each node remains
    }
    uint64_t now_ns = co_clock_now_ns();
    uint64_t deadline = now_ns + (uint64_t)co_setting_number(CO_SET_PROBE);
    int status = co_mcast_probe_start(engine->mcast, leaders, bootstrap->node_count, leaders[0], deadline, now_ns);
    while (status == 0 && (status = co_mcast_probe_state(engine->mcast)) == 0) {
        if (co_mcast_progress(engine->mcast, co_clock_now_ns()) == 0) {
            co_sleep_for_event(engine, CO_NS_PER_MS);
        }
    }
    free(leaders);
    return status;
}

__attribute__((format(printf, 2, 3))) static void say(struct co_engine *engine, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(engine->network, sizeof(engine->network), format, arguments);
    va_end(arguments);
}

// All ranks give their verdict; the network is used only if every one of them is content.
static int agree(struct co_engine *engine, int mine)
{
    int *all = calloc((size_t)engine->bootstrap.world_size, sizeof(int));
    if (all == NULL) {
        return -ENOMEM; // the exchange below would hang without us; start-up cannot go on anyway
    }
    int status = engine->bootstrap.allgather(engine->bootstrap.arg, &mine, all, sizeof(int));
    int refusals = 0, first = 0;
    for (int rank = 0; status == 0 && rank < engine->bootstrap.world_size; rank++) {
        if (all[rank] < 0) {
            first = refusals++ == 0 ? all[rank] : first;
        }
    }
    free(all);
    if (status == 0 && refusals > 0 && mine >= 0) {
        say(engine, "%d of %d ranks could not use UDP multicast (%s)", refusals, engine->bootstrap.world_size,
            strerror(-first));
    }
    return status < 0 ? status : refusals > 0 ? first : 0;
}

static int start_network(struct co_engine *engine, const struct rank_facts *facts, struct co_udp_address *addresses)
{
    int status =
        co_udp_connect(engine->transport, addresses, engine->bootstrap.world_size, engine->bootstrap.world_rank);
    if (status == 0) {
        char text[sizeof(engine->network)];
        co_udp_describe(engine->transport, text, sizeof(text));
        say(engine, "%s", text);
        status = insert_faults(engine);
    }
    return status < 0 ? status : open_protocol(engine, facts);
}

static void connect_network(struct co_engine *engine, const struct rank_facts *facts)
{
    int world = engine->bootstrap.world_size, opened = 0;
    struct co_udp_address *addresses = calloc((size_t)world, sizeof(*addresses));
    for (int rank = 0; rank < world; rank++) {
        opened = facts[rank].udp_status < 0 ? facts[rank].udp_status : opened;
        if (addresses != NULL) {
            addresses[rank] = facts[rank].address;
        }
    }
    // facts are the same everywhere, so is this decision
    int status = opened;
    if (opened == 0) {
        status = agree(engine, addresses == NULL ? -ENOMEM : start_network(engine, facts, addresses));
    } else if (engine->transport != NULL) {
        say(engine, "a rank could not open UDP multicast (%s)", strerror(-opened));
    }
    free(addresses);
    if (status == 0) {
        int probe = run_probe(engine);
        status = agree(engine, probe > 0 ? 0 : probe);
        if (status == -ETIMEDOUT) {
            say(engine,
                "multicast is not heard by all %d nodes within %s: does the network carry it? "
                "(CASTOFF_PROBE, CASTOFF_UDP_INTERFACE)",
                engine->bootstrap.node_count, co_setting_text(CO_SET_PROBE));
        }
    }
    engine->has_multicast = status == 0;
}

static void close_network(struct co_engine *engine)
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
}

// What is equal everywhere once all have told theirs.
static void merge(struct co_engine *engine, const struct rank_facts *facts)
{
    engine->has_shm = engine->has_single_copy = true;
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        engine->has_shm = engine->has_shm && facts[rank].shm_ok;
        engine->has_single_copy = engine->has_single_copy && facts[rank].single_copy;
    }
}

static void tell_mine(struct co_engine *engine, struct rank_facts *mine, int shm_status)
{
    mine->shm_ok = shm_status == 0;
    mine->single_copy = engine->shm == NULL || co_shm_node_single_copy(engine->shm);
    mine->has_aes = engine->auth == NULL || strstr(co_auth_name(engine->auth), "chacha") == NULL;
    if (engine->transport != NULL) {
        mine->datagram_bytes = engine->transport->max_datagram_bytes;
        mine->receive_buffer_bytes = engine->transport->receive_buffer_bytes;
    }
}

static int draw_secret(struct co_engine *engine, struct job_secret *secret)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    if (bootstrap->world_rank == 0) {
        uint8_t public[CO_AUTH_KEY_BYTES]; // the tag shows in names and addresses: nothing of the key may be in it
        secret->status = co_auth_random_key(secret->key);
        secret->status = secret->status == 0 ? co_auth_random_key(public) : secret->status;
        memcpy(&secret->tag, public, sizeof(secret->tag));
    }
    int status = bootstrap->broadcast(bootstrap->arg, 0, secret, sizeof(*secret));
    return status < 0 ? status : secret->status;
}

static bool some_node_has_several(const struct co_engine *engine)
{
    return engine->bootstrap.node_count < engine->bootstrap.world_size;
}

// Once all is agreed: is anything left to serve? Whatever is not worth warning about is in the report.
static int conclude(struct co_engine *engine, char *why, size_t why_room)
{
    bool serves_nodes = engine->has_shm && some_node_has_several(engine);
    if (!serves_nodes && !engine->has_multicast) {
        snprintf(why, why_room, "%s%s%s", engine->has_shm ? "" : "ranks of a node cannot share memory",
                 engine->has_shm || engine->network[0] == '\0' ? "" : ", and ", engine->network);
        return -ENOTSUP;
    }
    if (wants_network(engine) && !engine->has_multicast && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE, "communicators of several nodes stay native: %s", engine->network);
    }
    return 0;
}

// Everything that can fail on one rank alone, then what all say about it.
static int open_parts(struct co_engine *engine, const struct job_secret *secret)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    struct rank_facts mine = {.udp_status = 0};
    struct rank_facts *all = calloc((size_t)bootstrap->world_size, sizeof(*all));
    if (all == NULL) {
        return -ENOMEM;
    }
    int shm_status = open_shm(engine, secret->tag);
    if (wants_network(engine)) {
        mine.udp_status = open_udp(engine, secret, &mine.address);
    } else if (bootstrap->node_count > 1) {
        say(engine, "CASTOFF_TRANSPORT=%s keeps off the network", co_setting_text(CO_SET_TRANSPORT));
    }
    tell_mine(engine, &mine, shm_status);
    int status = bootstrap->allgather(bootstrap->arg, &mine, all, sizeof(mine));
    if (status == 0) {
        merge(engine, all);
        if (wants_network(engine)) {
            connect_network(engine, all);
        }
    }
    free(all);
    if (!engine->has_multicast) {
        close_network(engine);
    }
    return status;
}

int co_transports_open(struct co_engine *engine, char *why, size_t why_room)
{
    if (co_setting_number(CO_SET_TRANSPORT) == TRANSPORT_NONE) {
        snprintf(why, why_room, "CASTOFF_TRANSPORT=none allows no transport");
        return -ENOTSUP;
    }
    struct job_secret secret = {.status = 0};
    int status = draw_secret(engine, &secret);
    if (status < 0) {
        snprintf(why, why_room, "no random key for the job (%s)", strerror(-status));
        return status;
    }
    status = open_parts(engine, &secret);
    if (status < 0) {
        snprintf(why, why_room, "the ranks could not compare their transports (%s)", strerror(-status));
        return status;
    }
    return conclude(engine, why, why_room);
}

void co_transports_close(struct co_engine *engine)
{
    close_network(engine);
    if (engine->shm != NULL) {
        co_shm_node_close(engine->shm);
        engine->shm = NULL;
    }
}
