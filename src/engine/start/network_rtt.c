// SPDX-License-Identifier: BSD-3-Clause
//
// Round trips between two nodes, in turn by the MPI below and by datagrams, the shortest of each. Rank 0 asks; the
// other one answers whichever comes, until it is told that this was all. Both are awake and look without sleeping, so
// neither side is measured with the time that a sleeper needs. Start-up only; where the network is as usual this ends
// after two to four round trips of each kind.
#include "engine/start/network_rtt.h"

#include <sched.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"

enum { ROUNDS_LEAST = 4, ROUNDS_MOST = 12 }; // the first one also makes connections and finds link addresses
#define NEARER 3                             // times
#define ECHOES 4                             // looks for a message to one for datagrams
#define PATIENCE_NS (UINT64_C(20) * CO_NS_PER_MS)

// 0: no answer.
static uint64_t by_datagram(struct co_engine *engine, int rank)
{
    uint64_t began_ns = co_clock_now_ns(), now_ns = began_ns;
    co_mcast_ping(engine->mcast, rank, began_ns);
    while (now_ns - began_ns < PATIENCE_NS) {
        if (co_mcast_progress(engine->mcast, now_ns) < 0) {
            return 0;
        }
        now_ns = co_clock_now_ns();
        if (co_mcast_ping_is_answered(engine->mcast)) {
            return now_ns - began_ns + 1;
        }
        sched_yield();
    }
    return 0;
}

static uint64_t by_native(struct co_engine *engine, int rank)
{
    uint64_t began_ns = co_clock_now_ns();
    int error = engine->bootstrap.ping(engine->bootstrap.arg, rank, false);
    return error < 0 ? 0 : co_clock_now_ns() - began_ns + 1;
}

static bool is_shorter(struct co_engine *engine, int rank)
{
    uint64_t native_ns = UINT64_MAX, datagram_ns = UINT64_MAX;
    for (int round = 0; round < ROUNDS_MOST; round++) {
        uint64_t native = by_native(engine, rank), datagram = by_datagram(engine, rank);
        if (native == 0 || datagram == 0) {
            return false;
        }
        if (round == 0) {
            continue;
        }
        native_ns = native < native_ns ? native : native_ns;
        datagram_ns = datagram < datagram_ns ? datagram : datagram_ns;
        uint64_t near_ns = round + 1 >= ROUNDS_LEAST ? datagram_ns / NEARER : datagram_ns;
        if (native_ns >= near_ns) {
            break;
        }
    }
    co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "there and back to rank %d: %.1f us by the MPI below, %.1f us by a datagram",
           rank, (double)native_ns / CO_NS_PER_US, (double)datagram_ns / CO_NS_PER_US);
    return native_ns < datagram_ns / NEARER;
}

static void answer(struct co_engine *engine, bool has_network)
{
    for (unsigned turn = 0; engine->bootstrap.echo(engine->bootstrap.arg, 0) == 0; turn++) {
        if (turn % ECHOES == 0) {
            if (has_network) {
                co_mcast_progress(engine->mcast, co_clock_now_ns());
            }
            sched_yield();
        }
    }
}

// The first of another node than rank 0's; -1: there is none.
static int other_rank(const struct co_engine *engine)
{
    for (int rank = 1; rank < engine->bootstrap.world_size; rank++) {
        if (engine->node_of_rank[rank] != engine->node_of_rank[0]) {
            return rank;
        }
    }
    return -1;
}

bool co_network_rtt_favours_native(struct co_engine *engine, bool has_network)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    // Nodes that are parts of one host are nearer natively, and a fault may be one of datagrams alone: both are set to
    // try castoff.
    bool is_trial = co_setting_number(CO_SET_NODE_RANKS) != 0 || co_setting_text(CO_SET_FAULT)[0] != '\0';
    int rank = is_trial || bootstrap->ping == NULL ? -1 : other_rank(engine);
    bool is_nearer = false;
    if (rank > 0 && bootstrap->world_rank == rank) {
        answer(engine, has_network);
    } else if (rank > 0 && bootstrap->world_rank == 0) {
        is_nearer = has_network && is_shorter(engine, rank);
        bootstrap->ping(bootstrap->arg, rank, true);
    }
    return is_nearer;
}
