// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts that members let go to native, each for the length that it was called with: where a program calls them
// with unequal lengths, others may wait for them here, and are told. By the thread of the communicator's calls.
#ifndef CASTOFF_ENGINE_COLLECTIVE_LET_GO_H
#define CASTOFF_ENGINE_COLLECTIVE_LET_GO_H

#include <stdint.h>

struct co_engine;
struct co_team;
struct co_team_seed;

// A communicator's blocking broadcasts of some bytes.
struct co_bcasts {
    uint64_t called;
    uint32_t skipped; // of those: no operation in memory has their numbers
    uint32_t passed;  // of those the node's memory knows; of who starts operations there
};

// Native is to carry one. `team`: of the communicator, NULL: none was opened yet.
void co_let_go_to_native(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root);
// It was refused here.
void co_let_go_take_back(struct co_team_seed *seed, struct co_engine *engine, struct co_team *team, int root);

#endif
