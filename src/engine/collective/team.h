// SPDX-License-Identifier: BSD-3-Clause
//
// A communicator whose collectives are taken: who sits where, what carries the bytes, and its operations. Private to
// src/engine.
#ifndef CASTOFF_ENGINE_COLLECTIVE_TEAM_H
#define CASTOFF_ENGINE_COLLECTIVE_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/collective/let_go.h"
#include "engine/collective/onesided_team.h"
#include "engine/decide/decide.h"
#include "engine/decide/trials.h"
#include "shm/shm.h"

struct co_engine;
struct co_mcast_group;
struct co_shm_team;
struct co_task;

struct co_team {
    struct co_engine *engine;
    struct co_team *next_active;
    uint64_t id;
    int size, rank;
    struct co_team_facts facts;
    int node, slot, node_size;    // ours
    int *rank_node, *rank_slot;   // node of the team, position on it
    int *node_units, *node_first; // [nodes]: ranks on it, position of its first rank in node order
    int *neighbours;              // [node_size]: members here, as ranks of the job's node
    bool is_node_ordered;         // blocks in node order stand in rank order
    bool is_flat;                 // one rank a node: operations may overlap
    bool runs_inline;             // one node, several ranks
    bool is_active;
    bool is_closing;              // freed when its last operation ends
    struct co_shm_team *shm;      // NULL: alone on the node
    struct co_mcast_group *group; // leaders of teams on several nodes
    struct co_task *oldest, **newest;
    _Atomic unsigned outstanding;
    _Atomic int broken;               // -errno of the first failure: later calls fail at once
    struct co_bcasts bcasts;          // of the thread that calls, but for what memory knows
    struct co_onesided_team onesided; // of the thread that calls
    struct co_team_trials trials;     // likewise
};

// What was skipped before the next operation in memory. By who owns that, as the calls were made.
static inline void co_team_skip_to(struct co_team *team, uint32_t skipped)
{
    if (__builtin_expect(skipped != team->bcasts.passed, 0)) {
        co_shm_team_skip(team->shm, skipped - team->bcasts.passed);
        team->bcasts.passed = skipped;
    }
}

// Frees a closing team without operations. Lock held.
void co_team_reap(struct co_team *team);

#endif
