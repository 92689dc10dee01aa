// SPDX-License-Identifier: BSD-3-Clause
//
// Ends operations by silence, only where silence is proof: peers that always answer, and one of them whose block, or
// contribution to a collector, has begun to arrive. Nothing may come of it for long because somebody else is late, who
// holds the source back; so the source is asked, and any answer is a sign of life. Warm.
#include <errno.h>

#include "mcast/endpoint.h"

#define ASK_AFTER 8  // parts of the deadline after which a silent source is asked, and
#define ASK_EVERY 64 // how often: many questions and answers would have to be lost

// Asks on the way, when the silence has lasted for long.
static bool is_silent(const struct co_mcast_op *op, int source)
{
    struct co_mcast *mcast = op->group->mcast;
    struct co_peer *peer = &mcast->peers[op->group->members[source]];
    uint64_t deadline_ns = mcast->config.deadline_ns;
    uint64_t last_ns = op->last_event_ns > peer->alive_ns ? op->last_event_ns : peer->alive_ns;
    uint64_t silence_ns = mcast->now_ns - last_ns;
    if (silence_ns > deadline_ns / ASK_AFTER && mcast->now_ns - peer->asked_ns > deadline_ns / ASK_EVERY) {
        peer->asked_ns = mcast->now_ns;
        co_control_send_member(op->group, source, CO_CONTROL_NUDGE, CO_NUDGE_NO_SOURCE, 0, NULL, 0);
    }
    return silence_ns > deadline_ns;
}

static bool has_begun(const struct co_receive_block *block)
{
    return block->count > 0 && !co_receive_block_is_complete(block);
}

static bool is_given_up(const struct co_mcast_op *op)
{
    bool gives_up = false;
    for (int i = 0; i < op->block_count; i++) {
        gives_up = gives_up || (has_begun(&op->blocks[i]) && is_silent(op, co_operation_source(op, i)));
    }
    for (int member = 0; op->parts_missing > 0 && member < op->group->count; member++) {
        gives_up = gives_up || (has_begun(&op->parts[member]) && is_silent(op, member));
    }
    return gives_up;
}

void co_deadline_look(struct co_mcast_group *group)
{
    const struct co_mcast_config *config = &group->mcast->config;
    if (!config->peers_answer || config->deadline_ns == 0) {
        return;
    }
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->state == 0 && is_given_up(op)) {
            co_operation_fail(op, -ETIMEDOUT);
        }
    }
}
