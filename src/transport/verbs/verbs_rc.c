// SPDX-License-Identifier: BSD-3-Clause
//
// The reliable connections to the two neighbours of the ring of nodes: which one leads to whom, and the end of one that
// has failed, which is not made again.
#include <stdio.h>

#include "transport/verbs/verbs_state.h"

struct co_verbs_rc *co_verbs_rc_to(struct co_verbs_reads *all, int peer)
{
    struct co_verbs_rc *rc = all->rc;
    while (rc != all->rc + CO_VERBS_NEIGHBOURS && !(rc->is_up && rc->peer == peer)) {
        rc++;
    }
    return rc != all->rc + CO_VERBS_NEIGHBOURS && all->verbs->broken == 0 ? rc : NULL;
}

bool co_verbs_rc_is_used(const struct co_verbs_reads *all)
{
    return all->rc[0].is_up || all->rc[1].is_up;
}

struct co_verbs_rc *co_verbs_rc_of(struct co_verbs *verbs, const struct ibv_qp *queue_pair)
{
    for (unsigned i = 0; i < CO_VERBS_NEIGHBOURS; i++) {
        if (queue_pair != NULL && verbs->reads.rc[i].queue_pair == queue_pair) {
            return &verbs->reads.rc[i];
        }
    }
    return NULL;
}

// Without its queue pair the device writes to none of its slots any more, but for what has ended.
void co_verbs_rc_fail(struct co_verbs *verbs, struct co_verbs_rc *rc, const char *why)
{
    struct co_verbs_reads *all = &verbs->reads;
    char text[200];
    if (!rc->is_up) {
        return;
    }
    rc->is_up = false;
    ibv_destroy_qp(rc->queue_pair);
    rc->queue_pair = NULL;
    for (unsigned slot = 0; slot < CO_VERBS_READS; slot++) {
        if (all->slots[slot].number != 0 && all->slots[slot].rc == rc && !all->slots[slot].has_ended) {
            verbs->config.count(CO_VERBS_FLUSHED, 1);
            co_verbs_read_free(all, slot);
        }
    }
    snprintf(text, sizeof text, "verbs on %s: memory of rank %d cannot be read any more: %s; repairs are sent",
             verbs->device, rc->peer, why);
    verbs->config.warn(text);
}

void co_verbs_rc_describe(const struct co_verbs *verbs, char *text, size_t room)
{
    const struct co_verbs_rc *rc = verbs->reads.rc;
    if (room > 0) {
        text[0] = '\0';
    }
    if (rc[0].is_up && rc[1].is_up) {
        snprintf(text, room, ", reads memory of ranks %d and %d", rc[0].peer, rc[1].peer);
    } else if (rc[0].is_up || rc[1].is_up) {
        snprintf(text, room, ", reads memory of rank %d", rc[rc[1].is_up].peer);
    }
}
