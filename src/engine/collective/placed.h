// SPDX-License-Identifier: BSD-3-Clause
//
// Placed collectives: large blocking broadcasts and allgathers between hosts of one rank each that go by one stream of
// RDMA writes, which a hop on the path multiplies, straight into the buffers of all members (castoff_group.h; S4). A
// way beside tasks, where a coordinator is set; what it cannot do goes the ordinary way on the same buffers. Private to
// src/engine. Calls: the thread of the call.
#ifndef CASTOFF_ENGINE_COLLECTIVE_PLACED_H
#define CASTOFF_ENGINE_COLLECTIVE_PLACED_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/order.h"
#include "engine/decide/decide.h"
#include "engine/collective/group_library.h"

struct co_engine;
struct co_team;

enum { CO_PLACED_NOT, CO_PLACED_WHOLE }; // go the ordinary way, as all members do; or done
enum { CO_PLACED_RANKS_MOST = 1025 };    // the sender of a group and its members

// Of an engine that can place something; all ranks have it, or none.
struct co_placed {
    struct co_group_library library;
    struct castoff_group_options options; // of every group; texts are the settings'
    uint64_t job_tag;
    size_t least_bytes;
    struct co_trylock turn;         // one thread of a process at a time: one queue pair, a few descriptors
    _Atomic uint64_t rest_until_ns; // after failures: this process says no
    _Atomic uint64_t rest_ns;       // how long after the last one, 0: it went well
    _Atomic bool has_told;
};

// Of a team; the same on all of its members, which have seen the same calls and verdicts.
struct co_placed_team {
    uint32_t transfers;     // tried so far
    unsigned to_skip, skip; // calls that go the ordinary way before the next try; so many after the last failure
};

// placed_open.c. Collective, where the setting is set, which is agreed: finds out on all ranks whether this one could
// take part; else engine->placed_text says why not.
void co_placed_open(struct co_engine *engine, uint64_t job_tag);
void co_placed_close(struct co_engine *engine);

// Large enough. Hot, where nothing is placed a load.
static inline bool co_placed_is_for(const struct co_placed *placed, size_t bytes)
{
    return __builtin_expect(placed != NULL, 0) && bytes >= placed->least_bytes;
}

// One rank a host, as many as a group may have. Pure in facts that all members have.
bool co_placed_fits(const struct co_team_facts *facts);

// For what is large enough, collective over the team: CO_PLACED_WHOLE, CO_PLACED_NOT (the buffers of roots are
// unchanged, nothing writes into the others any more), or -errno as of any collective.
int co_placed_bcast(struct co_team *team, int root, void *buffer, size_t bytes);
int co_placed_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes);

// placed_transfer.c. What goes into the buffers of one group after the other, in a thread of its own: functions of a
// group wait, and whoever called MPI goes on moving the engine and the MPI below, since others may need that first.
struct co_placed_transfer {
    const struct co_placed *placed;
    // The order: from the caller to the thread.
    bool is_sender, must_end;
    unsigned members;
    void *buffer;
    size_t bytes;
    char group[64], name[32];
    // What became of it.
    int result;
    char why[320];
    struct castoff_group_counts counts;
    _Atomic(const char *) stage; // for a stall
    _Atomic bool is_done;
    sem_t ordered;
    pthread_t thread;
};

// 0 or -errno. From then on it waits for orders.
int co_placed_transfer_open(struct co_placed_transfer *transfer, const struct co_placed *placed);
// Carries out the order that stands in it: 0, or -errno and `why`. When it returns nothing writes into the buffer.
int co_placed_transfer_carry(struct co_placed_transfer *transfer, struct co_engine *engine, const char *call);
void co_placed_transfer_close(struct co_placed_transfer *transfer);

#endif
