// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of refusals; who judges by them is dead_peers.c.
#include "mcast/liveness/liveness.h"

// True: the peer is gone.
static bool row_begin(struct co_liveness *liveness, uint64_t now_ns, unsigned rows)
{
    *liveness = (struct co_liveness){
        .since_ns = now_ns, .last_ns = now_ns, .asked_ns = liveness->asked_ns, .refusals = 1, .rows = rows};
    return rows >= CO_LIVENESS_ROWS;
}

bool co_liveness_refused(struct co_liveness *liveness, uint64_t now_ns)
{
    if (liveness->since_ns == 0 || now_ns - liveness->last_ns > CO_LIVENESS_FORGET_NS) {
        return row_begin(liveness, now_ns, 1);
    }
    if (now_ns - liveness->last_ns > CO_LIVENESS_PAUSE_NS) {
        return row_begin(liveness, now_ns, liveness->rows + 1);
    }
    if (now_ns - liveness->last_ns < CO_LIVENESS_ASK_NS) { // of the same burst
        return false;
    }
    liveness->last_ns = now_ns;
    liveness->refusals++;
    return now_ns - liveness->since_ns >= CO_LIVENESS_REFUSED_NS && liveness->refusals >= CO_LIVENESS_REFUSALS;
}

void co_liveness_heard(struct co_liveness *liveness)
{
    *liveness = (struct co_liveness){0};
}

bool co_liveness_is_to_be_asked(struct co_liveness *liveness, uint64_t now_ns)
{
    if (liveness->since_ns == 0) {
        return false;
    }
    if (now_ns - liveness->last_ns > CO_LIVENESS_FORGET_NS) {
        co_liveness_heard(liveness);
        return false;
    }
    uint64_t every_ns = now_ns - liveness->last_ns > CO_LIVENESS_PAUSE_NS ? CO_LIVENESS_SELDOM_NS : CO_LIVENESS_ASK_NS;
    bool is_due = liveness->asked_ns == 0 || now_ns - liveness->asked_ns >= every_ns;
    liveness->asked_ns = is_due ? now_ns : liveness->asked_ns;
    return is_due;
}
