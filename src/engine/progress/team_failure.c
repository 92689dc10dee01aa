// SPDX-License-Identifier: BSD-3-Clause
//
// What happens when an operation cannot go on. A failure is seen by one process first: by a leader whose network
// neighbour is gone, or by a rank whose node neighbour is. Everybody else in the team waits for one of those, so the
// one who knows tells the members on his node by a word in shared memory and the other nodes over the network. Rare.
#include "engine/progress/team_failure.h"

#include <errno.h>

#include "base/log.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "mcast/mcast.h"
#include "shm/shm.h"

void co_team_break(struct co_team *team, int error)
{
    if (co_load_relaxed(&team->broken) != 0) { // relaxed: two who break it at once do the same
        return;
    }
    co_store_relaxed(&team->broken, error); // relaxed: a hint for callers; tasks look again under the lock
    co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "a communicator of %d ranks is broken: error %d", team->size, -error);
    if (team->shm != NULL) {
        co_shm_team_break(team->shm, error);
    }
    if (team->group != NULL) {
        co_mcast_group_fail(team->group, error);
    }
}

void co_team_give_up(struct co_team *team, int error)
{
    co_trylock_wait(&team->engine->lock);
    co_team_break(team, error);
    co_trylock_drop(&team->engine->lock);
}

static bool has_lost_a_neighbour(const struct co_team *team)
{
    for (int i = 0; i < team->node_size; i++) {
        if (co_load_relaxed(&team->engine->is_gone[team->neighbours[i]])) { // relaxed: never taken back
            return true;
        }
    }
    return false;
}

int co_team_failure(const struct co_team *team)
{
    int error = co_shm_team_broken(team->shm);
    if (error == 0 && co_load_relaxed(&team->engine->has_lost_one) && has_lost_a_neighbour(team)) {
        return -ECONNRESET;
    }
    return error;
}
