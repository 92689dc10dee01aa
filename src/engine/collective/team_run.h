// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives of a team that are not one-sided: on the caller's stack, or as a task. Private to src/engine; by the
// thread of the call.
#ifndef CASTOFF_ENGINE_COLLECTIVE_TEAM_RUN_H
#define CASTOFF_ENGINE_COLLECTIVE_TEAM_RUN_H

#include <stddef.h>

#include "base/block.h"

struct co_shm_op;
struct co_team;
struct co_unequal_blocks_shape;

// As co_team_bcast, co_team_allgather and co_team_allgatherv of engine.h, on a team that is not broken.
int co_team_run_bcast(struct co_team *team, int root, void *buffer, size_t bytes, size_t *came);
int co_team_run_allgather(struct co_team *team, const void *mine, void *all, size_t bytes, const char *call);
int co_team_run_allgatherv(struct co_team *team, const struct co_block blocks[],
                           const struct co_unequal_blocks_shape *shape);
// A few bytes of each member to all, as a blocking collective of the team in the name of `call`.
int co_team_exchange(struct co_team *team, const void *mine, void *all, size_t bytes, const char *call);

// Moves to its end what is no operation of the team's rings (co_shm_agree_start). 0 or -errno.
int co_team_run_beside(struct co_team *team, struct co_shm_op *op, const char *call);

#endif
