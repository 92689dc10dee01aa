// SPDX-License-Identifier: BSD-3-Clause
//
// One-sided collectives: large blocking broadcasts and allgathers between hosts of one rank each that go by one stream
// of RDMA writes, which a hop on the path multiplies, straight into the buffers of all members (castoff_group.h; S4). A
// way beside tasks, where a coordinator is set; what it cannot do goes the ordinary way on the same buffers. Private to
// src/engine. Calls: the thread of the call.
#ifndef CASTOFF_ENGINE_COLLECTIVE_ONESIDED_COLLECTIVE_H
#define CASTOFF_ENGINE_COLLECTIVE_ONESIDED_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomics.h"
#include "engine/decide/decide.h"
#include "engine/collective/onesided_library.h"

struct co_engine;
struct co_team;

enum { CO_ONESIDED_NOT, CO_ONESIDED_WHOLE }; // go the ordinary way, as all members do; or done
enum { CO_ONESIDED_RANKS_MOST = 1025 };      // the sender of a group and its members

// Of an engine that can do any; all ranks have it, or none.
struct co_onesided_collective {
    struct co_onesided_library library;
    struct castoff_group_options options; // of every group; texts are the settings'
    uint64_t job_tag;
    size_t least_bytes;
    struct co_trylock turn;         // one thread of a process at a time: one queue pair, a few descriptors
    _Atomic uint64_t rest_until_ns; // after failures: this process says no
    _Atomic uint64_t rest_ns;       // how long after the last one, 0: it went well
    _Atomic bool has_told;
};

// Large enough. Hot, where nothing goes one-sided a load.
static inline bool co_onesided_collective_is_for(const struct co_onesided_collective *onesided, size_t bytes)
{
    return __builtin_expect(onesided != NULL, 0) && bytes >= onesided->least_bytes;
}

// One rank a host, as many as a group may have. Pure in facts that all members have.
bool co_onesided_collective_fits(const struct co_team_facts *facts);

// For what is large enough, collective over the team: CO_ONESIDED_WHOLE, CO_ONESIDED_NOT (the buffers of roots are
// unchanged, nothing writes into the others any more), or -errno as of any collective.
int co_onesided_collective_bcast(struct co_team *team, int root, void *buffer, size_t bytes);
int co_onesided_collective_allgather(struct co_team *team, const void *mine, void *all, size_t block_bytes);

#endif
