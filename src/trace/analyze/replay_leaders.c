// SPDX-License-Identifier: BSD-3-Clause
//
// MPI_Intercomm_create where the trace has only the call: each group knows its own members, and its leader the other
// leader. The group that comes first waits for the other one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/analyze/replay_state.h"

enum { LOCAL_LEADER, PEER_COMM, REMOTE_LEADER, TAG, NUMBERS };

struct co_replay_half {
    struct co_replay_half *next;
    const struct co_replay_comm *comm, *peer; // the group, and where the leaders meet
    int32_t leader, other_leader, tag;
    uint32_t count;
    struct co_replay_child members[]; // without lists
};

static void attach_all(struct co_replay *replay, const struct co_replay_comm *parent, enum co_replay_why why)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        co_replay_attach_child(replay, &parent->children[i], NULL, why);
    }
}

static const struct co_replay_child *find_leader(const struct co_replay_comm *parent)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        const struct co_replay_child *child = &parent->children[i];
        if (child->rank_count == NUMBERS &&
            co_replay_world_rank(parent, child->ranks[LOCAL_LEADER]) == (int32_t)child->rank) {
            return child;
        }
    }
    return NULL;
}

// Until the other group comes.
static void wait_for_it(struct co_replay *replay, const struct co_replay_comm *parent,
                        const struct co_replay_half *known)
{
    struct co_replay_half *half = malloc(sizeof *half + parent->child_count * sizeof half->members[0]);
    if (half == NULL) {
        replay->error = -ENOMEM;
        return;
    }
    *half = *known;
    half->count = parent->child_count;
    memcpy(half->members, parent->children, half->count * sizeof half->members[0]);
    half->next = replay->halves;
    replay->halves = half;
    for (uint32_t i = 0; i < half->count; i++) {
        struct co_replay_rank *rank = &replay->ranks[half->members[i].rank];
        half->members[i].ranks = NULL;
        rank->wait = rank->wait == CO_WAIT_OVER ? CO_WAIT_OVER : CO_WAIT_HALF;
    }
}

static void join(struct co_replay *replay, const struct co_replay_comm *parent, const struct co_replay_half *half)
{
    struct co_replay_comm *here = co_replay_comm_new(replay, parent->count, parent->members);
    struct co_replay_comm *there = co_replay_comm_new(replay, half->comm->count, half->comm->members);
    if (here == NULL || there == NULL) {
        return;
    }
    here->other = there;
    there->other = here;
    for (uint32_t i = 0; i < parent->child_count; i++) {
        co_replay_attach_child(replay, &parent->children[i], here, CO_WHY_DIFFERS);
    }
    for (uint32_t i = 0; i < half->count; i++) {
        struct co_replay_rank *rank = &replay->ranks[half->members[i].rank];
        co_replay_attach_child(replay, &half->members[i], there, CO_WHY_DIFFERS);
        if (rank->wait == CO_WAIT_HALF) {
            rank->wait = CO_WAIT_NOT;
            co_replay_wake(replay, rank, replay->clock_ns);
        }
    }
}

void co_replay_meet(struct co_replay *replay, struct co_replay_comm *parent)
{
    const struct co_replay_child *leader = find_leader(parent);
    if (leader == NULL) {
        attach_all(replay, parent, CO_WHY_MISSING);
        return;
    }
    const struct co_replay_place *peer =
        co_replay_place_of(replay, &replay->ranks[leader->rank], (uint32_t)leader->ranks[PEER_COMM], leader->call);
    if (peer == NULL || peer->comm == NULL) {
        attach_all(replay, parent, CO_WHY_NOT_TOLD);
        return;
    }
    const struct co_replay_half own = {
        .comm = parent,
        .peer = peer->comm,
        .leader = (int32_t)leader->rank,
        .other_leader = co_replay_world_rank(peer->comm, leader->ranks[REMOTE_LEADER]),
        .tag = leader->ranks[TAG],
    };
    struct co_replay_half **place = &replay->halves;
    while (*place != NULL && !((*place)->leader == own.other_leader && (*place)->other_leader == own.leader &&
                               (*place)->tag == own.tag && (*place)->peer == own.peer)) {
        place = &(*place)->next;
    }
    if (*place == NULL) {
        wait_for_it(replay, parent, &own);
        return;
    }
    struct co_replay_half *half = *place;
    *place = half->next;
    join(replay, parent, half);
    free(half);
}

void co_replay_halves_close(struct co_replay *replay)
{
    while (replay->halves != NULL) {
        struct co_replay_half *next = replay->halves->next;
        free(replay->halves);
        replay->halves = next;
    }
}
