// SPDX-License-Identifier: BSD-3-Clause
//
// Cores against ranks, node by node: decides whether waiting calls spin or yield and whether worker threads have
// somewhere to run. Launchers bind ranks to cores, so a node's cores are those of all its ranks together. Collective,
// start-up only; every rank comes to the same answer.
#define _GNU_SOURCE
#include "engine/start/cores.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "base/settings.h"
#include "engine/engine_state.h"

enum { PROGRESS_AUTO, PROGRESS_CALLER, PROGRESS_THREADS }; // positions in the setting's choices

#define CORES_MOST 65536 // that a kernel may be built for

struct node_cores {
    cpu_set_t cores;
    int ranks;
};

static void add_ranks(const struct co_engine *engine, const cpu_set_t *masks, struct node_cores *nodes)
{
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        struct node_cores *node = &nodes[engine->node_of_rank[rank]];
        CPU_OR(&node->cores, &node->cores, &masks[rank]);
        node->ranks++;
    }
}

static void conclude(struct co_engine *engine, const cpu_set_t *masks, const struct node_cores *nodes)
{
    bool has_free_core = true;
    for (int node = 0; node < engine->bootstrap.node_count; node++) {
        int cores = CPU_COUNT(&nodes[node].cores);
        engine->is_oversubscribed = engine->is_oversubscribed || nodes[node].ranks > cores;
        has_free_core = has_free_core && nodes[node].ranks < cores;
    }
    for (int rank = 0; rank < engine->bootstrap.world_size; rank++) {
        // A thread of a rank bound to one core could only take that core from the program.
        has_free_core = has_free_core && CPU_COUNT(&masks[rank]) > 1;
    }
    engine->cores = CPU_COUNT(&nodes[engine->bootstrap.node_index].cores);
    int64_t progress = co_setting_number(CO_SET_PROGRESS);
    engine->uses_threads = progress == PROGRESS_THREADS ||
                           (progress == PROGRESS_AUTO && (has_free_core || engine->bootstrap.needs_workers));
}

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

int co_cores_agree(struct co_engine *engine)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    cpu_set_t mine;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof(mine), &mine) != 0) {
        fold_wide_mask(&mine);
    }
    _Static_assert(sizeof(mine) <= CO_EXCHANGE_BYTES, "a mask fits the exchange");
    cpu_set_t *masks = engine->exchange;
    struct node_cores *nodes = calloc((size_t)bootstrap->node_count, sizeof(*nodes));
    int could = nodes == NULL ? -ENOMEM : 0;
    int status = bootstrap->minimum(bootstrap->arg, &could, 1);
    status = status < 0 ? status : could;
    if (status == 0) {
        status = bootstrap->allgather(bootstrap->arg, &mine, masks, sizeof(mine));
    }
    if (status == 0) {
        add_ranks(engine, masks, nodes);
        conclude(engine, masks, nodes);
    }
    free(nodes);
    return status;
}
