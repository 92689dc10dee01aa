// SPDX-License-Identifier: BSD-3-Clause
//
// Calls by proxies: their beginning and their end, and teams, as callers see them. Hot.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "offload/collective/proxied_state.h"

// Under the lock, before something begins: what there was no room for is said first, if there is some now.
static int world_ready(struct co_proxied_world *world)
{
    if (world->world->is_forked) {
        return -ECHILD;
    }
    if (co_load_relaxed(&world->is_lost) || co_load_relaxed(&world->is_broken)) { // relaxed: under the lock
        return -ECONNRESET;
    }
    co_proxied_calls_look(world);
    if (co_proxied_plans_tidy(world)) {
        (void)co_proxied_teams_tidy(world);
    }
    return 0;
}

int co_proxied_team_open(struct co_proxied_team **out, struct co_proxied_world *world, uint64_t id,
                         const int *world_ranks, int size, int rank)
{
    if (size < 1 || size > CO_PROXIED_MEMBERS_MAX || rank < 0 || rank >= size) {
        return size > CO_PROXIED_MEMBERS_MAX ? -ENOSPC : -EINVAL;
    }
    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    if (error == 0) {
        error = co_proxied_team_make(out, world, id, world_ranks, (uint32_t)size, (uint32_t)rank);
    }
    pthread_mutex_unlock(&world->lock);
    return error;
}

void co_proxied_team_close(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;

    pthread_mutex_lock(&world->lock);
    co_proxied_plans_drop(world, team);
    co_proxied_link_leave(&team->listed);
    co_proxied_team_release(team);
    world->has_changed = true;
    pthread_mutex_unlock(&world->lock);
}

static void own_copy(const struct co_offload_blocks *own)
{
    if (own->send_bytes > 0) {
        memmove((void *)(uintptr_t)own->receive_address, (const void *)(uintptr_t)own->send_address, own->send_bytes);
    }
}

static int ranges_begin(struct co_proxied_world *world, struct co_proxied_plan *plan)
{
    struct co_rank_copies *copies = co_rank_connection_copies(world->connection);
    return copies == NULL ? 0 : co_rank_copies_in(copies, &plan->ranges);
}

static int ranges_end(struct co_proxied_world *world, struct co_proxied_plan *plan, bool is_back)
{
    struct co_rank_copies *copies = co_rank_connection_copies(world->connection);
    return copies == NULL ? 0 : co_rank_copies_out(copies, &plan->ranges, is_back);
}

static struct co_proxied_call *call_make(struct co_proxied_team *team, struct co_proxied_plan *plan)
{
    struct co_proxied_call *call = calloc(1, sizeof *call);
    if (call != NULL) {
        call->world = team->world;
        call->client = team->world->client;
        call->team = team;
        call->plan = plan;
        co_store_relaxed(&call->ticket, CO_TICKETS); // relaxed: nobody else knows it
        co_proxied_link_init(&call->listed);
    }
    return call;
}

// The own block first: where the rank copies, all of the receive buffer is copied there and back.
static int plan_call(struct co_proxied_call **out, struct co_proxied_world *world, struct co_proxied_plan *plan)
{
    struct co_proxied_call *call = call_make(plan->team, plan);
    if (call == NULL) {
        return -ENOMEM;
    }
    own_copy(&plan->own);
    int error = ranges_begin(world, plan);
    if (error == 0) {
        error = co_proxied_call_enter(call);
        if (error != 0) {
            (void)ranges_end(world, plan, false);
        }
    }
    if (error != 0) {
        free(call);
        return error;
    }
    plan->is_out = true;
    world->counts.calls++;
    *out = call;
    return 0;
}

static int call_begin(struct co_proxied_call **out, struct co_proxied_team *team,
                      const struct co_proxied_arguments *arguments)
{
    struct co_proxied_world *world = team->world;
    struct co_proxied_plan *plan;

    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    if (error == 0) {
        error = co_proxied_plan_find(&plan, team, arguments);
    }
    if (error == 0) {
        error = plan_call(out, world, plan);
        if (error != 0) {
            co_proxied_plan_return(plan);
        }
    }
    pthread_mutex_unlock(&world->lock);
    return error;
}

int co_proxied_alltoall(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                        size_t bytes)
{
    return call_begin(out, team,
                      &(struct co_proxied_arguments){
                          .kind = CO_OFFLOAD_COMMAND_ALLTOALL, .send = send, .receive = receive, .bytes = bytes});
}

int co_proxied_alltoallv(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                         const struct co_proxied_block blocks[])
{
    return call_begin(out, team,
                      &(struct co_proxied_arguments){
                          .kind = CO_OFFLOAD_COMMAND_ALLTOALLV, .send = send, .receive = receive, .blocks = blocks});
}

int co_proxied_bcast(struct co_proxied_call **out, struct co_proxied_team *team, int root, void *buffer, size_t bytes)
{
    return call_begin(out, team,
                      &(struct co_proxied_arguments){.kind = CO_OFFLOAD_COMMAND_BCAST,
                                                     .root = (uint32_t)root,
                                                     .send = buffer,
                                                     .receive = buffer,
                                                     .bytes = bytes});
}

int co_proxied_allgather(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                         size_t bytes)
{
    return call_begin(
        out, team,
        &(struct co_proxied_arguments){.kind = CO_OFFLOAD_COMMAND_ALLGATHER,
                                       .send = send != NULL ? send : (const char *)receive + team->place * bytes,
                                       .receive = receive,
                                       .bytes = bytes});
}

int co_proxied_allgatherv(struct co_proxied_call **out, struct co_proxied_team *team, void *buffer,
                          const struct co_proxied_block blocks[])
{
    return call_begin(out, team,
                      &(struct co_proxied_arguments){
                          .kind = CO_OFFLOAD_COMMAND_ALLGATHERV, .send = buffer, .receive = buffer, .blocks = blocks});
}

// A call of its own, of which nobody waits for the end.
static int call_refuse(struct co_proxied_team *team, uint32_t refused, uint32_t root)
{
    struct co_proxied_world *world = team->world;

    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    struct co_proxied_call *call = error == 0 ? call_make(team, NULL) : NULL;
    if (error == 0 && call == NULL) {
        error = -ENOMEM;
    }
    if (error == 0) {
        call->refused = refused;
        call->root = root;
        error = co_proxied_call_enter(call);
    }
    if (error == 0) {
        team->uses++;
    } else {
        free(call);
    }
    pthread_mutex_unlock(&world->lock);
    return error;
}

int co_proxied_refuse(struct co_proxied_team *team)
{
    return call_refuse(team, 0, 0);
}

int co_proxied_refuse_bcast(struct co_proxied_team *team, int root)
{
    return call_refuse(team, CO_OFFLOAD_COMMAND_BCAST, (uint32_t)root);
}

int co_proxied_refuse_allgather(struct co_proxied_team *team)
{
    return call_refuse(team, CO_OFFLOAD_COMMAND_ALLGATHER, 0);
}

bool co_proxied_is_done(const struct co_proxied_call *call)
{
    return co_proxied_call_has_ended(call) || co_load_acquire(&call->is_over); // acquire P1
}

bool co_proxied_is_crowded(const struct co_proxied_world *world)
{
    return co_load_relaxed(&world->is_crowded); // relaxed: a hint
}

void co_proxied_move(struct co_proxied_world *world)
{
    if (pthread_mutex_trylock(&world->lock) == 0) { // who has it does so as well
        co_proxied_calls_look(world);
        pthread_mutex_unlock(&world->lock);
    }
}

void co_proxied_end(struct co_proxied_call *call, struct co_proxied_result *result)
{
    struct co_proxied_world *world = call->world;

    pthread_mutex_lock(&world->lock);
    co_proxied_call_collect(call);
    struct co_offload_completion completion = call->completion;
    // Where the proxy has gone before it was over nothing is copied back.
    int error = ranges_end(world, call->plan, completion.state == CO_OFFLOAD_COMPLETION_DONE);
    completion.bytes += completion.state == CO_OFFLOAD_COMPLETION_DONE ? call->plan->own.send_bytes : 0;
    *result = (struct co_proxied_result){.error = completion.error != 0 ? completion.error : error,
                                         .with = (int)completion.with - 1,
                                         .bytes = completion.bytes};
    world->counts.failed += result->error != 0;
    world->counts.bytes_received += completion.bytes;
    if (co_rank_connection_is_copying(world->connection)) {
        world->counts.bytes_copied += completion.bytes;
    }
    co_proxied_plan_return(call->plan);
    free(call);
    world->has_changed = true;
    co_proxied_calls_look(world);
    pthread_mutex_unlock(&world->lock);
}
