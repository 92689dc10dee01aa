// SPDX-License-Identifier: BSD-3-Clause
//
// Calls on their way to the proxy. Where as much is under way as may be a call waits in its team for room, in the order
// in which they were begun, and is told the proxy by whoever comes here later (co_proxied_move): so a start waits for
// nobody. One call of each team has always room at the proxy, and members make the calls of a team in one order, so
// those go on whatever else is under way. Under the world's lock, but for looking whether a call is over. Hot.
#include <errno.h>
#include <stdlib.h>

#include "base/atomics.h"
#include "offload/collective/proxied_state.h"

bool co_proxied_call_has_ended(const struct co_proxied_call *call)
{
    uint32_t ticket = co_load_acquire(&call->ticket); // acquire P2
    return ticket != CO_TICKETS && co_rank_client_is_done(call->client, ticket);
}

// What became of it, once.
void co_proxied_call_collect(struct co_proxied_call *call)
{
    if (!co_load_relaxed(&call->is_over)) { // relaxed: under the lock
        uint32_t ticket = co_load_relaxed(&call->ticket);
        call->completion = co_rank_client_collect(call->world->client, ticket);
        co_store_release(&call->is_over, true); // release P1: with that
        co_proxied_link_leave(&call->listed);
        call->world->collected++;
        call->world->has_changed = true;
    }
}

static void refused_end(struct co_proxied_call *call)
{
    co_proxied_link_leave(&call->listed);
    co_proxied_team_release(call->team);
    free(call);
}

// Calls that are over give their tickets back, though nobody has asked for them yet. None is asked where nothing more
// has ended, nor behind the last that has: mostly the oldest ones are over first.
static void calls_collect(struct co_proxied_world *world)
{
    uint64_t ended = co_segment_ended(co_rank_client_segment(world->client)); // before they are looked at

    if (ended == world->ended) {
        return;
    }
    world->ended = ended;
    for (struct co_proxied_link *link = world->calls.after, *next; link != &world->calls && world->collected < ended;
         link = next) {
        struct co_proxied_call *call = (struct co_proxied_call *)link;
        next = link->after;
        if (co_proxied_call_has_ended(call)) {
            co_proxied_call_collect(call);
        }
    }
}

static void refused_collect(struct co_proxied_world *world)
{
    for (struct co_proxied_link *link = world->refused.after, *next; link != &world->refused; link = next) {
        struct co_proxied_call *call = (struct co_proxied_call *)link;
        next = link->after;
        if (co_proxied_call_has_ended(call)) {
            co_proxied_call_collect(call);
            refused_end(call);
        }
    }
}

// Of its messages: an allgather has one for each member.
static uint64_t numbers_of(const struct co_proxied_call *call)
{
    uint32_t kind = call->plan != NULL ? call->plan->pattern.kind : call->refused;
    bool has_each = kind == CO_OFFLOAD_COMMAND_ALLGATHER || kind == CO_OFFLOAD_COMMAND_ALLGATHERV;
    return has_each ? call->team->count : 1;
}

// To the proxy. -EAGAIN: there is no room.
static int call_give(struct co_proxied_call *call)
{
    struct co_proxied_world *world = call->world;
    struct co_proxied_team *team = call->team;
    uint64_t cached = co_rank_client_counts(world->client)->cached_calls;
    uint32_t ticket;
    int error = co_proxied_team_tell(team);

    if (error == 0 && call->plan != NULL) {
        error = co_rank_group_call(call->plan->group, &ticket);
    } else if (error == 0) {
        struct co_offload_command refusal = {
            .kind = CO_OFFLOAD_COMMAND_REFUSE, .team = team->id, .refused = call->refused, .root = call->root};
        error = co_rank_client_refuse(world->client, &refusal, &team->calls, &ticket);
    }
    if (error != 0) {
        return error == -ENOSPC ? -EAGAIN : error; // of teams: until one is idle
    }
    team->begun += numbers_of(call);
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

// What waits, to the proxy, as far as there is room.
static void waiting_give(struct co_proxied_world *world)
{
    world->has_changed = false;
    for (struct co_proxied_link *link = world->waiting.after, *next; link != &world->waiting; link = next) {
        struct co_proxied_team *team = co_proxied_team_waiting(link);
        next = link->after;
        while (team->first != NULL && call_give(team->first) == 0) {
            (void)call_unqueue(team);
        }
    }
}

void co_proxied_calls_move(struct co_proxied_world *world)
{
    refused_collect(world);
    if (world->waiting.after == &world->waiting || co_load_relaxed(&world->is_broken)) { // relaxed: under the lock
        return;
    }
    calls_collect(world);
    waiting_give(world);
}

void co_proxied_calls_look(struct co_proxied_world *world)
{
    uint64_t news = co_segment_news(co_rank_client_segment(world->client)); // before what it tells of is looked at

    if (world->has_changed || news != world->news) {
        world->has_changed = false;
        world->news = news;
        co_proxied_calls_move(world);
    }
}

// Begun, behind those of its team that wait: 0, or another error than -EAGAIN.
int co_proxied_call_enter(struct co_proxied_call *call)
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

static void call_lose(struct co_proxied_call *call)
{
    if (!co_proxied_call_has_ended(call)) {
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
