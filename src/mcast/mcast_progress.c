// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor of the protocol: moves everything in one call. Takes datagrams, learns of dead peers, lets each active
// group act, serves repairs, and says when to come again. It calls the parts; they do not call each other. Without a
// datagram and before the next timer it costs one poll of the transport. Hot.
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "mcast/ack/ack.h"
#include "mcast/ack/ack_request.h"
#include "mcast/collect.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/group_end.h"
#include "mcast/liveness/liveness_deadline.h"
#include "mcast/liveness/dead_peers.h"
#include "mcast/mcast_receive.h"
#include "mcast/state/operation.h"
#include "mcast/operation_progress.h"
#include "mcast/probe.h"
#include "mcast/receive/placement.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/block_end.h"
#include "mcast/send/transmit.h"
#include "mcast/threads.h"

#define POLL_BUDGET 256
#define BEHIND_MOST 16384 // datagrams in a row: more than a receive buffer of usual size holds
#define LINGER_NS (UINT64_C(10) * 1000000000)

// Copies kept by a closed group are given up when the neighbour has not asked for so long: he is gone, or has them.
static void expire_kept(struct co_mcast_group *group)
{
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->state == 1 && op->is_released && group->mcast->now_ns - op->last_event_ns > LINGER_NS) {
            co_operation_right_has_it(op);
            group->has_given_up = true;
        }
    }
}

// Credit is reported by quarters of the share that a sender has of the window, and by turns where there are any.
static void adapt_quantum(struct co_mcast_group *group)
{
    if (group->newest != NULL) {
        group->senders = (uint32_t)co_operation_senders(group->newest);
        const struct co_send_limit *limit = co_send_window_limit(&group->window, group->senders);
        uint32_t share = co_send_window_share(limit->most, group->senders);
        group->quantum = share / 4 > 0 ? share / 4 : 1;
        if (group->newest->turns.senders > 0) {
            group->quantum = group->newest->turns.flight / 2;
        }
    }
}

static bool has_unfinished(const struct co_mcast_group *group)
{
    const struct co_mcast_op *op = co_operations_unfinished(group);
    while (op != NULL && op->state != 0) {
        op = op->next;
    }
    return op != NULL;
}

// People look for the host, and the communicator's error does not name it.
static void tell_of_dead_member(const struct co_mcast_group *group, int rank)
{
    const struct co_transport *transport = group->mcast->transport;
    char who[64];
    if (!has_unfinished(group)) {
        return;
    }
    snprintf(who, sizeof who, "rank %d", rank);
    if (transport->ops->peer_text != NULL) {
        transport->ops->peer_text(transport, rank, who, sizeof who);
    }
    co_log(CO_LOG_WARN, CO_SUBSYS_MCAST, "%s is gone, or cannot be sent to: a communicator of %d hosts ends", who,
           group->count);
}

// A member that is gone matters as long as something is under way; after the last operation it may well be gone.
static void break_by_dead_members(struct co_mcast_group *group)
{
    for (int i = 0; i < group->count; i++) {
        int rank = group->members[i];
        if (group->mcast->peers[rank].is_dead && group->oldest != NULL && group->broken == 0) {
            tell_of_dead_member(group, rank);
            co_group_abort(group, -ECONNRESET);
        }
    }
}

static void group_fail_silent(struct co_mcast_group *group)
{
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->state == 0) {
            co_operation_fail(op, -ETIMEDOUT);
        }
    }
}

static void group_progress(struct co_mcast_group *group)
{
    adapt_quantum(group);
    if (group->mcast->dead_peers > 0) {
        break_by_dead_members(group);
    }
    if (co_liveness_deadline_is_over(group)) {
        group_fail_silent(group);
    }
    if (group->has_failing) {
        co_operations_fail_again(group);
    }
    if (group->is_closing) {
        expire_kept(group);
    }
    co_nack_send_due(group);
    co_collect_due(group);
    co_operations_settle(group);
    co_block_ends_due(group);
    co_ack_send_due(group);
    co_ack_request_send_due(group);
}

static uint64_t group_timer_ns(struct co_mcast_group *group)
{
    uint64_t due = group->report_due_ns < group->ack_request_due_ns ? group->report_due_ns : group->ack_request_due_ns;
    uint64_t repair_due = co_nack_due_ns(group), collect_due = co_collect_due_ns(group);
    uint64_t deadline_due = co_liveness_deadline_due_ns(group);
    due = collect_due < due ? collect_due : due;
    due = deadline_due < due ? deadline_due : due;
    due = group->pace_due_ns < due ? group->pace_due_ns : due;
    due = group->end_due_ns < due ? group->end_due_ns : due;
    return repair_due < due ? repair_due : due;
}

static bool group_is_idle(const struct co_mcast_group *group)
{
    return group->oldest == NULL && group->report_due_ns == CO_NEVER && group->unreported_done == 0;
}

// Lets every active group act; takes those out of the list that have nothing left to do.
static void groups_progress(struct co_mcast *mcast)
{
    struct co_mcast_group *group = mcast->active;
    mcast->active = NULL;
    uint64_t timer = CO_NEVER;
    while (group != NULL) {
        struct co_mcast_group *next = group->next_active;
        group->is_active = false;
        group_progress(group);
        bool is_idle = group_is_idle(group);
        if (group->is_active || !is_idle) {
            co_group_activate(group);
            uint64_t due = is_idle ? mcast->now_ns : group_timer_ns(group); // idle now: the next turn finds it so
            timer = due < timer ? due : timer;
        } else if (group->is_closing && !group->is_lingering) {
            co_group_linger(group);
        }
        group = next;
    }
    if (mcast->probe.state == 0) {
        uint64_t next = mcast->probe.next_ns > mcast->now_ns ? mcast->probe.next_ns : mcast->probe.deadline_ns;
        timer = next < timer ? next : timer;
    }
    uint64_t liveness_due = co_dead_peers_due_ns(mcast);
    mcast->timer_ns = liveness_due < timer ? liveness_due : timer;
}

// Somebody who floods the groups can keep a run of datagrams up for as long as he likes: who waited for its end would
// never ask for what is lost. Each time that so many have come, what was missing before has been among them or is lost,
// and may be asked for once.
static void bound_waiting(struct co_mcast *mcast, unsigned taken)
{
    mcast->behind_taken = mcast->is_behind ? mcast->behind_taken + taken : 0;
    if (mcast->behind_taken >= BEHIND_MOST) {
        mcast->is_behind = false;
        mcast->behind_taken = 0;
    }
}

int co_mcast_progress(struct co_mcast *mcast, uint64_t now_ns)
{
    mcast->now_ns = now_ns;
    mcast->events = 0;
    int status = mcast->transport->ops->poll(mcast->transport, POLL_BUDGET, co_mcast_deliver, mcast);
    if (status < 0) {
        return status;
    }
    unsigned polled = (unsigned)status;
    mcast->is_behind = polled >= POLL_BUDGET;
    status = co_threads_progress(mcast, &polled);
    bound_waiting(mcast, polled);
    co_placement_count(mcast);
    if (status < 0) {
        return status;
    }
    co_dead_peers_poll_transport(mcast);
    if (mcast->events == 0 && now_ns < mcast->timer_ns && !mcast->wants_write && mcast->reading_ops == 0) {
        return 0;
    }
    mcast->wants_write = false;
    co_probe_progress(mcast);
    co_dead_peers_progress(mcast);
    co_retransmit_in_turn(mcast);
    groups_progress(mcast);
    co_retransmit_progress(mcast);
    return mcast->events;
}
