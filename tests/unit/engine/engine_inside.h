// SPDX-License-Identifier: BSD-3-Clause
//
// What tests look at inside an engine, or set there because no program could. They know an engine by its front door, by
// the header of the part that they test, and by this: another layout of it is another engine_inside.c.
#ifndef CASTOFF_TESTS_ENGINE_INSIDE_H
#define CASTOFF_TESTS_ENGINE_INSIDE_H

#include "engine/engine.h"

struct co_mcast;
struct co_mcast_group;
struct co_onesided_collective;
struct co_team_trials;

struct co_mcast *inside_mcast(const struct co_engine *engine);
struct co_onesided_collective *inside_onesided(const struct co_engine *engine); // NULL: no collective goes one-sided
const char *inside_auth_name(const struct co_engine *engine);                   // of the form that tags have
const char *inside_network_text(const struct co_engine *engine);
bool inside_has_multicast(const struct co_engine *engine);
bool inside_is_oversubscribed(const struct co_engine *engine);
bool inside_has_sessions(const struct co_engine *engine); // more than one on some node
bool inside_uses_threads(const struct co_engine *engine);
int inside_cores(const struct co_engine *engine);            // that the ranks of this node may run on
bool inside_network_is_busy(const struct co_engine *engine); // copies kept, reports owed
bool inside_first_worker_sleeps(const struct co_engine *engine);

// As whoever moves the engine.
void inside_lock(struct co_engine *engine);
void inside_unlock(struct co_engine *engine);

// As the parts would find it, to which it does not happen here: a transport that breaks, a rank of this node that ends.
void inside_break_network(struct co_engine *engine, int error);
void inside_lose_rank(struct co_engine *engine, int local_rank);

uint64_t inside_let_go(const struct co_engine *engine, int seat); // the last broadcast told of there, 0: none

void inside_add_event(struct co_engine *engine); // something has moved

unsigned inside_long_ones(const struct co_engine *engine); // operations that workers alone move
void inside_add_long_ones(struct co_engine *engine, int number);
void inside_set_stall(struct co_engine *engine, uint64_t stall_ns); // after which the watchdog speaks
void inside_age(struct co_engine *engine, uint64_t ns);             // as if it had been opened so much earlier
uint64_t inside_trials_spent_ns(const struct co_engine *engine);
void inside_set_native_progress(struct co_engine *engine, void (*native_progress)(void));
void inside_crowd(struct co_engine *engine); // as if its ranks outnumbered the cores,
void inside_part(struct co_engine *engine);  // as if each had a session of its own

struct co_mcast_group *inside_group(const struct co_team *team);
const struct co_team_trials *inside_trials(const struct co_team *team);
bool inside_has_memory(const struct co_team *team);
uint64_t inside_calls_in_memory(const struct co_team *team);  // number of the next one in shared memory, 0 without it
unsigned inside_onesided_skip(const struct co_team *team);    // calls that went the ordinary way after the last failure
unsigned inside_onesided_to_skip(const struct co_team *team); // and that are left of these
size_t inside_member_heap(void);                              // CO_SHM_MEMBER_HEAP
void inside_break_team(struct co_team *team, int error);

#endif
