// SPDX-License-Identifier: BSD-3-Clause
#include "engine_messages.h"

struct co_p2p_context *engine_messages_open(struct job_rank *rank)
{
    struct co_team_seed seed;
    job_require(rank->open_status == 0, rank->why);
    job_require(co_team_seed_open(&seed, rank->engine, 7, (const int[]){0, 1}, 2, rank->rank) == 0, "seed");
    struct co_p2p_context *context = co_messages_open_context(rank->engine, &seed, (const int[]){0, 1});
    job_require(context != NULL, "context");
    return context;
}
