// SPDX-License-Identifier: BSD-3-Clause
#include "engine_inside.h"

#include "base/atomics.h"
#include "base/auth/auth.h"
#include "engine/collective/team.h"
#include "engine/engine_state.h"
#include "engine/progress/team_failure.h"
#include "engine/progress/wake_sleepers.h"
#include "shm/shm.h"
#include "shm/shm_node.h"

struct co_mcast *inside_mcast(const struct co_engine *engine)
{
    return engine->mcast;
}

struct co_onesided_collective *inside_onesided(const struct co_engine *engine)
{
    return engine->onesided;
}

const char *inside_auth_name(const struct co_engine *engine)
{
    return co_auth_name(engine->auth);
}

const char *inside_network_text(const struct co_engine *engine)
{
    return engine->network;
}

bool inside_has_multicast(const struct co_engine *engine)
{
    return engine->has_multicast;
}

bool inside_is_oversubscribed(const struct co_engine *engine)
{
    return engine->is_oversubscribed;
}

bool inside_has_sessions(const struct co_engine *engine)
{
    return engine->has_sessions;
}

bool inside_uses_threads(const struct co_engine *engine)
{
    return engine->uses_threads;
}

int inside_cores(const struct co_engine *engine)
{
    return engine->cores;
}

bool inside_network_is_busy(const struct co_engine *engine)
{
    return co_load_relaxed(&engine->network_is_busy);
}

bool inside_first_worker_sleeps(const struct co_engine *engine)
{
    return atomic_load(&engine->workers->first.sleep) == CO_WORKER_SLEEPS;
}

void inside_lock(struct co_engine *engine)
{
    co_trylock_wait(&engine->lock);
}

void inside_unlock(struct co_engine *engine)
{
    co_trylock_drop(&engine->lock);
}

void inside_break_network(struct co_engine *engine, int error)
{
    co_trylock_wait(&engine->lock);
    co_store_relaxed(&engine->network_error, error);
    co_trylock_drop(&engine->lock);
}

void inside_lose_rank(struct co_engine *engine, int local_rank)
{
    co_store_relaxed(&engine->is_gone[local_rank], true);
    co_store_relaxed(&engine->has_lost_one, true);
}

void inside_add_event(struct co_engine *engine)
{
    co_add_relaxed(&engine->events, 1);
}

unsigned inside_long_ones(const struct co_engine *engine)
{
    return co_load_relaxed(&engine->long_ones);
}

void inside_add_long_ones(struct co_engine *engine, int number)
{
    atomic_fetch_add(&engine->long_ones, (unsigned)number);
}

void inside_age(struct co_engine *engine, uint64_t ns)
{
    engine->opened_ns -= ns;
}

uint64_t inside_trials_spent_ns(const struct co_engine *engine)
{
    return co_load_relaxed(&engine->trials_spent_ns); // relaxed: a sum
}

void inside_set_stall(struct co_engine *engine, uint64_t stall_ns)
{
    engine->stall_ns = stall_ns;
}

void inside_set_native_progress(struct co_engine *engine, void (*native_progress)(void))
{
    engine->bootstrap.native_progress = native_progress;
}

void inside_crowd(struct co_engine *engine)
{
    engine->is_oversubscribed = true;
}

void inside_part(struct co_engine *engine)
{
    engine->has_sessions = true;
}

struct co_mcast_group *inside_group(const struct co_team *team)
{
    return team->group;
}

const struct co_team_trials *inside_trials(const struct co_team *team)
{
    return &team->trials;
}

bool inside_has_memory(const struct co_team *team)
{
    return team->shm != NULL;
}

uint64_t inside_calls_in_memory(const struct co_team *team)
{
    return team->shm != NULL ? co_shm_team_call_begins(team->shm) : 0;
}

unsigned inside_onesided_skip(const struct co_team *team)
{
    return team->onesided.skip;
}

unsigned inside_onesided_to_skip(const struct co_team *team)
{
    return team->onesided.to_skip;
}

uint64_t inside_let_go(const struct co_engine *engine, int seat)
{
    return co_load_relaxed(&engine->shm->entries[seat].let_go); // relaxed: told by the caller
}

size_t inside_member_heap(void)
{
    return CO_SHM_MEMBER_HEAP;
}

void inside_break_team(struct co_team *team, int error)
{
    co_trylock_wait(&team->engine->lock);
    co_team_break(team, error);
    co_trylock_drop(&team->engine->lock);
}
