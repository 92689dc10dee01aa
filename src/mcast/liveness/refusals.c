// SPDX-License-Identifier: BSD-3-Clause
//
// Rows of refusals; who judges by them is dead_peers.c.
#include "mcast/liveness/refusals.h"

// True: the peer is gone.
static bool row_begin(struct co_refusals *refusals, uint64_t now_ns, unsigned rows)
{
    *refusals = (struct co_refusals){
        .since_ns = now_ns, .last_ns = now_ns, .asked_ns = refusals->asked_ns, .in_row = 1, .rows = rows};
    return rows >= CO_REFUSALS_ROWS;
}

bool co_refusals_add(struct co_refusals *refusals, uint64_t now_ns)
{
    if (refusals->since_ns == 0 || now_ns - refusals->last_ns > CO_REFUSALS_FORGET_NS) {
        return row_begin(refusals, now_ns, 1);
    }
    if (now_ns - refusals->last_ns > CO_REFUSALS_PAUSE_NS) {
        return row_begin(refusals, now_ns, refusals->rows + 1);
    }
    if (now_ns - refusals->last_ns < CO_REFUSALS_ASK_NS) { // of the same burst
        return false;
    }
    refusals->last_ns = now_ns;
    refusals->in_row++;
    return now_ns - refusals->since_ns >= CO_REFUSALS_SPAN_NS && refusals->in_row >= CO_REFUSALS_LEAST;
}

void co_refusals_heard(struct co_refusals *refusals)
{
    *refusals = (struct co_refusals){0};
}

bool co_refusals_is_to_be_asked(struct co_refusals *refusals, uint64_t now_ns)
{
    if (refusals->since_ns == 0) {
        return false;
    }
    if (now_ns - refusals->last_ns > CO_REFUSALS_FORGET_NS) {
        co_refusals_heard(refusals);
        return false;
    }
    uint64_t every_ns = now_ns - refusals->last_ns > CO_REFUSALS_PAUSE_NS ? CO_REFUSALS_SELDOM_NS : CO_REFUSALS_ASK_NS;
    bool is_due = refusals->asked_ns == 0 || now_ns - refusals->asked_ns >= every_ns;
    refusals->asked_ns = is_due ? now_ns : refusals->asked_ns;
    return is_due;
}
