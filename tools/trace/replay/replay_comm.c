// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators of a replay, and who waits for whom in collective calls. Members without a trace are waited for by
// nobody.
#include <errno.h>
#include <stdlib.h>

#include "tools/trace/replay/replay_state.h"

static bool is_waited_for(const struct co_replay *replay, uint32_t world_rank)
{
    return world_rank < replay->size && replay->ranks[world_rank].is_traced &&
           replay->ranks[world_rank].wait != CO_WAIT_OVER;
}

static uint32_t member(const struct co_replay_comm *comm, uint32_t place)
{
    return comm->members == NULL ? place : comm->members[place];
}

struct co_replay_comm *co_replay_comm_new(struct co_replay *replay, uint32_t count, const uint32_t *members)
{
    struct co_replay_comm *comm = calloc(1, sizeof *comm);
    if (comm == NULL || (comm->entered = calloc((size_t)count + 1, sizeof *comm->entered)) == NULL ||
        (members != NULL && (comm->members = malloc(((size_t)count + 1) * sizeof *members)) == NULL)) {
        replay->error = -ENOMEM;
        free(comm == NULL ? NULL : comm->entered);
        free(comm);
        return NULL;
    }
    comm->id = replay->comm_count++;
    comm->count = count;
    for (uint32_t i = 0; i < count; i++) {
        if (members != NULL) {
            comm->members[i] = members[i];
            (void)co_hash_map_put(&comm->places, (uint64_t)members[i] + 1, (void *)(uintptr_t)(i + 1));
        }
        bool waits = is_waited_for(replay, member(comm, i));
        comm->entered[i] = waits ? 0 : UINT64_MAX;
        comm->at_least += waits;
    }
    comm->next = replay->comms;
    replay->comms = comm;
    return comm;
}

int co_replay_comms_open(struct co_replay *replay)
{
    replay->world = co_replay_comm_new(replay, replay->size, NULL);
    return replay->world == NULL ? -ENOMEM : 0;
}

static void free_children(struct co_replay_comm *comm)
{
    for (uint32_t i = 0; i < comm->child_count; i++) {
        free(comm->children[i].ranks);
    }
    free(comm->children);
    comm->children = NULL;
    comm->child_count = 0;
}

void co_replay_comms_close(struct co_replay *replay)
{
    co_replay_halves_close(replay);
    while (replay->comms != NULL) {
        struct co_replay_comm *next = replay->comms->next;
        free_children(replay->comms);
        co_hash_map_close(&replay->comms->places);
        free(replay->comms->members);
        free(replay->comms->entered);
        free(replay->comms);
        replay->comms = next;
    }
    for (uint32_t i = 0; i < replay->place_count; i++) {
        co_queue_close(&replay->all[i]->queue);
        free(replay->all[i]);
    }
    free(replay->all);
}

uint32_t co_replay_place_number(const struct co_replay_comm *comm, uint32_t world_rank)
{
    if (comm->members == NULL) {
        return world_rank < comm->count ? world_rank : UINT32_MAX;
    }
    return (uint32_t)(uintptr_t)co_hash_map_get(&comm->places, (uint64_t)world_rank + 1) - 1;
}

int32_t co_replay_world_rank(const struct co_replay_comm *comm, int32_t rank)
{
    return rank < 0 || (uint32_t)rank >= comm->count ? -1 : (int32_t)member(comm, (uint32_t)rank);
}

static struct co_replay_place *new_place(struct co_replay *replay, struct co_replay_rank *rank,
                                         struct co_replay_comm *comm)
{
    if (replay->place_count == replay->all_room) {
        uint32_t room = replay->all_room == 0 ? 64 : 2 * replay->all_room;
        struct co_replay_place **larger = realloc(replay->all, room * sizeof(struct co_replay_place *));
        if (larger == NULL) {
            replay->error = -ENOMEM;
            return NULL;
        }
        replay->all = larger;
        replay->all_room = room;
    }
    struct co_replay_place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        replay->error = -ENOMEM;
        return NULL;
    }
    place->queue.index = replay->place_count;
    place->queue.step = co_replay_step;
    place->queue.arg = replay;
    place->comm = comm;
    place->rank = (uint32_t)rank->rank;
    place->own = comm == NULL ? UINT32_MAX : co_replay_place_number(comm, (uint32_t)rank->rank);
    replay->all[replay->place_count++] = place;
    return place;
}

struct co_replay_place *co_replay_place_in(struct co_replay *replay, struct co_replay_rank *rank,
                                           struct co_replay_comm *comm)
{
    struct co_replay_place *place = co_hash_map_get(&rank->by_comm, (uint64_t)comm->id + 1);
    if (place == NULL && (place = new_place(replay, rank, comm)) != NULL &&
        co_hash_map_put(&rank->by_comm, (uint64_t)comm->id + 1, place) != 0) {
        replay->error = -ENOMEM;
    }
    return place;
}

int co_replay_attach(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number,
                     struct co_replay_comm *comm)
{
    struct co_replay_place *place =
        comm == NULL ? new_place(replay, rank, NULL) : co_replay_place_in(replay, rank, comm);
    co_hash_map_remove(&rank->places, number); // numbers are used again
    if (place == NULL || co_hash_map_put(&rank->places, number, place) != 0) {
        replay->error = -ENOMEM;
        return -ENOMEM;
    }
    return 0;
}

struct co_replay_place *co_replay_place_of(struct co_replay *replay, struct co_replay_rank *rank, uint32_t number,
                                           unsigned call)
{
    struct co_replay_place *place = co_hash_map_get(&rank->places, number);
    if (place != NULL) {
        return place;
    }
    if (number == CO_COMM_SELF) {
        uint32_t own = (uint32_t)rank->rank;
        (void)co_replay_attach(replay, rank, number, co_replay_comm_new(replay, 1, &own));
    } else if (number < CO_COMM_FIRST) {
        (void)co_replay_attach(replay, rank, number, number == CO_COMM_WORLD ? replay->world : NULL);
    } else {
        co_replay_lose(replay, rank, number, call, CO_WHY_NOT_MADE);
    }
    return co_hash_map_get(&rank->places, number);
}

static bool may_go_on(const struct co_replay_rank *rank)
{
    const struct co_replay_comm *comm = rank->wait_comm;
    uint64_t entered = rank->wait == CO_WAIT_ROOT ? comm->entered[rank->wait_root] : comm->least;
    return entered >= rank->wait_count;
}

static void wake_waiting(struct co_replay *replay, struct co_replay_comm *comm, uint64_t now_ns)
{
    if (comm->child_count > 0 && comm->least >= comm->children_at) {
        co_replay_children_resolve(replay, comm);
        free_children(comm);
    }
    for (uint32_t i = 0; i < comm->count; i++) {
        uint32_t world_rank = member(comm, i);
        struct co_replay_rank *rank = world_rank < replay->size ? &replay->ranks[world_rank] : NULL;
        if (rank != NULL && rank->is_traced && (rank->wait == CO_WAIT_TOGETHER || rank->wait == CO_WAIT_ROOT) &&
            rank->wait_comm == comm && may_go_on(rank)) {
            rank->wait = CO_WAIT_NOT;
            co_replay_wake(replay, rank, now_ns);
        }
    }
}

// The member has entered so many calls: the least of all moves when it was the last.
static bool set_entered(struct co_replay_comm *comm, uint32_t place, uint64_t entered)
{
    bool was_last = comm->entered[place] == comm->least;
    comm->entered[place] = entered;
    comm->at_least -= was_last && entered > comm->least;
    if (comm->at_least > 0) {
        return false;
    }
    comm->least = UINT64_MAX;
    for (uint32_t i = 0; i < comm->count; i++) {
        if (comm->entered[i] < comm->least) {
            comm->least = comm->entered[i];
            comm->at_least = 0;
        }
        comm->at_least += comm->entered[i] == comm->least;
    }
    return true;
}

static bool waits_for_all(const struct co_event *event, uint32_t own)
{
    return event->op == CO_EVENT_TOGETHER || event->op == CO_EVENT_COMM ||
           (event->op == CO_EVENT_TO_ROOT && event->number == own);
}

void co_replay_enter(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event)
{
    struct co_replay_place *place = co_replay_place_of(replay, rank, event->comm, event->call);
    bool makes = event->op == CO_EVENT_COMM;
    if (place == NULL || place->comm == NULL || place->own == UINT32_MAX || (place->comm->other != NULL && !makes)) {
        return; // between groups nobody is waited for, but to make another one
    }
    struct co_replay_comm *comm = place->comm;
    uint64_t count = comm->entered[place->own] == UINT64_MAX ? 0 : comm->entered[place->own] + 1;
    if (count == 0) {
        return;
    }
    bool has_moved = set_entered(comm, place->own, count);
    rank->wait_comm = comm;
    rank->wait_count = count;
    rank->wait_root = event->number;
    rank->wait = waits_for_all(event, place->own)                                 ? CO_WAIT_TOGETHER
                 : event->op == CO_EVENT_FROM_ROOT && event->number < comm->count ? CO_WAIT_ROOT
                                                                                  : CO_WAIT_NOT;
    if (rank->wait != CO_WAIT_NOT && may_go_on(rank)) {
        rank->wait = CO_WAIT_NOT;
    }
    if (has_moved || event->number == place->own) {
        wake_waiting(replay, comm, rank->now_ns);
    }
}

void co_replay_leave(struct co_replay *replay, struct co_replay_rank *rank)
{
    size_t position = 0;
    struct co_replay_place *place = co_replay_place_in(replay, rank, replay->world);
    while (place != NULL && (place = co_hash_map_next(&rank->by_comm, &position, NULL)) != NULL) {
        if (place->own != UINT32_MAX && set_entered(place->comm, place->own, UINT64_MAX)) {
            wake_waiting(replay, place->comm, rank->now_ns);
        }
    }
}

static bool add_child(struct co_replay_comm *comm, const struct co_replay_rank *rank, const struct co_event *event,
                      const int32_t *ranks, uint32_t rank_count)
{
    struct co_replay_child *larger = realloc(comm->children, (comm->child_count + 1) * sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    comm->children = larger;
    struct co_replay_child *child = &larger[comm->child_count];
    *child = (struct co_replay_child){.rank = (uint32_t)rank->rank,
                                      .number = event->number,
                                      .way = event->flags,
                                      .call = event->call,
                                      .color = event->peer,
                                      .key = event->tag,
                                      .rank_count = rank_count};
    child->ranks = rank_count == UINT32_MAX ? NULL : malloc(((size_t)rank_count + 1) * sizeof *child->ranks);
    if (child->ranks == NULL && rank_count != UINT32_MAX) {
        return false;
    }
    for (uint32_t i = 0; child->ranks != NULL && i < rank_count; i++) {
        child->ranks[i] = ranks[i];
    }
    comm->child_count++;
    return true;
}

// Whether its members are known, and such a one can be made of it.
static bool can_make(const struct co_replay_place *place, const struct co_event *event)
{
    bool is_of_two = event->flags == CO_COMM_BY_DUP || event->flags == CO_COMM_BY_MERGE;
    return event->flags < CO_COMM_BY_UNKNOWN && place->comm != NULL && place->own != UINT32_MAX &&
           place->comm->entered[place->own] != UINT64_MAX && (place->comm->other == NULL || is_of_two) &&
           (place->comm->other != NULL || event->flags != CO_COMM_BY_MERGE);
}

void co_replay_make(struct co_replay *replay, struct co_replay_rank *rank, const struct co_event *event,
                    const int32_t *ranks, uint32_t rank_count)
{
    struct co_replay_place *place = co_replay_place_of(replay, rank, event->comm, event->call);
    bool has_set = event->flags == CO_COMM_BY_GROUP || event->flags == CO_COMM_BY_PART, is_not_told = false;
    int32_t *expanded = NULL;
    if (place == NULL) {
        return;
    }
    if (event->flags == CO_COMM_BY_MEMBERS || event->flags == CO_COMM_BETWEEN) {
        co_replay_attach_members(replay, rank, event, ranks, rank_count);
        return;
    }
    if (!can_make(place, event)) {
        co_replay_lose(replay, rank, event->number, event->call, CO_WHY_NOT_TOLD);
        return;
    }
    if (event->flags == CO_COMM_BY_GROUP) {
        expanded = co_replay_expand_group(replay, place, ranks, rank_count, &rank_count, &is_not_told);
    } else if (has_set) {
        expanded = co_replay_expand_part(replay, place, ranks, rank_count, &rank_count);
    }
    if (is_not_told) {
        co_replay_lose(replay, rank, event->number, event->call, CO_WHY_NOT_TOLD);
        return;
    }
    ranks = has_set ? expanded : ranks;
    if (add_child(place->comm, rank, event, ranks, has_set && expanded == NULL ? UINT32_MAX : rank_count)) {
        place->comm->children_at = place->comm->entered[place->own] + 1;
        co_replay_enter(replay, rank, event);
    } else {
        replay->error = -ENOMEM;
    }
    free(expanded);
}
