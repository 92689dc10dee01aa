// SPDX-License-Identifier: BSD-3-Clause
//
// Calls by proxies: their beginning, which is a command, and their end; teams as callers see them. Where as much is
// under way as may be a call waits in its team for room, in the order in which they were begun, and is told the proxy
// by whoever comes here later (co_proxied_move): so a start waits for nobody. One call of each team has always room at
// the proxy, and members make the calls of a team in one order, so those go on whatever else is under way. Hot.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomics.h"
#include "offload/proxied/proxied_state.h"

// Under the lock, before something begins: what there was no room for is said first, if there is some now.
static int world_ready(struct co_proxied_world *world)
{
    if (world->world->is_forked) {
        return -ECHILD;
    }
    if (co_load_relaxed(&world->is_lost) || co_load_relaxed(&world->is_broken)) { // relaxed: under the lock
        return -ECONNRESET;
    }
    co_proxied_calls_move(world);
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

static bool is_done_by_ticket(const struct co_proxied_call *call)
{
    uint32_t ticket = co_load_acquire(&call->ticket); // acquire P2
    return ticket != CO_TICKETS && co_rank_client_is_done(call->client, ticket);
}

// What became of it, once.
static void call_collect(struct co_proxied_call *call)
{
    if (!co_load_relaxed(&call->is_over)) { // relaxed: under the lock
        uint32_t ticket = co_load_relaxed(&call->ticket);
        call->completion = co_rank_client_collect(call->world->client, ticket);
        co_store_release(&call->is_over, true); // release P1: with that
        co_proxied_link_leave(&call->listed);
    }
}

static void refused_end(struct co_proxied_call *call)
{
    co_proxied_link_leave(&call->listed);
    co_proxied_team_release(call->team);
    free(call);
}

// Calls that are over give their tickets back, though nobody has asked for them yet.
static void calls_collect(struct co_proxied_world *world)
{
    for (struct co_proxied_link *link = world->calls.after, *next; link != &world->calls; link = next) {
        struct co_proxied_call *call = (struct co_proxied_call *)link;
        next = link->after;
        if (is_done_by_ticket(call)) {
            call_collect(call);
        }
    }
}

static void refused_collect(struct co_proxied_world *world)
{
    for (struct co_proxied_link *link = world->refused.after, *next; link != &world->refused; link = next) {
        struct co_proxied_call *call = (struct co_proxied_call *)link;
        next = link->after;
        if (is_done_by_ticket(call)) {
            call_collect(call);
            refused_end(call);
        }
    }
}

// To the proxy. -EAGAIN: there is no room.
static int call_give(struct co_proxied_call *call)
{
    struct co_proxied_world *world = call->world;
    struct co_proxied_team *team = call->team;
    uint64_t cached = co_rank_client_counts(world->client)->cached_calls;
    uint32_t ticket;
    int error = co_proxied_team_tell(team);

    if (error == 0) {
        error = call->plan != NULL ? co_rank_group_call(call->plan->group, &ticket)
                                   : co_rank_client_refuse(world->client, team->id, &team->calls, &ticket);
    }
    if (error != 0) {
        return error == -ENOSPC ? -EAGAIN : error; // of teams: until one is idle
    }
    team->begun++;
    if (team->listed.after != &team->listed) { // else it is closed, and in no list
        co_proxied_link_leave(&team->listed);
        co_proxied_link_join_last(&world->teams, &team->listed);
    }
    co_proxied_link_join_last(call->plan != NULL ? &world->calls : &world->refused, &call->listed);
    world->counts.cached += co_rank_client_counts(world->client)->cached_calls - cached;
    // Release P2: who looks whether it is over finds that the ticket's last call was collected.
    co_store_release(&call->ticket, ticket);
    return 0;
}

static void call_queue(struct co_proxied_call *call)
{
    struct co_proxied_team *team = call->team;

    if (team->first == NULL) {
        team->first = call;
        co_proxied_link_join_last(&call->world->waiting, &team->waiting);
        co_store_relaxed(&call->world->is_crowded, true); // relaxed: a hint, and under the lock
    } else {
        team->last->next = call;
    }
    team->last = call;
}

// The first one that waits is out of its team's queue.
static struct co_proxied_call *call_unqueue(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;
    struct co_proxied_call *call = team->first;

    team->first = call->next;
    call->next = NULL;
    if (team->first == NULL) {
        co_proxied_link_leave(&team->waiting);
        co_store_relaxed(&world->is_crowded, world->waiting.after != &world->waiting); // relaxed: as above
    }
    return call;
}

void co_proxied_calls_move(struct co_proxied_world *world)
{
    refused_collect(world);
    if (world->waiting.after == &world->waiting || co_load_relaxed(&world->is_broken)) { // relaxed: under the lock
        return;
    }
    calls_collect(world);
    for (struct co_proxied_link *link = world->waiting.after, *next; link != &world->waiting; link = next) {
        struct co_proxied_team *team = co_proxied_team_waiting(link);
        next = link->after;
        while (team->first != NULL && call_give(team->first) == 0) {
            (void)call_unqueue(team);
        }
    }
}

// Begun, behind those of its team that wait: 0, or another error than -EAGAIN.
static int call_enter(struct co_proxied_call *call)
{
    int error = call->team->first == NULL ? call_give(call) : -EAGAIN;

    if (error == -EAGAIN && call->team->first == NULL) {
        calls_collect(call->world);
        error = call_give(call);
    }
    if (error == -EAGAIN) {
        call_queue(call);
        error = 0;
    }
    return error;
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
        error = call_enter(call);
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

static int call_begin(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                      size_t bytes, const struct co_proxied_block *blocks)
{
    struct co_proxied_world *world = team->world;
    struct co_proxied_plan *plan;

    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    if (error == 0) {
        error = co_proxied_plan_find(&plan, team, send, receive, bytes, blocks);
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
    return call_begin(out, team, send, receive, bytes, NULL);
}

int co_proxied_alltoallv(struct co_proxied_call **out, struct co_proxied_team *team, const void *send, void *receive,
                         const struct co_proxied_block blocks[])
{
    return call_begin(out, team, send, receive, 0, blocks);
}

int co_proxied_start(struct co_proxied_call **out, struct co_proxied_plan *plan)
{
    struct co_proxied_world *world = plan->team->world;

    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    if (error == 0) {
        error = plan->is_out ? -EBUSY : plan_call(out, world, plan);
    }
    pthread_mutex_unlock(&world->lock);
    return error;
}

// A call of its own, of which nobody waits for the end.
int co_proxied_refuse(struct co_proxied_team *team)
{
    struct co_proxied_world *world = team->world;

    pthread_mutex_lock(&world->lock);
    int error = world_ready(world);
    struct co_proxied_call *call = error == 0 ? call_make(team, NULL) : NULL;
    if (error == 0) {
        error = call == NULL ? -ENOMEM : call_enter(call);
    }
    if (error == 0) {
        team->uses++;
    } else {
        free(call);
    }
    pthread_mutex_unlock(&world->lock);
    return error;
}

static void call_lose(struct co_proxied_call *call)
{
    if (!is_done_by_ticket(call)) {
        call->completion.error = -ECONNRESET;
        co_store_release(&call->is_over, true); // release P1: with what became of it
        co_proxied_link_leave(&call->listed);
    }
}

void co_proxied_calls_lose(struct co_proxied_world *world)
{
    while (world->waiting.after != &world->waiting) {
        struct co_proxied_call *call = call_unqueue(co_proxied_team_waiting(world->waiting.after));
        if (call->plan != NULL) {
            call_lose(call);
        } else {
            refused_end(call);
        }
    }
    for (struct co_proxied_link *link = world->calls.after, *next; link != &world->calls; link = next) {
        next = link->after;
        call_lose((struct co_proxied_call *)link);
    }
    while (world->refused.after != &world->refused) {
        refused_end((struct co_proxied_call *)world->refused.after);
    }
}

bool co_proxied_is_done(const struct co_proxied_call *call)
{
    return is_done_by_ticket(call) || co_load_acquire(&call->is_over); // acquire P1
}

bool co_proxied_is_crowded(const struct co_proxied_world *world)
{
    return co_load_relaxed(&world->is_crowded); // relaxed: a hint
}

void co_proxied_move(struct co_proxied_world *world)
{
    if (pthread_mutex_trylock(&world->lock) == 0) { // who has it does so as well
        co_proxied_calls_move(world);
        pthread_mutex_unlock(&world->lock);
    }
}

void co_proxied_end(struct co_proxied_call *call, struct co_proxied_result *result)
{
    struct co_proxied_world *world = call->world;

    pthread_mutex_lock(&world->lock);
    call_collect(call);
    struct co_offload_completion completion = call->completion;
    // Where the proxy has gone before it was over nothing is copied back.
    int error = ranges_end(world, call->plan, completion.state == CO_OFFLOAD_COMPLETION_DONE);
    completion.bytes += completion.state == CO_OFFLOAD_COMPLETION_DONE ? call->plan->own.send_bytes : 0;
    *result = (struct co_proxied_result){.error = completion.error != 0 ? completion.error : error,
                                         .with = (int)completion.with - 1,
                                         .bytes = completion.bytes};
    world->counts.failed += result->error != 0;
    world->counts.bytes_received += completion.bytes;
    if (co_rank_connection_copies(world->connection) != NULL) {
        world->counts.bytes_copied += completion.bytes;
    }
    co_proxied_plan_return(call->plan);
    free(call);
    co_proxied_calls_move(world);
    pthread_mutex_unlock(&world->lock);
}
