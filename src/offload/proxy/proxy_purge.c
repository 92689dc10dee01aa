// SPDX-License-Identifier: BSD-3-Clause
//
// Ends and marks of messages that nobody goes on with: of ranks that are gone, and of calls that a rank has behind it.
// Called by proxy_core.c, ends and teams; cold.
#include <errno.h>

#include "offload/proxy/proxy_state.h"

// Marks that nobody will ask for: of a rank that is gone, or of calls of a team that one of ours has behind it.
struct purge {
    struct co_proxy *proxy;
    uint32_t rank;
    bool is_gone;
    uint64_t team, below;
};

static void purge_visit(void *context, struct co_proxy_table *table, struct co_proxy_node *node)
{
    const struct purge *purge = context;
    const struct co_offload_key *key = &node->key;
    uint32_t ours = table == &purge->proxy->sends ? key->from : key->to;
    bool is_its_call =
        ours == purge->rank && key->space == CO_OFFLOAD_TEAM && key->tag == purge->team && key->number < purge->below;
    if (node->is_mark && (purge->is_gone ? key->from == purge->rank || key->to == purge->rank : is_its_call)) {
        co_proxy_mark_remove(purge->proxy, table, node);
    }
}

static void marks_purge(struct purge *purge)
{
    co_proxy_table_visit(&purge->proxy->sends, purge_visit, purge);
    co_proxy_table_visit(&purge->proxy->receives, purge_visit, purge);
}

static void call_gone(struct co_proxy *proxy, struct co_proxy_call *call, uint32_t rank)
{
    for (uint32_t i = 0; i < call->end_count; i++) {
        struct co_proxy_end *end = &call->ends[i];
        if (end->state != CO_PROXY_END_OVER && co_proxy_end_other(end) == rank) {
            end->is_failed = true;
            if (end->state == CO_PROXY_END_OPEN) {
                co_proxy_end_finish(proxy, end, -ECONNRESET, false);
            }
        }
    }
}

void co_proxy_ends_gone(struct co_proxy *proxy, uint32_t rank)
{
    if (proxy->ranks[rank].is_gone) {
        return;
    }
    proxy->ranks[rank].is_gone = true;
    for (int i = 0; i < proxy->config.ranks; i++) {
        uint32_t end = proxy->ranks[i].call_count > 0 ? proxy->ranks[i].ticket_end : 0;
        for (uint32_t ticket = 0; ticket < end; ticket++) {
            if (proxy->ranks[i].calls[ticket] != NULL) {
                call_gone(proxy, proxy->ranks[i].calls[ticket], rank);
            }
        }
    }
    marks_purge(&(struct purge){proxy, rank, true, 0, 0});
}

void co_proxy_marks_purge(struct co_proxy *proxy, uint32_t rank, uint64_t team, uint64_t below)
{
    marks_purge(&(struct purge){proxy, rank, false, team, below});
}
