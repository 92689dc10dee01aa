// SPDX-License-Identifier: BSD-3-Clause
//
// Communicators that are made while a replay runs from what all members of the parent brought.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/replay/replay_state.h"

static struct co_replay_rank *rank_of(struct co_replay *replay, const struct co_replay_child *child)
{
    return &replay->ranks[child->rank];
}

void co_replay_attach_child(struct co_replay *replay, const struct co_replay_child *child, struct co_replay_comm *comm,
                            enum co_replay_why why)
{
    if (child->number < CO_COMM_FIRST) {
        return; // it is no member
    }
    if (comm == NULL) {
        co_replay_lose(replay, rank_of(replay, child), child->number, child->call, why);
    } else {
        (void)co_replay_attach(replay, rank_of(replay, child), child->number, comm);
    }
}

static void attach_all(struct co_replay *replay, struct co_replay_comm *parent, struct co_replay_comm *comm,
                       enum co_replay_why why)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        co_replay_attach_child(replay, &parent->children[i], comm, why);
    }
}

// By color, then key, then rank in the parent, which is their rank of the world's order or not: `place` tells.
struct split {
    const struct co_replay_child *child;
    uint32_t place;
};

static int compare_splits(const void *left, const void *right)
{
    const struct split *a = left, *b = right;
    if (a->child->color != b->child->color) {
        return a->child->color < b->child->color ? -1 : 1;
    }
    if (a->child->key != b->child->key) {
        return a->child->key < b->child->key ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

static void split(struct co_replay *replay, struct co_replay_comm *parent)
{
    uint32_t count = parent->child_count;
    struct split *splits = calloc((size_t)count + 1, sizeof *splits);
    uint32_t *members = calloc((size_t)count + 1, sizeof *members);
    if (splits == NULL || members == NULL) {
        replay->error = -ENOMEM;
        count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        splits[i] = (struct split){&parent->children[i], co_replay_place_number(parent, parent->children[i].rank)};
    }
    if (count > 0) {
        qsort(splits, count, sizeof *splits, compare_splits);
    }
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first; end < count && splits[end].child->color == splits[first].child->color; end++) {
            members[end - first] = splits[end].child->rank;
        }
        bool is_none = splits[first].child->number < CO_COMM_FIRST; // MPI_UNDEFINED was their color
        struct co_replay_comm *comm = is_none ? NULL : co_replay_comm_new(replay, end - first, members);
        for (uint32_t i = first; comm != NULL && i < end; i++) {
            (void)co_replay_attach(replay, rank_of(replay, splits[i].child), splits[i].child->number, comm);
        }
    }
    free(splits);
    free(members);
}

struct co_replay_comm *co_replay_subset(struct co_replay *replay, struct co_replay_comm *parent, const int32_t *ranks,
                                        uint32_t count)
{
    uint32_t *members = calloc((size_t)count + 1, sizeof *members);
    struct co_replay_comm *comm = NULL;
    uint32_t found = 0;
    while (members != NULL && found < count) {
        int32_t world_rank = co_replay_world_rank(parent, ranks == NULL ? (int32_t)found : ranks[found]);
        if (world_rank < 0) {
            break;
        }
        members[found++] = (uint32_t)world_rank;
    }
    if (members != NULL && found == count) {
        comm = co_replay_comm_new(replay, count, members);
    }
    free(members);
    return comm;
}

static bool are_same(const struct co_replay_child *a, const struct co_replay_child *b)
{
    return a->rank_count == b->rank_count && a->ranks != NULL && b->ranks != NULL &&
           memcmp(a->ranks, b->ranks, a->rank_count * sizeof *a->ranks) == 0;
}

// Those with the same list are in the same new one.
static void create(struct co_replay *replay, struct co_replay_comm *parent)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        const struct co_replay_child *first = &parent->children[i];
        bool is_new = first->number >= CO_COMM_FIRST;
        for (uint32_t j = 0; is_new && j < i; j++) {
            is_new = parent->children[j].number < CO_COMM_FIRST || !are_same(first, &parent->children[j]);
        }
        bool is_sound = is_new && first->ranks != NULL;
        struct co_replay_comm *comm =
            is_sound ? co_replay_subset(replay, parent, first->ranks, first->rank_count) : NULL;
        for (uint32_t j = i; is_new && j < parent->child_count; j++) {
            if (j == i || are_same(first, &parent->children[j])) {
                co_replay_attach_child(replay, &parent->children[j], comm, CO_WHY_DIFFERS);
            }
        }
    }
}

static void make_grid(struct co_replay *replay, struct co_replay_comm *parent)
{
    int32_t cells = parent->children[0].key;
    bool is_sound = cells >= 0 && (uint32_t)cells <= parent->count;
    for (uint32_t i = 1; i < parent->child_count; i++) {
        is_sound = is_sound && parent->children[i].key == cells;
    }
    struct co_replay_comm *comm = is_sound ? co_replay_subset(replay, parent, NULL, (uint32_t)cells) : NULL;
    if (comm != NULL) {
        comm->may_be_reordered = parent->children[0].color != 0;
        comm->call = parent->children[0].call;
    }
    attach_all(replay, parent, comm, CO_WHY_DIFFERS);
}

static void resolve(struct co_replay *replay, struct co_replay_comm *parent)
{
    unsigned way = parent->children[0].way;
    bool is_one_way = true;
    for (uint32_t i = 1; i < parent->child_count; i++) {
        is_one_way = is_one_way && parent->children[i].way == way;
    }
    if (is_one_way && parent->other != NULL) {
        co_replay_meet_again(replay, parent);
    } else if (is_one_way && way == CO_COMM_BY_DUP) {
        attach_all(replay, parent, co_replay_comm_new(replay, parent->count, parent->members), CO_WHY_DIFFERS);
    } else if (is_one_way && (way == CO_COMM_BY_GROUP || way == CO_COMM_BY_PART)) {
        create(replay, parent);
    } else if (is_one_way && way == CO_COMM_BY_LEADERS) {
        co_replay_meet(replay, parent);
    } else if (is_one_way && way == CO_COMM_BY_GRID) {
        make_grid(replay, parent);
    } else if (is_one_way && way == CO_COMM_BY_SPLIT && parent->child_count == parent->count) {
        split(replay, parent);
    } else {
        attach_all(replay, parent, NULL, is_one_way ? CO_WHY_MISSING : CO_WHY_DIFFERS);
    }
}

// What is made of one that MPI may have reordered has an order that is as certain.
void co_replay_children_resolve(struct co_replay *replay, struct co_replay_comm *parent)
{
    const struct co_replay_comm *before = replay->comms;
    uint16_t call = parent->children[0].call;
    resolve(replay, parent);
    for (struct co_replay_comm *comm = replay->comms; parent->may_be_reordered && comm != before; comm = comm->next) {
        comm->call = comm->may_be_reordered ? comm->call : call;
        comm->like = comm->may_be_reordered ? NULL : parent;
        comm->may_be_reordered = true;
    }
}
