// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts that members let go to native. Who waits for one here waits for whoever gives its bytes: in memory the
// root or, on other nodes than the root's, the first rank of the team there; over the network the first rank of the
// root's node. So giver after giver learns of it, tells the next ones, and follows the root to native, where it answers
// who asks. Each such call takes the number that its operation would have had, in memory and over the network, so that
// what comes later has the same ones on all members.
#include "engine/collective/let_go.h"

#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"

// All members stop counting at the same one, if no team was opened before.
#define COUNTED_MOST (UINT32_C(1) << 30)

// To others of our node. The first rank there does not where the root is of that node, which a seed cannot tell; but if
// that root gives bytes here while this rank lets them go, this rank waits for them in native in any case.
static bool may_give(const struct co_team_seed *seed, int root)
{
    return seed->seat != CO_SHM_NO_SEAT && (root == seed->rank || seed->net != NULL);
}

// All of them have been, as long as there is no team.
static uint64_t called_so_far(const struct co_team_seed *seed, const struct co_team *team)
{
    return team != NULL ? team->bcasts.called : seed->skipped;
}

static bool is_counted(const struct co_team_seed *seed, const struct co_team *team)
{
    return team != NULL || seed->skipped < COUNTED_MOST;
}

static void count(struct co_team_seed *seed, struct co_team *team, int change)
{
    if (team != NULL) {
        team->bcasts.called += (uint64_t)(int64_t)change;
        team->bcasts.skipped += (uint32_t)change;
    } else {
        seed->skipped += (uint32_t)change;
    }
}

void co_let_go_to_native(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root)
{
    if (!is_counted(seed, team)) {
        return;
    }
    count(seed, team, 1);
    if (seed->net != NULL) {
        co_mcast_seed_skip(seed->net);
    }
    if (may_give(seed, root)) {
        co_shm_seat_let_go(engine->shm, seed->seat, called_so_far(seed, team));
    }
}

void co_let_go_take_back(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root)
{
    if (!is_counted(seed, team)) {
        return;
    }
    if (may_give(seed, root)) {
        co_shm_seat_take_back(engine->shm, seed->seat, called_so_far(seed, team));
    }
    count(seed, team, -1);
    if (seed->net != NULL) {
        co_mcast_seed_unskip(seed->net);
    }
}
