// SPDX-License-Identifier: BSD-3-Clause
//
// Blocking collectives of a team, by the thread of the call: what is large enough for it goes one-sided
// (onesided_collective.c), all else, and what could not, goes the ordinary way (team_run.c). Hot: without one-sided
// collectives it costs two loads.
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "engine/collective/team_run.h"
#include "engine/collective/onesided_collective.h"
#include "engine/collective/team.h"
#include "engine/collective/unequal_blocks.h"
#include "engine/engine_state.h"

// Out of line: what is not one-sided must not pay for it.
static __attribute__((noinline)) int onesided_bcast(struct co_team *team, int root, void *buffer, size_t bytes,
                                                    size_t *came)
{
    int result = co_onesided_collective_bcast(team, root, buffer, bytes);
    if (result == CO_ONESIDED_NOT) {
        return co_team_run_bcast(team, root, buffer, bytes, came);
    }
    if (came != NULL) {
        *came = bytes;
    }
    return result == CO_ONESIDED_WHOLE ? 0 : result;
}

// Blocks that stand in no row here may stand in one on other members, which go one-sided.
static __attribute__((noinline)) int onesided_equal_blocks(struct co_team *team, const struct co_block blocks[],
                                                           size_t bytes)
{
    unsigned char *packed = malloc(bytes * (size_t)team->size);
    if (packed == NULL) {
        co_team_give_up(team, -ENOMEM);
        return -ENOMEM;
    }
    co_unequal_blocks_pack_own(packed, bytes, blocks, team->rank);
    int status = co_team_allgather(team, NULL, packed, bytes);
    if (status == 0) {
        co_unequal_blocks_unpack_others(packed, bytes, blocks, team->size, team->rank);
    }
    free(packed);
    return status;
}

static __attribute__((noinline)) int onesided_allgather(struct co_team *team, const void *mine, void *all, size_t bytes)
{
    int result = co_onesided_collective_allgather(team, mine, all, bytes);
    if (result == CO_ONESIDED_NOT) {
        return co_team_run_allgather(team, mine, all, bytes, "MPI_Allgather");
    }
    return result == CO_ONESIDED_WHOLE ? 0 : result;
}

int co_team_bcast(struct co_team *team, int root, void *buffer, size_t bytes, size_t *came)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    if (broken != 0) {
        return broken;
    }
    team->bcasts.called++;
    if (co_onesided_collective_is_for(team->engine->onesided, bytes)) {
        return onesided_bcast(team, root, buffer, bytes, came);
    }
    return co_team_run_bcast(team, root, buffer, bytes, came);
}

int co_team_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes)
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    if (broken != 0) {
        return broken;
    }
    if (co_onesided_collective_is_for(team->engine->onesided, block_bytes)) {
        return onesided_allgather(team, mine, all, block_bytes);
    }
    return co_team_run_allgather(team, mine, all, block_bytes, "MPI_Allgather");
}

int co_team_allgatherv(struct co_team *team, const struct co_block blocks[])
{
    int broken = co_load_relaxed(&team->broken); // relaxed: a hint, the task looks again
    if (broken != 0) {
        return broken;
    }
    struct co_unequal_blocks_shape shape = co_unequal_blocks_measure(blocks, team->size);
    if (co_unequal_blocks_are_equal(team->size, &shape) &&
        co_onesided_collective_is_for(team->engine->onesided, shape.largest)) {
        return onesided_equal_blocks(team, blocks, shape.largest);
    }
    return co_team_run_allgatherv(team, blocks, &shape);
}
