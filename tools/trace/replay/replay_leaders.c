// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators between groups where the trace has only the call. MPI_Intercomm_create: each group knows its own
// members, and its leader the other leader. MPI_Comm_dup and MPI_Intercomm_merge of such a one: the other group is
// known. The group that comes first waits for the other one.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/replay/replay_state.h"

enum { LOCAL_LEADER, PEER_COMM, REMOTE_LEADER, TAG, NUMBERS };

struct co_replay_half {
    struct co_replay_half *next;
    const struct co_replay_comm *comm, *peer; // the group, and where the leaders meet, or the other group
    int32_t leader, other_leader, tag;        // of MPI_Intercomm_create; else leaders are -1 and the tag is the way
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

// Both groups get what they made: the one that has come now, and the one that waited. NULL: that is none.
static void attach_both(struct co_replay *replay, const struct co_replay_comm *parent,
                        const struct co_replay_half *half, struct co_replay_comm *here, struct co_replay_comm *there)
{
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

static void join(struct co_replay *replay, const struct co_replay_comm *parent, const struct co_replay_half *half)
{
    struct co_replay_comm *here = co_replay_comm_new(replay, parent->count, parent->members);
    struct co_replay_comm *there = co_replay_comm_new(replay, half->comm->count, half->comm->members);
    if (here != NULL && there != NULL) {
        here->other = there;
        there->other = here;
        attach_both(replay, parent, half, here, there);
    }
}

// Whether all of a group said the same: 0 or 1; otherwise -1.
static int said_high(const struct co_replay_child *members, uint32_t count)
{
    int high = count > 0 ? members[0].color != 0 : -1;
    for (uint32_t i = 1; i < count; i++) {
        high = high == (members[i].color != 0) ? high : -1;
    }
    return high;
}

// Who said that he comes first does; if both or nobody did, MPI decides: mostly by the first member.
static void merge(struct co_replay *replay, const struct co_replay_comm *parent, const struct co_replay_half *half)
{
    int high = said_high(parent->children, parent->child_count), other_high = said_high(half->members, half->count);
    uint32_t count = parent->count + half->comm->count;
    int32_t here = co_replay_world_rank(parent, 0), there = co_replay_world_rank(half->comm, 0);
    bool is_first = high != other_high ? high == 0 : here < there;
    const struct co_replay_comm *first = is_first ? parent : half->comm, *last = is_first ? half->comm : parent;
    uint32_t *members = malloc(((size_t)count + 1) * sizeof *members);
    struct co_replay_comm *comm = NULL;
    if (members == NULL) {
        replay->error = -ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct co_replay_comm *from = i < first->count ? first : last;
        members[i] = (uint32_t)co_replay_world_rank(from, (int32_t)(i < first->count ? i : i - first->count));
    }
    if (high >= 0 && other_high >= 0) {
        comm = co_replay_comm_new(replay, count, members);
    }
    if (comm != NULL) {
        comm->may_be_reordered = high == other_high;
        // Around a ring, messages would fit the other order of two equal halves as well.
        comm->is_misfit = parent->count == half->comm->count;
        comm->call = parent->children[0].call;
    }
    attach_both(replay, parent, half, comm, comm);
    free(members);
}

// The half that waits for this one leaves the list; NULL: there is none.
static struct co_replay_half *take_half(struct co_replay *replay, const struct co_replay_half *own)
{
    struct co_replay_half **place = &replay->halves;
    while (*place != NULL && !((*place)->leader == own->other_leader && (*place)->other_leader == own->leader &&
                               (*place)->tag == own->tag && (*place)->peer == own->peer)) {
        place = &(*place)->next;
    }
    struct co_replay_half *half = *place;
    if (half != NULL) {
        *place = half->next;
    }
    return half;
}

void co_replay_meet_again(struct co_replay *replay, struct co_replay_comm *parent)
{
    unsigned way = parent->children[0].way;
    struct co_replay_half own = {.comm = parent, .peer = parent, .leader = -1, .other_leader = -1, .tag = (int32_t)way};
    struct co_replay_half *half = take_half(replay, &own);
    own.peer = parent->other; // is looked for by
    if (half == NULL) {
        wait_for_it(replay, parent, &own);
    } else if (way == CO_COMM_BY_MERGE) {
        merge(replay, parent, half);
    } else {
        join(replay, parent, half);
    }
    free(half);
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
    struct co_replay_half *half = take_half(replay, &own);
    if (half == NULL) {
        wait_for_it(replay, parent, &own);
    } else {
        join(replay, parent, half);
    }
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
