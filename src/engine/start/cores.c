// SPDX-License-Identifier: BSD-3-Clause
//
// Cores against ranks, node by node: decides whether waiting calls spin or yield and whether worker threads have
// somewhere to run. Launchers bind ranks to cores, so a node's cores are those of all its ranks together. Containers
// have all cores of their host, but may use no more than some of its time: who spins there is stopped for the rest of a
// period, so that counts as fewer cores. Start-up only; every rank comes to the same answer.
#define _GNU_SOURCE
#include "engine/start/cores.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/start/job_facts.h"

enum { PROGRESS_AUTO, PROGRESS_CALLER, PROGRESS_THREADS }; // positions in the setting's choices

#define CORES_MOST 65536 // that a kernel may be built for

// A kernel for more cores than a cpu_set_t has bits refuses to fill one. Those beyond count as those below, 1024 apart:
// two of them that are taken for one cost time, nothing else.
static void fold_wide_mask(cpu_set_t *mine)
{
    size_t bytes = CPU_ALLOC_SIZE(CORES_MOST);
    cpu_set_t *wide = CPU_ALLOC(CORES_MOST);
    CPU_ZERO(mine);
    if (wide != NULL && sched_getaffinity(0, bytes, wide) == 0) {
        for (int core = 0; core < CORES_MOST; core++) {
            if (CPU_ISSET_S(core, bytes, wide)) {
                CPU_SET(core % CPU_SETSIZE, mine);
            }
        }
    } else {
        CPU_SET(0, mine);
    }
    CPU_FREE(wide);
}

void co_cores_tell(struct co_first_words *mine)
{
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof(cores), &cores) != 0) {
        fold_wide_mask(&cores);
    }
    _Static_assert(sizeof(cores) == sizeof(mine->cores), "a mask fits the words");
    memcpy(mine->cores, &cores, sizeof(cores));
    co_cores_quota_read(&mine->quota, "");
    mine->session = (int32_t)getsid(0);
}

static int count(const struct co_first_words *words)
{
    cpu_set_t cores;
    memcpy(&cores, words->cores, sizeof(cores));
    return CPU_COUNT(&cores);
}

// The outermost that a rank tells.
static uint64_t outer_group(const struct co_cores_quota *quota)
{
    return quota->above_hundredths > 0 ? quota->above_group : quota->group;
}

static uint32_t outer_hundredths(const struct co_cores_quota *quota)
{
    return quota->above_hundredths > 0 ? quota->above_hundredths : quota->hundredths;
}

// The first rank of its node that is under the same limit; `outer`: the same outer one.
static int first_under(const struct co_first_words *words, int rank, bool outer)
{
    const struct co_cores_quota *own = &words[rank].quota;
    int first = words[rank].node_first;
    while (first < rank &&
           (words[first].node_first != words[rank].node_first || words[first].quota.hundredths == 0 ||
            (outer ? outer_group(&words[first].quota) != outer_group(own) : words[first].quota.group != own->group))) {
        first++;
    }
    return first;
}

static uint32_t sum(uint32_t hundredths, uint32_t more)
{
    return hundredths > UINT32_MAX - more ? UINT32_MAX : hundredths + more;
}

// The words of a node's first rank get the limits of all of its ranks together, or none. Groups below one outer limit
// have no more than that together.
static void add_quotas(struct co_first_words *words, int size)
{
    for (int rank = 0; rank < size; rank++) {
        if (words[rank].quota.hundredths > 0 && first_under(words, rank, false) == rank) {
            uint32_t *below = &words[first_under(words, rank, true)].below_hundredths;
            *below = sum(*below, words[rank].quota.hundredths);
        }
    }
    for (int rank = 0; rank < size; rank++) {
        uint32_t most = outer_hundredths(&words[rank].quota), below = words[rank].below_hundredths;
        uint32_t *node = &words[words[rank].node_first].node_hundredths;
        *node = sum(*node, below < most ? below : most);
    }
    for (int rank = 0; rank < size; rank++) {
        if (words[rank].quota.hundredths == 0) {
            words[words[rank].node_first].node_hundredths = 0;
        }
    }
}

// Of a node, by the words of its first rank.
static int count_usable(const struct co_first_words *node)
{
    int cores = count(node), whole = (int)(node->node_hundredths / 100);
    if (node->node_hundredths == 0 || whole >= cores) {
        return cores;
    }
    return whole > 0 ? whole : 1;
}

void co_cores_conclude(struct co_engine *engine, struct co_first_words *words)
{
    bool has_free_core = true;
    int size = engine->bootstrap.world_size;
    for (int rank = 0; rank < size; rank++) {
        // A thread of a rank bound to one core could only take that core from the program.
        has_free_core = has_free_core && count(&words[rank]) > 1;
        engine->has_sessions = engine->has_sessions || words[rank].session != words[words[rank].node_first].session;
    }
    for (int rank = 0; rank < size; rank++) {
        for (int word = 0; word < CO_CORE_WORDS; word++) {
            words[words[rank].node_first].cores[word] |= words[rank].cores[word];
        }
    }
    add_quotas(words, size);
    for (int first = 0; first < size; first++) {
        if (words[first].node_first == first) {
            int cores = count_usable(&words[first]);
            // Below a core for each rank they are stopped for a part of each period, whoever spins.
            uint32_t quota = words[first].node_hundredths;
            bool is_short = quota > 0 && quota < 100 * (uint32_t)words[first].node_size;
            engine->is_oversubscribed = engine->is_oversubscribed || words[first].node_size > cores || is_short;
            has_free_core = has_free_core && words[first].node_size < cores;
        }
    }
    engine->cores = count_usable(&words[engine->bootstrap.node_first]);
    int64_t progress = co_setting_number(CO_SET_PROGRESS);
    engine->uses_threads = progress == PROGRESS_THREADS ||
                           (progress == PROGRESS_AUTO && (has_free_core || engine->bootstrap.needs_workers));
}
