// SPDX-License-Identifier: BSD-3-Clause
//
// All that a rank knows before it opens anything goes in one exchange: on a busy machine each of them waits for a turn
// of the processor on every rank. Start-up only.
#include "engine/start/first_exchange.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/engine_state.h"
#include "engine/start/cores.h"
#include "engine/start/job_facts.h"
#include "engine/start/job_key.h"
#include "engine/start/network.h"
#include "engine/start/shared_network.h"

static void make_offer(const struct co_engine *engine, struct co_job_offer *offer)
{
    uint8_t random[CO_AUTH_KEY_BYTES];
    if (engine->bootstrap.world_rank == 0) {
        offer->status = co_auth_random_key(random);
        memcpy(&offer->tag, random, sizeof(offer->tag));
        co_shared_network_offer(offer);
    }
}

static void tell(struct co_engine *engine, int tune_status, struct co_first_words *mine)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    *mine = (struct co_first_words){.tune_hash = tune_status < 0 ? 0 : co_tune_table_hash(&engine->tune),
                                    .status = bootstrap->status,
                                    .native_status = bootstrap->native_status,
                                    .node_first = bootstrap->node_first,
                                    .node_size = bootstrap->node_size};
    co_cores_tell(mine);
    make_offer(engine, &mine->offer);
    if (co_network_is_wanted(engine)) {
        co_job_key_begin(engine, mine->public_key);
    }
}

// Turns the first rank of each rank's node into the number of its node. -EPROTO: what ranks say of their nodes does not
// fit together.
static int number_nodes(struct co_engine *engine, struct co_first_words *words)
{
    struct co_bootstrap *bootstrap = &engine->bootstrap;
    bootstrap->node_count = 0;
    for (int rank = 0; rank < bootstrap->world_size; rank++) {
        // The first rank of a node comes before the others, so it has its number when they ask for it.
        int first = words[rank].node_first;
        if (first < 0 || first > rank || words[first].node_first != first ||
            words[first].node_size != words[rank].node_size) {
            return -EPROTO;
        }
        engine->node_of_rank[rank] = first == rank ? bootstrap->node_count++ : engine->node_of_rank[first];
        engine->local_rank_of[rank] = words[first].node_met++;
    }
    for (int rank = 0; rank < bootstrap->world_size; rank++) {
        if (words[rank].node_first == rank && words[rank].node_met != words[rank].node_size) {
            return -EPROTO;
        }
    }
    bootstrap->node_index = engine->node_of_rank[bootstrap->world_rank];
    return 0;
}

static int find_nodes(struct co_engine *engine, struct co_first_words *words, char *why, size_t why_room)
{
    int status = 0;
    for (int rank = 0; status == 0 && rank < engine->bootstrap.world_size; rank++) {
        status = words[rank].status;
    }
    status = status == 0 ? number_nodes(engine, words) : status;
    if (status < 0) {
        snprintf(why, why_room, "native MPI could not tell which ranks share a node (%s)", strerror(-status));
    }
    return status;
}

// A table that only some ranks could read, or that differs, would split the job.
static int compare_tables(const struct co_engine *engine, const struct co_first_words *words, int status, char *why,
                          size_t why_room)
{
    int own = engine->bootstrap.world_rank, verdict = 0;
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        if (words[rank].tune_hash != words[own].tune_hash || words[own].tune_hash == 0) {
            if (status == 0) {
                snprintf(why, why_room, "rank %d has another tune table than rank %d (CASTOFF_TUNE)", rank, own);
            }
            verdict = -EINVAL;
        }
    }
    return verdict;
}

static void settle_native(struct co_engine *engine, const struct co_first_words *words)
{
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        if (words[rank].native_status < 0) {
            engine->bootstrap.native = NULL;
        }
    }
}

int co_first_exchange(struct co_engine *engine, int status, char *why, size_t why_room)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    struct co_first_words mine, *words = engine->exchange;
    _Static_assert(sizeof(mine) <= CO_EXCHANGE_BYTES, "the words fit the exchange");
    tell(engine, status, &mine);
    int error = bootstrap->allgather(bootstrap->arg, &mine, words, sizeof(mine));
    if (error < 0) {
        snprintf(why, why_room, "the ranks could not exchange what they are (%s)", strerror(-error));
        return error;
    }
    error = find_nodes(engine, words, why, why_room);
    error = error < 0 ? error : compare_tables(engine, words, status, why, why_room);
    if (error == 0 && (error = words[0].offer.status) < 0) {
        snprintf(why, why_room, "no random numbers for the job (%s)", strerror(-error));
    }
    if (error == 0) {
        settle_native(engine, words);
        co_cores_conclude(engine, words);
    }
    return error;
}
