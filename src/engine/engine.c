// SPDX-License-Identifier: BSD-3-Clause
//
// The engine's life: opened once MPI runs, closed while it still does. Everything that must be equal on all ranks is
// agreed in here.
#include "engine/engine.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/decide/trials.h"
#include "engine/engine_state.h"
#include "engine/progress/workers_open.h"
#include "engine/start/descriptor_budget.h"
#include "engine/start/first_exchange.h"
#include "engine/start/job_key.h"
#include "engine/start/messages_channels.h"
#include "engine/start/liveness_proof.h"
#include "engine/start/transports.h"
#include "shm/shm.h"

#define DRAIN_NS (10 * CO_NS_PER_S)
#define WORKERS_ALONE "with this MPI worker threads alone move castoff, and "

static int load_decisions(struct co_engine *engine, char *why, size_t why_room)
{
    engine->policy[CO_CALL_BCAST] = (int)co_setting_number(CO_SET_BCAST);
    engine->policy[CO_CALL_IBCAST] = (int)co_setting_number(CO_SET_IBCAST);
    engine->policy[CO_CALL_ALLGATHER] = (int)co_setting_number(CO_SET_ALLGATHER);
    engine->policy[CO_CALL_IALLGATHER] = (int)co_setting_number(CO_SET_IALLGATHER);
    engine->policy[CO_CALL_ALLGATHERV] = (int)co_setting_number(CO_SET_ALLGATHERV);
    engine->policy[CO_CALL_IALLGATHERV] = (int)co_setting_number(CO_SET_IALLGATHERV);
    engine->policy[CO_CALL_BCAST_INIT] = (int)co_setting_number(CO_SET_BCAST_INIT);
    engine->policy[CO_CALL_ALLGATHER_INIT] = (int)co_setting_number(CO_SET_ALLGATHER_INIT);
    engine->policy[CO_CALL_ALLGATHERV_INIT] = (int)co_setting_number(CO_SET_ALLGATHERV_INIT);
    engine->policy[CO_CALL_IALLTOALL] = (int)co_setting_number(CO_SET_IALLTOALL);
    engine->policy[CO_CALL_IALLTOALLV] = (int)co_setting_number(CO_SET_IALLTOALLV);
    engine->policy[CO_CALL_ALLTOALL_INIT] = (int)co_setting_number(CO_SET_ALLTOALL_INIT);
    engine->policy[CO_CALL_ALLTOALLV_INIT] = (int)co_setting_number(CO_SET_ALLTOALLV_INIT);
    const char *path = co_setting_text(CO_SET_TUNE);
    if (path[0] == '\0') {
        co_tune_table_built_in(&engine->tune);
        return 0;
    }
    char reason[300] = "";
    int status = co_tune_table_load(&engine->tune, path, reason, sizeof(reason));
    if (status < 0) {
        snprintf(why, why_room, "CASTOFF_TUNE: %s", reason);
    }
    return status;
}

void co_engine_discard(struct co_engine *engine)
{
    if (engine != NULL) {
        co_job_key_forget(engine);
        free(engine->node_of_rank);
        free(engine->local_rank_of);
        free(engine->is_gone);
        free(engine->exchange);
        free(engine);
    }
}

struct co_engine *co_engine_make(int world_size)
{
    // Not by calloc: parts of it lie on cache lines of their own, which compilers rely on.
    struct co_engine *engine = aligned_alloc(alignof(struct co_engine), sizeof(*engine));
    size_t ranks = (size_t)world_size;
    if (engine == NULL) {
        return NULL;
    }
    memset(engine, 0, sizeof(*engine));
    engine->node_of_rank = calloc(ranks, sizeof(int));
    engine->local_rank_of = calloc(ranks, sizeof(int));
    engine->is_gone = calloc(ranks, sizeof(*engine->is_gone));
    engine->exchange = calloc(ranks, CO_EXCHANGE_BYTES);
    if (engine->node_of_rank == NULL || engine->local_rank_of == NULL || engine->is_gone == NULL ||
        engine->exchange == NULL) {
        co_engine_discard(engine);
        return NULL;
    }
    return engine;
}

static void adopt(struct co_engine *engine, const struct co_bootstrap *bootstrap)
{
    engine->bootstrap = *bootstrap;
    engine->stall_ns = (uint64_t)co_setting_number(CO_SET_STALL_S) * CO_NS_PER_S;
    co_mpsc_queue_open(&engine->submissions);
    co_descriptors_count(engine);
}

// By what is the same on all ranks.
static int require_threads(const struct co_engine *engine, char *why, size_t why_room)
{
    if (!engine->bootstrap.needs_workers || engine->uses_threads) {
        return 0;
    }
    snprintf(why, why_room, WORKERS_ALONE "CASTOFF_PROGRESS=caller wants none");
    return -EAGAIN;
}

int co_engine_open(struct co_engine *engine, const struct co_bootstrap *bootstrap, char *why, size_t why_room)
{
    adopt(engine, bootstrap);
    int status = load_decisions(engine, why, why_room);
    status = co_first_exchange(engine, status, why, why_room);
    status = status == 0 ? require_threads(engine, why, why_room) : status;
    if (status == 0) {
        status = co_transports_open(engine, why, why_room);
    }
    if (status < 0) {
        co_transports_close(engine);
        co_engine_discard(engine);
        return status;
    }
    free(engine->exchange);
    engine->exchange = NULL;
    engine->spin_turns = engine->is_oversubscribed ? 0 : (uint64_t)co_setting_number(CO_SET_SPIN);
    co_trials_open(engine);
    engine->workers_status = engine->uses_threads ? co_workers_open(engine) : 0;
    co_messages_share(engine);
    return 0;
}

void co_engine_lend_proxies(struct co_engine *engine, struct co_proxies *proxies)
{
    engine->proxies = proxies;
    proxies->is_crowded = &engine->has_more_to_move;
}

int co_engine_last_word(const struct co_engine *engine)
{
    return engine->workers_status;
}

int co_engine_settle(struct co_engine *engine, int least, char *why, size_t why_room)
{
    if (least < 0 && engine->bootstrap.needs_workers) {
        snprintf(why, why_room, WORKERS_ALONE "some rank can have none (%s)", strerror(-least));
        return least;
    }
    if (least < 0 && engine->bootstrap.world_rank == 0) {
        co_log(CO_LOG_WARN, CO_SUBSYS_ENGINE,
               "no worker thread: operations of some rank move inside MPI calls only (%s)", strerror(-least));
    }
    co_liveness_proof_agree(engine, engine->uses_threads && least == 0);
    return 0;
}

int co_engine_node_count(const struct co_engine *engine)
{
    return engine->bootstrap.node_count;
}

// Operations still under way, within bounds: a peer that is gone must not hold us. Messages are not waited for: who
// wants one has received it before it comes to the barrier, in which it still moves; as natively, the others are lost.
static void drain(struct co_engine *engine)
{
    struct co_wait wait = {.call = "MPI_Finalize"};
    uint64_t end = co_clock_now_ns() + DRAIN_NS;
    while (co_load_relaxed(&engine->outstanding) > 0 && co_clock_now_ns() < end) {
        co_engine_wait_turn(engine, &wait);
    }
}

void co_engine_close(struct co_engine *engine)
{
    drain(engine);
    // Moves us meanwhile: a neighbour may need our answers. Who is beyond it needs none, for nobody comes here with an
    // operation under way; so copies are not kept any longer, and no report is waited for, which may have been lost.
    engine->bootstrap.barrier(engine->bootstrap.arg);
    co_workers_close(engine);
    co_transports_close(engine);
    co_engine_discard(engine);
}

static void describe_shm(const struct co_engine *engine, char *text, size_t room)
{
    if (!engine->has_shm) {
        snprintf(text, room, "not used, ranks of a node cannot share memory by /dev/shm: %s",
                 strerror(-engine->shm_error));
    } else if (engine->shm != NULL) {
        snprintf(text, room, "%d ranks here, single copy %s", engine->bootstrap.node_size,
                 co_shm_node_single_copy_reason(engine->shm));
    } else {
        snprintf(text, room, "%s",
                 engine->bootstrap.node_count == engine->bootstrap.world_size ? "no node has several ranks"
                                                                              : "one rank here");
    }
}

void co_engine_describe(const struct co_engine *engine, char *text, size_t room)
{
    char shm[224], progress[96];
    describe_shm(engine, shm, sizeof(shm));
    co_workers_describe(engine, progress, sizeof(progress));
    snprintf(text, room, "shm: %s\n%s: %s%s\nprogress: %s, %d core%s for %d rank%s of this node\n", shm,
             engine->transport_kind == CO_TRANSPORT_VERBS ? "verbs" : "udp", engine->has_multicast ? "" : "not used, ",
             engine->bootstrap.node_count == 1 ? "one node only" : engine->network, progress, engine->cores,
             engine->cores == 1 ? "" : "s", engine->bootstrap.node_size, engine->bootstrap.node_size == 1 ? "" : "s");
    size_t used = strlen(text);
    if (engine->onesided_text[0] != '\0' && used < room) {
        used += (size_t)snprintf(text + used, room - used, "placed: %s\n", engine->onesided_text);
    }
    if (engine->has_nearer_native && used < room) {
        snprintf(
            text + used, room - used,
            "native: much nearer to other nodes, so their collectives are left to it (CASTOFF_BCAST=yes and others "
            "take them)\n");
    }
}
