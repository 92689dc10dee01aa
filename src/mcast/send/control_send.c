// SPDX-License-Identifier: BSD-3-Clause
//
// Seals and sends control messages. Each carries the sending rank's next sequence, which is its nonce and lets the
// receiver take it once. A message that the local queue refuses is gone: every control message is asked for again by
// whoever needs it. Warm.
#include "base/counters.h"
#include "mcast/state/endpoint.h"
#include "mcast/send/control_send.h"

#define ANSWER_UNKNOWN_NS UINT64_C(1000000) // before the first answer
#define ANSWER_LEAST_NS UINT64_C(500000)
#define ANSWER_MOST_NS UINT64_C(25000000)

uint64_t co_control_timeout_ns(const struct co_mcast *mcast)
{
    const struct co_rtt *rtt = &mcast->control_rtt;
    return rtt->smoothed_ns == 0 ? ANSWER_UNKNOWN_NS : co_rtt_timeout_ns(rtt, ANSWER_LEAST_NS, ANSWER_MOST_NS);
}

static int send_control(struct co_mcast *mcast, struct co_control control, uint64_t team_id, struct co_destination to,
                        bool is_said_once, const void *body, size_t body_bytes)
{
    uint8_t head[CO_WIRE_HEAD_BYTES], tag[CO_AUTH_TAG_MAX], nonce[CO_AUTH_NONCE_BYTES];
    control.team = (uint32_t)team_id;
    control.sequence = ++mcast->control_sequence;
    control.entries = co_wire_may_be_for_all(control.type) ? to.kind == CO_TO_PEER : control.entries;
    co_wire_control_encode(head, &control, body_bytes);
    co_wire_control_nonce(nonce, &control, to.index);
    co_auth_seal(mcast->config.auth, CO_AUTH_CONTROL, mcast->config.world_rank, team_id, nonce, head, sizeof(head),
                 body, body_bytes, tag);
    struct co_tx_datagram datagram = {.head = head,
                                      .payload = body,
                                      .tail = tag,
                                      .head_bytes = sizeof(head),
                                      .payload_bytes = (uint32_t)body_bytes,
                                      .tail_bytes = (uint32_t)mcast->tag_bytes,
                                      .by_connection = is_said_once};
    int sent = mcast->transport->ops->send(mcast->transport, to, &datagram, 1);
    if (sent > 0) {
        co_counter_add(CO_COUNT_CONTROL_SENT, 1);
    }
    return sent;
}

int co_control_send(struct co_mcast *mcast, uint64_t team_id, int sender_index, struct co_destination to,
                    enum co_control_type type, uint32_t operation, uint16_t entries, const void *body,
                    size_t body_bytes)
{
    struct co_control control = {
        .type = type, .source = (uint16_t)sender_index, .entries = entries, .operation = operation};
    return send_control(mcast, control, team_id, to, false, body, body_bytes);
}

static int send_member(struct co_mcast_group *group, int member, struct co_control control, bool is_said_once,
                       const void *body, size_t body_bytes)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)group->members[member]};
    control.source = (uint16_t)group->self;
    return send_control(group->mcast, control, group->team_id, to, is_said_once, body, body_bytes);
}

int co_control_send_member(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                           uint16_t entries, const void *body, size_t body_bytes)
{
    struct co_control control = {.type = type, .entries = entries, .operation = operation};
    return send_member(group, member, control, false, body, body_bytes);
}

int co_control_send_once(struct co_mcast_group *group, int member, enum co_control_type type, uint32_t operation,
                         uint16_t entries, const void *body, size_t body_bytes)
{
    struct co_control control = {.type = type, .entries = entries, .operation = operation};
    return send_member(group, member, control, true, body, body_bytes);
}
