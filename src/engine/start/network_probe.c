// SPDX-License-Identifier: BSD-3-Clause
//
// The question whether all nodes hear the multicast, and who does not: the leaders take part, the first one asks and
// counts the answers. Its one exchange carries what else all must know by then. Whom rank 0 did not hear from tells his
// host's name to all over native MPI. Start-up only.
#include "engine/start/network_probe.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/plain_text.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/progress/wait.h"
#include "engine/start/liveness_proof.h"
#include "engine/start/network_rtt.h"
#include "engine/start/network_text.h"
#include "mcast/mcast.h"

#define NAMED_MOST 4
#define HOST_BYTES 64
#define HOST_SHOWN 32

// As rank 0 knows it.
struct deaf_nodes {
    int32_t count;
    int32_t leaders[NAMED_MOST]; // the first ones
};

// The lowest rank of each node.
static void find_leaders(const struct co_engine *engine, int *leaders)
{
    for (int rank = engine->bootstrap.world_size - 1; rank >= 0; rank--) {
        leaders[engine->node_of_rank[rank]] = rank;
    }
}

// Returns the state in which the probe ended.
static int run_probe(struct co_engine *engine, const int *leaders)
{
    uint64_t patience_ns = (uint64_t)co_setting_number(CO_SET_PROBE);
    int status = co_mcast_probe_start(engine->mcast, leaders, engine->bootstrap.node_count, leaders[0], patience_ns,
                                      co_clock_now_ns());
    while (status == 0 && (status = co_mcast_probe_state(engine->mcast)) == 0) {
        if (co_mcast_progress(engine->mcast, co_clock_now_ns()) == 0) {
            co_sleep_for_event(engine, CO_NS_PER_MS);
        }
    }
    return status;
}

static void find_deaf(const struct co_engine *engine, const int *leaders, struct deaf_nodes *deaf)
{
    for (int node = 0; leaders != NULL && node < engine->bootstrap.node_count; node++) {
        if (co_mcast_probe_is_deaf(engine->mcast, node)) {
            if (deaf->count < NAMED_MOST) {
                deaf->leaders[deaf->count] = leaders[node];
            }
            deaf->count++;
        }
    }
}

// Collective: "host h2 (rank 2), host h3 (rank 3) and 7 more". Needs no memory.
static void name_hosts(const struct co_engine *engine, const struct deaf_nodes *deaf, char *text, size_t room)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    size_t used = 0;
    for (int i = 0; i < deaf->count && i < NAMED_MOST; i++) {
        char host[HOST_BYTES] = "";
        snprintf(host, sizeof(host), "%s", co_log_host());
        bootstrap->broadcast(bootstrap->arg, deaf->leaders[i], host, sizeof(host));
        host[sizeof(host) - 1] = '\0';
        char shown[HOST_SHOWN + 1];
        used += (size_t)snprintf(text + used, used < room ? room - used : 0, "%shost %s (rank %d)", i > 0 ? ", " : "",
                                 co_plain_line(shown, sizeof shown, host), (int)deaf->leaders[i]);
        used = used < room ? used : room;
    }
    if (deaf->count > NAMED_MOST) {
        snprintf(text + used, room - used, " and %d more", (int)deaf->count - NAMED_MOST);
    }
}

// Collective, and the same text everywhere.
static void say_who_is_deaf(struct co_engine *engine, const int *leaders)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    struct deaf_nodes deaf = {.count = 0};
    char whom[300] = "all nodes";
    if (bootstrap->world_rank == 0) {
        find_deaf(engine, leaders, &deaf);
    }
    if (bootstrap->broadcast(bootstrap->arg, 0, &deaf, sizeof(deaf)) < 0) {
        deaf.count = 0;
    }
    if (deaf.count == bootstrap->node_count - 1 && deaf.count > 1) {
        snprintf(whom, sizeof(whom), "any of the other %d hosts", (int)deaf.count);
    } else if (deaf.count > 0) {
        name_hosts(engine, &deaf, whom, sizeof(whom));
    }
    co_network_say(engine,
                   "multicast is not heard by %s within %s: does the network carry it? (CASTOFF_PROBE, "
                   "CASTOFF_UDP_INTERFACE)",
                   whom, co_setting_text(CO_SET_PROBE));
}

// Of the first rank of a node; 0 or less: it has not.
static int probe(struct co_engine *engine, int *leaders)
{
    if (leaders == NULL) {
        return -ENOMEM;
    }
    find_leaders(engine, leaders);
    return run_probe(engine, leaders);
}

int co_network_probe(struct co_engine *engine, int started)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    enum { STARTED, REFUSING, HEARD, HOSTS_ANSWER, NATIVE_IS_NOT_NEARER, WORDS };
    bool is_leader = bootstrap->node_rank == 0 && started == 0;
    int told[WORDS] = {started, started < 0 ? bootstrap->world_rank : INT_MAX, 1, 0, 1};
    int *leaders = is_leader ? calloc((size_t)bootstrap->node_count, sizeof(int)) : NULL;
    if (is_leader) {
        told[HEARD] = probe(engine, leaders);
    }
    told[NATIVE_IS_NOT_NEARER] = !co_network_rtt_favours_native(engine, started == 0 && told[HEARD] > 0);
    if (started == 0 && told[HEARD] > 0 && !engine->uses_threads) {
        told[HOSTS_ANSWER] = co_liveness_proof_ask(engine);
    }
    int status = bootstrap->minimum(bootstrap->arg, told, WORDS);
    status = status < 0 ? status : told[STARTED] < 0 ? told[STARTED] : told[HEARD];
    engine->hosts_answer = told[HOSTS_ANSWER] != 0;
    engine->has_nearer_native = told[NATIVE_IS_NOT_NEARER] == 0;
    engine->hears_unicast_alone = told[STARTED] == 0 && status == -ETIMEDOUT;
    if (status < 0 && status == told[STARTED]) {
        // Who waited for that rank in vain has heard nothing: that is no word about the network.
        if (started == 0) {
            co_network_say(engine, "rank %d could not use multicast (%s)", told[REFUSING], strerror(-status));
        }
    } else if (status == -ETIMEDOUT) {
        say_who_is_deaf(engine, leaders);
    } else if (status < 0) {
        co_network_say(engine, "multicast could not be tried (error %d)", -status);
    }
    free(leaders);
    return status < 0 ? status : 0;
}
