// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy's signs of life; see the header.
#include "offload/rank/rank_proxy_heartbeat.h"

#include <stdbool.h>

void co_rank_proxy_heartbeat_begin(struct co_rank_proxy_heartbeat *heartbeat)
{
    heartbeat->moved_ns = 0;
}

enum co_heartbeat co_rank_proxy_heartbeat_look(struct co_rank_proxy_heartbeat *heartbeat, uint64_t count,
                                               uint64_t now_ns)
{
    bool was_away = now_ns - heartbeat->looked_ns >= CO_HEARTBEAT_QUIET_NS;

    heartbeat->looked_ns = now_ns;
    if (count != heartbeat->count || heartbeat->moved_ns == 0 || was_away) {
        heartbeat->count = count;
        heartbeat->moved_ns = now_ns;
    }
    uint64_t quiet_ns = now_ns - heartbeat->moved_ns;
    if (quiet_ns >= heartbeat->deadline_ns) {
        return CO_HEARTBEAT_STOPPED;
    }
    bool is_quiet = quiet_ns >= heartbeat->deadline_ns / 4 || quiet_ns >= CO_HEARTBEAT_QUIET_NS;
    return is_quiet ? CO_HEARTBEAT_TO_RING : CO_HEARTBEAT_MOVES;
}
