// SPDX-License-Identifier: BSD-3-Clause
//
// Teams of proxies by the ids of communicators; see the header.
#include "pmpi/communicator/communicator_proxies.h"

#include "base/hash_map.h"
#include "offload/collective/proxied_collective.h"
#include "pmpi/communicator/communicators.h"

static struct {
    struct co_trylock lock;
    struct co_hash_map by_id;
} teams = {.lock = CO_TRYLOCK_INIT};

struct co_proxied_team *co_communicator_find_proxies(const struct co_communicator *entry)
{
    co_trylock_wait(&teams.lock);
    struct co_proxied_team *found = co_hash_map_get(&teams.by_id, entry->seed.id);
    co_trylock_drop(&teams.lock);
    return found;
}

int co_communicator_keep_proxies(const struct co_communicator *entry, struct co_proxied_team *team)
{
    co_trylock_wait(&teams.lock);
    int error = co_hash_map_put(&teams.by_id, entry->seed.id, team);
    co_trylock_drop(&teams.lock);
    return error;
}

void co_communicator_drop_proxies(const struct co_communicator *entry)
{
    co_trylock_wait(&teams.lock);
    struct co_proxied_team *team = co_hash_map_remove(&teams.by_id, entry->seed.id);
    if (teams.by_id.count == 0) {
        co_hash_map_close(&teams.by_id);
        co_hash_map_open(&teams.by_id);
    }
    co_trylock_drop(&teams.lock);
    if (team != NULL) {
        co_proxied_team_close(team);
    }
}
