// SPDX-License-Identifier: BSD-3-Clause
//
// The world: proxies of an MPI job, which castoff_offload.h's way of opening starts; whether they are there; and who
// sleeps. In a child of fork nothing of it is left but memory (offload_worlds.c sees to that).
#include "offload/collective/proxied_collective.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "base/settings.h"
#include "offload/collective/proxied_state.h"

static void world_prepare(struct co_proxied_world *world)
{
    struct co_proxied_link *lists[] = {&world->teams,        &world->calls,        &world->refused, &world->kept,
                                       &world->doomed_plans, &world->doomed_teams, &world->waiting};

    pthread_mutex_init(&world->lock, NULL);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        co_proxied_link_init(lists[i]);
    }
    co_hash_map_open(&world->by_hash);
}

int co_proxied_open(struct co_proxied_world **out, const struct co_proxied_config *config,
                    char why[CO_PROXIED_WHY_BYTES])
{
    struct castoff_offload_job job = {.rank = config->rank,
                                      .size = config->size,
                                      .allgather = config->allgather,
                                      .arg = config->arg,
                                      .command = config->command};
    struct co_proxied_world *world = calloc(1, sizeof *world); // who has none takes part: the others wait for it
    struct castoff_offload_world *opened = NULL;
    int error = co_offload_world_open(&opened, &job);
    if (error != 0) {
        snprintf(why, CO_PROXIED_WHY_BYTES, "%s", castoff_offload_why());
        free(world);
        return error;
    }
    if (world == NULL) {
        castoff_offload_close(opened);
        snprintf(why, CO_PROXIED_WHY_BYTES, "no memory");
        return -ENOMEM;
    }
    world_prepare(world);
    world->world = opened;
    world->connection = opened->connection;
    world->descriptor = co_rank_connection_descriptor(opened->connection);
    world->client = co_rank_connection_client(opened->connection);
    snprintf(world->state, sizeof world->state, "%s", castoff_offload_state());
    *out = world;
    return 0;
}

// For the proxy to have heard them, which waits for nobody: who leaves before that is one that has died. Others than
// these are not under way, so those that wait for room get it.
static void refused_await(struct co_proxied_world *world)
{
    co_proxied_calls_move(world);
    while (world->refused.after != &world->refused) {
        const struct co_proxied_call *call = (const struct co_proxied_call *)world->refused.after;
        if (!co_rank_connection_wait(world->connection, co_load_relaxed(&call->ticket))) { // relaxed: under the lock
            break;
        }
        co_proxied_calls_move(world);
    }
    co_proxied_calls_lose(world); // nothing is left, but where the proxy has gone
}

void co_proxied_close(struct co_proxied_world *world)
{
    pthread_mutex_lock(&world->lock);
    refused_await(world);
    co_proxied_plans_drop(world, NULL);
    while (world->teams.after != &world->teams) {
        struct co_proxied_team *team = (struct co_proxied_team *)world->teams.after;
        co_proxied_link_leave(&team->listed);
        co_proxied_team_release(team);
    }
    // What is doomed still is so of a proxy that takes no commands; it forgets all of it when the rank leaves.
    co_proxied_plans_abandon(world);
    pthread_mutex_unlock(&world->lock);
    for (struct co_proxied_link *list = &world->doomed_teams; list->after != list;) {
        struct co_proxied_team *team = (struct co_proxied_team *)list->after;
        co_proxied_link_leave(&team->listed);
        free(team);
    }
    co_hash_map_close(&world->by_hash);
    castoff_offload_close(world->world);
    pthread_mutex_destroy(&world->lock);
    free(world);
}

const char *co_proxied_why_none(int64_t choice)
{
    switch (choice) {
    case CO_YES:
        return NULL;
    case CO_NO:
        return "none: CASTOFF_PROXY=no";
    default:
        return "none by CASTOFF_PROXY=auto, as each node would need a core for them (yes has them)";
    }
}

const char *co_proxied_state(const struct co_proxied_world *world)
{
    return world->state;
}

// Under the lock. The proxy has gone: every call is done.
static void world_lose(struct co_proxied_world *world)
{
    if (co_load_relaxed(&world->is_lost)) { // relaxed: under the lock
        return;
    }
    co_proxied_calls_lose(world);
    co_store_release(&world->is_lost, true); // release P1: likewise
}

void co_proxied_break(struct co_proxied_world *world)
{
    pthread_mutex_lock(&world->lock);
    if (!co_load_relaxed(&world->is_lost)) {       // else the proxy went first, and that is what is told
        co_store_relaxed(&world->is_broken, true); // relaxed, both: under the lock
        co_rank_connection_break(world->connection);
    }
    pthread_mutex_unlock(&world->lock);
}

bool co_proxied_look(struct co_proxied_world *world, uint64_t now_ns)
{
    pthread_mutex_lock(&world->lock);
    bool is_there = !co_load_relaxed(&world->is_lost); // relaxed: under the lock
    if (is_there) {
        // Those that are not over are lost before the client takes their tickets.
        is_there = co_rank_connection_tend(world->connection, now_ns);
        if (is_there) {
            co_proxied_calls_look(world);
        } else {
            world_lose(world);
        }
    }
    pthread_mutex_unlock(&world->lock);
    return is_there;
}

bool co_proxied_world_is_lost(const struct co_proxied_world *world)
{
    return co_load_acquire(&world->is_lost); // acquire P1
}

uint64_t co_proxied_moved(const struct co_proxied_world *world)
{
    return co_segment_moved(co_rank_client_segment(world->client));
}

int co_proxied_descriptor(const struct co_proxied_world *world)
{
    return co_proxied_world_is_lost(world) ? -1 : world->descriptor;
}

void co_proxied_sleeps(struct co_proxied_world *world)
{
    pthread_mutex_lock(&world->lock);
    if (world->sleepers++ == 0) {
        co_segment_rank_may_sleep(co_rank_client_segment(world->client));
    }
    pthread_mutex_unlock(&world->lock);
    // Either the proxy sees that somebody sleeps, or who looks behind this sees what the proxy has completed.
    atomic_thread_fence(memory_order_seq_cst);
}

// What has rung is taken away by the last one: the others would sleep on.
void co_proxied_wakes(struct co_proxied_world *world)
{
    pthread_mutex_lock(&world->lock);
    if (--world->sleepers == 0) {
        co_segment_rank_wakes(co_rank_client_segment(world->client));
        if (!co_load_relaxed(&world->is_lost) && !co_rank_connection_look(world->connection)) { // relaxed: likewise
            world_lose(world);
        }
    }
    pthread_mutex_unlock(&world->lock);
}

void co_proxied_describe(const struct co_proxied_world *world, const struct co_proxied_result *result,
                         char why[CO_PROXIED_WHY_BYTES])
{
    const char *host =
        world->world->hosts[result->with >= 0 && result->with < world->world->size ? result->with : world->world->rank];
    if (result->error == -ECONNRESET && result->with >= 0) {
        snprintf(why, CO_PROXIED_WHY_BYTES, "rank %d on host %s has ended, or could not do its part of this",
                 result->with, host);
    } else if (result->error == -ECONNRESET && co_load_relaxed(&world->is_broken)) { // relaxed: it was before the end
        snprintf(why, CO_PROXIED_WHY_BYTES, "this rank could not do its part of a call, and has left its proxy");
    } else if (result->error == -ECONNRESET) {
        snprintf(why, CO_PROXIED_WHY_BYTES, "the proxy of host %s has ended, or did not move for CASTOFF_DEADLINE_S",
                 host);
    } else if (result->error == -EMSGSIZE) {
        snprintf(why, CO_PROXIED_WHY_BYTES, "rank %d has sent more than there is room for", result->with);
    } else if (result->error == -EFAULT) {
        snprintf(why, CO_PROXIED_WHY_BYTES, "a part of a buffer is no memory of this process any more");
    } else {
        snprintf(why, CO_PROXIED_WHY_BYTES, "%s", strerror(-result->error));
    }
}

void co_proxied_count(struct co_proxied_world *world, struct co_proxied_counts *counts)
{
    pthread_mutex_lock(&world->lock);
    *counts = world->counts;
    pthread_mutex_unlock(&world->lock);
}
