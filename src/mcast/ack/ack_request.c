// SPDX-License-Identifier: BSD-3-Clause
//
// Whoever waits for a report asks for it, with patience that doubles, so a lost one only costs time. Warm.
#include "mcast/state/endpoint.h"
#include "mcast/ack/ack_request.h"
#include "mcast/send/control_send.h"

#define ACK_REQUEST_MOST_NS UINT64_C(100000000)

// The neighbour reports a large operation at once; *is_large: we wait for such a report. *ripe_ns: since when, as long
// as we may know, the first of what we wait for has had its time on the path; where all take turns, now: what has come
// here from all has come there, or is lost, and trips tell how long that took to be noticed.
static bool waits_for_right(struct co_mcast_group *group, bool *is_large, uint64_t *ripe_ns)
{
    bool waits = false;
    *is_large = false;
    for (const struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (!op->right_has_it && op->blocks_missing == 0 && op->state >= 0) {
            uint64_t patience_ns = co_send_window_patience_ns(&group->window, group->senders);
            bool is_ripe = op->send_chunks == 0 || op->turns.senders > 0;
            uint64_t op_ripe_ns = is_ripe ? 0 : op->last_sent_ns + patience_ns;
            *ripe_ns = op_ripe_ns < *ripe_ns ? op_ripe_ns : *ripe_ns;
            waits = true;
            *is_large = *is_large || op->state == 0;
        }
    }
    return waits;
}

// For the credit of `source`, or for the handshake (CO_ACK_REQUEST_NO_SOURCE).
static void ack_request_send(struct co_mcast_group *group, int member, uint32_t source)
{
    co_control_send_member(group, member, CO_CONTROL_ACK_REQUEST, source, 0, NULL, 0);
    group->ack_request_sequence = (uint32_t)group->mcast->control_sequence;
    group->ack_requested_ns = group->mcast->now_ns;
}

// Children in the tree of `source` whose credit is behind what we have (or, at the source, have sent).
static void ack_request_send_laggards(struct co_mcast_group *group, int source)
{
    struct co_credit_children at = co_credit_children(co_credit_position(&group->tree, group->self, source));
    uint32_t own = source == group->self ? group->window.sent : group->received[source];
    while (co_credit_next(&group->tree, &at)) {
        if (co_serial_before(group->child_received[at.child], own)) {
            ack_request_send(group, co_credit_member(&group->tree, at.child, source), (uint32_t)source);
        }
    }
}

bool co_ack_request_pass_on(struct co_mcast_group *group, int from, uint32_t source)
{
    if (source >= (uint32_t)group->count || (int)source == group->self ||
        co_credit_parent(&group->tree, group->self, (int)source) != from) {
        return false;
    }
    ack_request_send_laggards(group, (int)source);
    return true;
}

void co_ack_request_send_due(struct co_mcast_group *group)
{
    uint64_t ripe_ns = group->is_stalled ? co_send_window_overdue_ns(&group->window, group->senders) : CO_NEVER;
    bool is_large, for_right = waits_for_right(group, &is_large, &ripe_ns);
    if (!for_right && !group->is_stalled) {
        group->ack_request_due_ns = CO_NEVER;
        group->ack_requests = 0;
        return;
    }
    uint64_t now_ns = group->mcast->now_ns;
    uint64_t answer_ns = is_large || group->is_stalled ? CO_ACK_CREDIT_NS : CO_ACK_LAZY_NS;
    uint64_t patience = (answer_ns + co_control_timeout_ns(group->mcast))
                        << (group->ack_requests < 5 ? group->ack_requests : 5);
    patience = patience > ACK_REQUEST_MOST_NS ? ACK_REQUEST_MOST_NS : patience;
    if (group->ack_request_due_ns == CO_NEVER) {
        group->ack_request_due_ns = now_ns + patience;
        return;
    }
    group->ack_request_due_ns = ripe_ns > group->ack_request_due_ns ? ripe_ns : group->ack_request_due_ns;
    if (now_ns < group->ack_request_due_ns) {
        return;
    }
    if (for_right) {
        ack_request_send(group, group->right, CO_ACK_REQUEST_NO_SOURCE);
    }
    if (group->is_stalled) {
        ack_request_send_laggards(group, group->self);
    }
    group->ack_requests++;
    group->ack_request_due_ns = now_ns + patience;
}
