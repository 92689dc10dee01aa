// SPDX-License-Identifier: BSD-3-Clause
//
// Whose silence proves that a peer is gone. Where all ranks have worker threads, its own. Where some do not, a rank
// that computes is silent, and its host has to speak for it: each host asks the next one, so that all have been heard
// once, and answers that a firewall keeps back are not missed later. The same where multicast is not heard, for nobody
// knows then whether datagrams arrive. Collective, start-up only.
#include "engine/start/liveness_proof.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/progress/wait.h"
#include "engine/start/descriptor_budget.h"
#include "mcast/mcast.h"
#include "transport/transport.h"

static int next_leader(const struct co_engine *engine)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    int next = (bootstrap->node_index + 1) % bootstrap->node_count, rank = 0;
    while (engine->node_of_rank[rank] != next) {
        rank++;
    }
    return rank;
}

// Within the time of the set-up probe, which the network has passed already.
static bool hears_next_host(struct co_engine *engine)
{
    const struct co_transport_ops *ops = engine->transport->ops;
    int rank = next_leader(engine), asked = 0;
    bool is_heard = false;
    uint64_t end_ns = co_clock_now_ns() + (uint64_t)co_setting_number(CO_SET_PROBE);
    while (ops->host_ask != NULL && !is_heard && asked >= 0 && co_clock_now_ns() < end_ns) {
        co_trylock_wait(&engine->lock); // some ranks may have threads
        asked = ops->host_ask(engine->transport, rank);
        is_heard = ops->host_told(engine->transport) == rank;
        co_mcast_progress(engine->mcast, co_clock_now_ns());
        co_trylock_drop(&engine->lock);
        if (!is_heard) {
            co_sleep_for_event(engine, CO_NS_PER_MS / 2);
        }
    }
    return is_heard;
}

bool co_liveness_proof_ask(struct co_engine *engine)
{
    bool can_ask = co_descriptors_take(engine, CO_TRANSPORT_HOSTS_ASKED);
    return can_ask && (engine->bootstrap.node_rank != 0 || hears_next_host(engine));
}

// Asked in the probe already, unless all were to have threads then, or nobody was heard.
static bool hosts_answer(struct co_engine *engine)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    if (!engine->uses_threads && engine->has_multicast) {
        return engine->hosts_answer;
    }
    int verdict = co_liveness_proof_ask(engine);
    return bootstrap->minimum(bootstrap->arg, &verdict, 1) == 0 && verdict != 0;
}

static enum co_liveness_proof agree_on_hosts(struct co_engine *engine)
{
    if (hosts_answer(engine)) {
        return CO_LIVENESS_PROOF_HOSTS;
    }
    if (engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE,
               "a host that falls silent is waited for: %s, and some host does not refuse connections to a closed "
               "port, or has no descriptors to ask",
               engine->has_multicast ? "not all ranks have worker threads" : "multicast is not heard");
    }
    return CO_LIVENESS_PROOF_NONE;
}

static void say_nothing_is_known(const struct co_engine *engine)
{
    bool go_between_hosts = engine->has_remote_channel && engine->bootstrap.node_count > 1;
    if (go_between_hosts && engine->message_policy == CO_YES && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE,
               "messages between hosts: a process that has ended and a host that falls silent are waited for, since "
               "there is no network of castoff's to ask them by: %s",
               engine->network);
    }
}

void co_liveness_proof_agree(struct co_engine *engine, bool all_have_threads)
{
    if (engine->mcast == NULL) {
        say_nothing_is_known(engine);
        return;
    }
    bool members_answer = all_have_threads && engine->has_multicast;
    enum co_liveness_proof proof = members_answer ? CO_LIVENESS_PROOF_MEMBERS : agree_on_hosts(engine);
    co_trylock_wait(&engine->lock);
    co_mcast_set_liveness_proof(engine->mcast, proof);
    co_trylock_drop(&engine->lock);
}
