// SPDX-License-Identifier: BSD-3-Clause
//
// The worker threads of an engine (S1, section 4: send path and receive path are separate workers, receive workers
// share nothing): how many, their birth and end. One alone does everything for nonblocking operations; several also
// take long blocking ones, whose callers sleep. While nothing is outstanding all of them sleep, a second at a time.
// Start and end of the job.
#include "engine/progress/workers_open.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/progress/wake_fds.h"
#include "engine/progress/worker_roles.h"
#include "engine/progress/wake_sleepers.h"
#include "engine/start/descriptor_budget.h"
#include "mcast/mcast.h"

// As many as the setting says, or one that sends and as many that receive as the free cores allow each rank, at least
// one: even where they are fewer than the threads, a caller that sleeps is better than one that takes turns with them.
static int64_t count_wanted(const struct co_engine *engine)
{
    int64_t wanted = co_setting_number(CO_SET_WORKERS), ranks = engine->bootstrap.node_size;
    if (wanted > 0) {
        return wanted;
    }
    return engine->cores > 3 * ranks ? (engine->cores - ranks) / ranks : 2;
}

// Threads of a split engine: no more than there are subgroups and descriptors for, one for each to sleep on and one for
// callers.
static int64_t count_split(const struct co_engine *engine)
{
    int64_t wanted = count_wanted(engine), subgroups = co_setting_number(CO_SET_UDP_SUBGROUPS);
    int64_t most = engine->descriptors - 1;
    wanted = wanted < subgroups + 1 ? wanted : subgroups + 1;
    if (wanted > most) {
        co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "%d worker threads of %d: ulimit -n leaves no descriptors for more",
               (int)(most < 2 ? 1 : most), (int)wanted);
        wanted = most;
    }
    return wanted;
}

static int add(struct co_worker *worker, struct co_engine *engine, co_worker_turn_fn turn, unsigned subgroup)
{
    int status = co_worker_open(worker, engine, turn, subgroup);
    return status < 0 ? status : co_worker_start(worker);
}

// Lock held. The threads run from now on: an operation that is left to them must not find that one cannot be had.
// Without all of them the first worker does everything: what is open already does no harm.
static int split(struct co_engine *engine, struct co_workers *workers, unsigned lanes)
{
    int status = co_wake_fds_open(&workers->wake_fds, engine->descriptors - (int)lanes);
    status = status < 0 ? status : co_worker_start(&workers->first);
    for (unsigned i = 0; status == 0 && i < lanes; i++) {
        status = co_mcast_lane_open(engine->mcast, i);
        if (status == 0 && i > 0) {
            status = add(&workers->receivers[i], engine, co_worker_receiver_progress, i);
        }
    }
    if (status == 0) {
        status = add(&workers->sender, engine, co_worker_sender_progress, 0);
    }
    if (status == 0) {
        status = co_mcast_sender_open(engine->mcast);
    }
    workers->lanes = lanes;
    workers->are_judged = co_setting_number(CO_SET_WORKERS) == 0;
    co_store_release(&workers->is_split, status == 0); // release H1
    return status;
}

int co_workers_open(struct co_engine *engine)
{
    int64_t threads = engine->mcast == NULL ? 1 : count_split(engine);
    if (!co_descriptors_take(engine, 1)) {
        return -EMFILE;
    }
    struct co_workers *workers = calloc(1, sizeof(*workers));
    if (workers == NULL) {
        return -ENOMEM;
    }
    int status = co_worker_open(&workers->first, engine, co_worker_first_progress, 0);
    if (status < 0) {
        free(workers);
        return status;
    }
    engine->workers = workers;
    if (threads >= 2) {
        co_trylock_wait(&engine->lock); // the threads are there at once, and look
        status = split(engine, workers, (unsigned)threads - 1);
        workers->has_wake_fds = true;
        co_trylock_drop(&engine->lock);
        if (status < 0) {
            co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "one worker thread for everything (error %d)", -status);
        }
    }
    // Neighbours count on its answers; or nobody but it moves us while the program is in native calls.
    bool must_run = engine->mcast != NULL || engine->bootstrap.needs_workers;
    return must_run ? co_worker_start(&workers->first) : 0;
}

void co_workers_close(struct co_engine *engine)
{
    struct co_workers *workers = engine->workers;
    if (workers == NULL) {
        return;
    }
    // Those that still run call the others, where something is outstanding to the end: nobody is closed before all
    // rest.
    co_worker_stop(&workers->first);
    co_worker_stop(&workers->sender);
    for (unsigned i = 0; i < CO_MCAST_LANES_MAX; i++) {
        co_worker_stop(&workers->receivers[i]);
    }
    co_worker_close(&workers->first);
    co_worker_close(&workers->sender);
    for (unsigned i = 0; i < CO_MCAST_LANES_MAX; i++) {
        co_worker_close(&workers->receivers[i]);
    }
    engine->workers = NULL;
    if (workers->has_wake_fds) {
        co_wake_fds_close(&workers->wake_fds);
    }
    free(workers);
}

void co_workers_describe(const struct co_engine *engine, char *text, size_t room)
{
    const struct co_workers *workers = engine->workers;
    if (workers == NULL || co_worker_is_refused(&workers->first)) {
        snprintf(text, room, "callers");
    } else if (!co_workers_are_split(engine)) {
        snprintf(text, room, "worker thread and callers");
    } else {
        snprintf(text, room, "%u receiving and 1 sending worker thread and callers", workers->lanes);
    }
}
