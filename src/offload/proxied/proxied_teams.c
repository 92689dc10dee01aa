// SPDX-License-Identifier: BSD-3-Clause
//
// Teams of calls by proxies: communicators, as the proxy knows them. Cold.
#include <errno.h>
#include <stdlib.h>

#include "base/atomics.h"
#include "offload/proxied/proxied_state.h"

static int members_tell(struct co_proxied_world *world, uint64_t id, const int *world_ranks, uint32_t count)
{
    uint8_t *members = malloc((size_t)count * CO_OFFLOAD_MEMBER_BYTES);
    if (members == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        co_little_endian_put(members + (size_t)i * CO_OFFLOAD_MEMBER_BYTES, (uint32_t)world_ranks[i], 4);
    }
    int error = co_rank_client_open_team(world->client, id, members, count);
    free(members);
    return error;
}

int co_proxied_team_make(struct co_proxied_team **out, struct co_proxied_world *world, uint64_t id,
                         const int *world_ranks, uint32_t count, uint32_t place)
{
    struct co_proxied_team *team = calloc(1, sizeof *team);
    int error = team == NULL ? -ENOMEM : members_tell(world, id, world_ranks, count);

    if (error != 0) {
        free(team);
        return error;
    }
    *team = (struct co_proxied_team){.world = world, .id = id, .count = count, .place = place, .uses = 1};
    co_proxied_link_join_last(&world->teams, &team->listed);
    *out = team;
    return 0;
}

static bool team_end(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;
    bool is_told = co_load_relaxed(&world->is_lost) || // relaxed: under the lock
                   co_rank_client_close_team(world->client, team->id, team->count) == 0;
    if (is_told) {
        free(team);
    }
    return is_told;
}

void co_proxied_team_release(struct co_proxied_team *team)
{
    if (--team->uses == 0 && !team_end(team)) {
        co_proxied_link_join_last(&team->world->doomed_teams, &team->listed);
    }
}

bool co_proxied_teams_tidy(struct co_proxied_world *world)
{
    while (world->doomed_teams.after != &world->doomed_teams) {
        struct co_proxied_team *team = (struct co_proxied_team *)world->doomed_teams.after;
        co_proxied_link_leave(&team->listed);
        if (!team_end(team)) {
            co_proxied_link_join_last(&world->doomed_teams, &team->listed);
            return false;
        }
    }
    return true;
}
