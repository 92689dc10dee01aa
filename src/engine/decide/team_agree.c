// SPDX-License-Identifier: BSD-3-Clause
//
// Members on one node tell each other their words, and follow one of them, by lines in shared memory that are no part
// of the team's operations (shm/shm_agree.c). One member rules alone, and no other clock or length has a say: so all
// do the same even where the program has called them with different lengths. In a broadcast that is its root, which may
// go on before others have called: it waits for them only so long. By the thread of the call; warm, but for the ways of
// communicators that have verdicts against the prior.
#include "engine/decide/team_agree.h"

#include <string.h>

#include "base/atomics.h"
#include "engine/collective/team_run.h"
#include "engine/collective/team.h"
#include "engine/decide/adapt.h"
#include "engine/engine_state.h"
#include "shm/shm.h"

_Static_assert(sizeof(struct co_adapt_word) == sizeof(uint64_t[CO_SHM_AGREE_WORDS]), "a word of trials fits a ballot");

static void merge(uint64_t *all, const uint64_t *its)
{
    struct co_adapt_word words[2], merged;
    memcpy(&words[0], all, sizeof words[0]);
    memcpy(&words[1], its, sizeof words[1]);
    co_adapt_combine(&merged, words, 2);
    memcpy(all, &merged, sizeof merged);
}

int co_team_agree(struct co_team *team, const struct co_agree_call *call, const struct co_adapt_word *mine,
                  struct co_adapt_word *all, uint64_t until_ns)
{
    struct co_engine *engine = team->engine;
    struct co_shm_op op;
    uint64_t words[CO_SHM_AGREE_WORDS];
    struct co_shm_agree agreement = {
        .number = call->number, .until_ns = until_ns, .leader = call->leader, .words = words, .merge = merge};
    memcpy(words, mine, sizeof words);
    co_trylock_wait(&engine->lock); // operations of the team may be under way
    co_shm_agree_start(&op, team->shm, &agreement);
    co_trylock_drop(&engine->lock);
    int error = co_team_run_beside(team, &op, call->name);
    if (error != 0) {
        return error;
    }
    memcpy(all, words, sizeof *all);
    return op.is_held ? CO_TEAM_AGREED : CO_TEAM_NOT_AGREED;
}

int co_team_follow(struct co_team *team, const struct co_agree_call *call, bool takes)
{
    struct co_shm_op op;
    co_shm_follow_start(&op, team->shm, call->leader, takes);
    int error = co_team_run_beside(team, &op, call->name);
    return error != 0 ? error : op.takes;
}
