// SPDX-License-Identifier: BSD-3-Clause
//
// How many descriptors the engine may take of those that the process may still open. Native MPI connects to other
// nodes when somebody first sends there, in MPI_Finalize at the latest, and hangs where it finds none left. Each rank
// counts for itself; what follows for the job is agreed by those who ask. Start-up only.
#include "engine/start/descriptor_budget.h"

#include "base/descriptors.h"
#include "base/settings.h"
#include "engine/engine_state.h"

#define FOR_OTHERS 16        // files that native MPI and the program open now and then
#define CONNECTIONS_MOST 256 // of native MPI, to ranks of other nodes: nobody talks to all of thousands

static int others_need(const struct co_engine *engine)
{
    int remote = engine->bootstrap.world_size - engine->bootstrap.node_size;
    return FOR_OTHERS + (remote < CONNECTIONS_MOST ? remote : CONNECTIONS_MOST);
}

void co_descriptors_count(struct co_engine *engine)
{
    int others = others_need(engine), left = co_descriptors_left(others + CO_DESCRIPTORS_MOST);
    engine->descriptors = left > others ? left - others : 0;
}

int co_descriptors_for_network(void)
{
    return 1 + (int)co_setting_number(CO_SET_UDP_SUBGROUPS);
}

bool co_descriptors_take(struct co_engine *engine, int count)
{
    if (engine->descriptors < count) {
        return false;
    }
    engine->descriptors -= count;
    return true;
}
