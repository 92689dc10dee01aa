// SPDX-License-Identifier: BSD-3-Clause
//
// Teams of calls by proxies: communicators, as the proxy knows them, which is told of one when it is first needed. It
// may have so many open at a time: where a program has more communicators, the one that is idle and was not used for
// longest is closed there, and opened again, with the number of its calls so far, at its next call. Cold.
#include <errno.h>
#include <stdlib.h>

#include "base/atomics.h"
#include "offload/collective/proxied_state.h"

int co_proxied_team_make(struct co_proxied_team **out, struct co_proxied_world *world, uint64_t id,
                         const int *world_ranks, uint32_t count, uint32_t place)
{
    struct co_proxied_team *team = calloc(1, sizeof *team + (size_t)count * CO_OFFLOAD_MEMBER_BYTES);
    if (team == NULL) {
        return -ENOMEM;
    }
    *team = (struct co_proxied_team){
        .world = world, .id = id, .count = count, .place = place, .uses = 1, .calls.members = count};
    for (uint32_t i = 0; i < count; i++) {
        co_little_endian_put(team->members + (size_t)i * CO_OFFLOAD_MEMBER_BYTES, (uint32_t)world_ranks[i], 4);
    }
    co_proxied_link_init(&team->waiting);
    co_proxied_link_join_last(&world->teams, &team->listed);
    *out = team;
    return 0;
}

// Nothing of it is under way or waits, and what the proxy has of it can be told again.
static bool is_idle(const struct co_proxied_team *team)
{
    return team->is_told && team->calls.call_count == 0 && team->first == NULL;
}

// Its arguments stay, and are told again, too. False: not now.
static bool team_hide(struct co_proxied_team *team)
{
    struct co_rank_client *client = team->world->client;
    int error = co_rank_groups_forget(client, &team->calls);

    if (error == 0) {
        error = co_rank_client_close_team(client, team->id, team->count);
    }
    team->is_told = error != 0;
    team->world->has_changed |= error == 0; // there is room
    return !team->is_told;
}

static int team_open(struct co_proxied_team *team)
{
    return co_rank_client_open_team(team->world->client, team->id, team->members, team->count, team->begun);
}

int co_proxied_team_tell(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;
    int error = team->is_told ? 0 : team_open(team);

    for (struct co_proxied_link *link = world->teams.after, *next; error == -ENOSPC && link != &world->teams;
         link = next) {
        struct co_proxied_team *other = (struct co_proxied_team *)link;
        next = link->after;
        if (is_idle(other) && team_hide(other)) {
            error = team_open(team);
        }
    }
    team->is_told = error == 0;
    return error;
}

static bool team_end(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;
    bool is_over = !team->is_told || world->is_leaving || co_load_relaxed(&world->is_lost) || // relaxed: under the lock
                   co_rank_client_close_team(world->client, team->id, team->count) == 0;
    if (is_over) {
        world->has_changed = true; // there is room
        free(team);
    }
    return is_over;
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
