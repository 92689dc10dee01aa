// SPDX-License-Identifier: BSD-3-Clause
//
// Which network the job uses where hosts are on several: rank 0 offers its addresses, every rank says by which way it
// would reach each of them, and all take the one that everybody reaches. Start-up only.
#include "engine/start/shared_network.h"

#include "base/settings.h"
#include "engine/engine_state.h"
#include "engine/start/job_facts.h"
#include "transport/udp/udp.h"

void co_shared_network_offer(struct co_job_offer *offer)
{
    offer->address_count =
        co_udp_candidates(co_setting_text(CO_SET_UDP_INTERFACE), offer->addresses, CO_UDP_CANDIDATES_MAX);
}

int co_shared_network_pick(const int *ways, int count)
{
    for (int wanted = CO_UDP_WAY_DIRECT; wanted > CO_UDP_NO_WAY; wanted--) {
        for (int i = 0; i < count; i++) {
            if (ways[i] >= wanted) {
                return i;
            }
        }
    }
    return -1;
}

uint32_t co_shared_network_find(const struct co_engine *engine, const struct co_job_offer *offer)
{
    const struct co_bootstrap *bootstrap = &engine->bootstrap;
    bool is_offering_host = engine->node_of_rank[0] == bootstrap->node_index;
    int ways[CO_UDP_CANDIDATES_MAX] = {0};
    for (int i = 0; i < offer->address_count; i++) {
        ways[i] = is_offering_host ? CO_UDP_WAY_DIRECT
                                   : (int)co_udp_way_to(co_setting_text(CO_SET_UDP_INTERFACE), offer->addresses[i]);
    }
    // Of a single one there is nothing to agree on: who has no way there hears no multicast by any other.
    if (offer->address_count > 1 && bootstrap->minimum(bootstrap->arg, ways, CO_UDP_CANDIDATES_MAX) < 0) {
        return 0;
    }
    int pick = co_shared_network_pick(ways, offer->address_count);
    return pick < 0 ? 0 : offer->addresses[pick];
}
