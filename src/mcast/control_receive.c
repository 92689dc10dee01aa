// SPDX-License-Identifier: BSD-3-Clause
//
// The conductor's third part: control messages, each checked and given to the part that it concerns. Warm.
#include "mcast/control_receive.h"

#include <errno.h>

#include "base/counters.h"
#include "mcast/ack/ack.h"
#include "mcast/ack/ack_request.h"
#include "mcast/collect.h"
#include "mcast/group_end.h"
#include "mcast/liveness/dead_peers.h"
#include "mcast/operation_progress.h"
#include "mcast/probe.h"
#include "mcast/receive/datagram_verify.h"
#include "mcast/repair/nack.h"
#include "mcast/repair/rdma_repair_read.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/state/operation.h"
#include "mcast/state/skipped_numbers.h"

static void ack_request_take(struct co_mcast_group *group, const struct co_control *control)
{
    co_ack_send(group, control->source, (uint32_t)control->sequence);
    if (co_ack_request_pass_on(group, control->source, control->operation)) {
        co_nack_source_waits(group, (int)control->operation);
    }
}

// A bcast has no turns, and neither has a collector, which would send blocks that have yet to reach it.
static void token_take(struct co_mcast_group *group, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    if (op != NULL && op->state == 0 && op->root < 0) {
        op->may_send = true;
    }
}

// Of a closed group whose copies were given up: who asks for one would ask for ever.
static bool is_given_up(const struct co_mcast_group *group, const struct co_control *control)
{
    return group->has_given_up && control->source == group->right &&
           co_serial_before(control->operation, group->next_operation) &&
           co_operation_find((struct co_mcast_group *)group, control->operation) == NULL &&
           !co_ack_right_has(group, control->operation);
}

static void nack_take(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    struct co_nack_body nack;
    co_wire_nack_decode(&nack, body);
    if (nack.source == group->self && co_skipped_numbers_have(group, control->operation)) {
        co_control_send_member(group, control->source, CO_CONTROL_SKIPPED, control->operation, 0, NULL, 0);
    } else if (is_given_up(group, control)) {
        co_control_send_member(group, control->source, CO_CONTROL_ABORT, 0, 0, NULL, 0);
    } else if (nack.source < group->count && co_operation_has_nothing_of(group, control->operation, nack.source)) {
        co_group_members_disagree(group);
    } else {
        co_nack_receive(group, control->source, control, body);
    }
}

static void end_of_block_take(struct co_mcast_group *group, int from, uint32_t number)
{
    struct co_mcast_op *op = co_operation_find(group, number);
    struct co_receive_block *block = op == NULL ? NULL : co_operation_block(op, from);
    if (block != NULL && op->state == 0) {
        co_operation_all_sent(op, block);
        co_group_activate(group);
    }
}

static void control_dispatch(struct co_mcast_group *group, const struct co_control *control, const uint8_t *body)
{
    switch (control->type) {
    case CO_CONTROL_ABORT:
        co_group_abort(group, -ECONNRESET);
        break;
    case CO_CONTROL_ACK:
        co_ack_receive(group, control->source, control, body);
        break;
    case CO_CONTROL_ACK_REQUEST:
        ack_request_take(group, control);
        break;
    case CO_CONTROL_NACK:
        nack_take(group, control, body);
        break;
    case CO_CONTROL_NACK_DEFERRED:
        co_nack_deferred_receive(group, control, body);
        break;
    case CO_CONTROL_READ_OFFER:
        co_rdma_repair_receive_offer(group, control, body);
        break;
    case CO_CONTROL_END_OF_BLOCK:
        end_of_block_take(group, control->source, control->operation);
        break;
    case CO_CONTROL_CONTRIBUTION_REQUEST:
        if (co_collect_request_take(group, control) < 0) {
            co_group_members_disagree(group);
        }
        break;
    case CO_CONTROL_SKIPPED:
        co_operation_is_skipped(group, control->source, control->operation);
        break;
    case CO_CONTROL_TOKEN:
        token_take(group, control->operation);
        break;
    default:
        co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    }
}

static void team_control_take(struct co_mcast *mcast, struct co_mcast_seed *seed, const struct co_control *control,
                              const uint8_t *body)
{
    struct co_mcast_group *group = co_seed_group(mcast, seed);
    if (group == NULL) {
        if (seed->broken != 0 && control->type != CO_CONTROL_ABORT) {
            co_seed_send_broken(mcast, seed, control->source);
        }
        return;
    }
    if (!co_datagram_is_rightful(group, control, body)) {
        co_counter_add(CO_COUNT_DROP_STRAY, 1);
        return;
    }
    if (group->broken != 0 && control->type != CO_CONTROL_ABORT) {
        co_control_send_member(group, control->source, CO_CONTROL_ABORT, 0, 0, NULL, 0);
        return;
    }
    control_dispatch(group, control, body);
}

void co_control_receive(struct co_mcast *mcast, const uint8_t *data, size_t bytes)
{
    struct co_verified_control verified;
    if (!co_datagram_verify_control(mcast, &verified, data, bytes)) {
        return;
    }
    co_counter_add(CO_COUNT_CONTROL_RECEIVED, 1);
    mcast->events++;
    mcast->peers[verified.rank].alive_ns = mcast->now_ns;
    co_dead_peers_heard(mcast, verified.rank);
    if (verified.seed == NULL) {
        co_probe_take(mcast, &verified.control);
    } else {
        team_control_take(mcast, verified.seed, &verified.control, data + CO_WIRE_HEAD_BYTES);
    }
}
