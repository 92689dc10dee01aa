// SPDX-License-Identifier: BSD-3-Clause
//
// Ends operations by silence, only where silence is proof: where all peers answer by themselves, whatever their program
// does. Nothing may come of an operation for long because somebody is late; so the members are asked, outside the
// group, of which a late one may know nothing yet, and any answer is a sign of life. Who gives none for the deadline
// has gone without a word: a host without power, a cut link. Warm.
#include <errno.h>

#include "mcast/endpoint.h"

#define ASK_AFTER 8   // parts of the deadline without an event, after which members are asked, and
#define ASK_EVERY 64  // how often: many questions or answers would have to be lost
#define ASK_AT_ONCE 8 // members, in turn: all of a small group each time

static struct co_peer *peer_of(const struct co_mcast_group *group, int member)
{
    return &group->mcast->peers[group->members[member]];
}

static void ask(struct co_mcast_group *group, int member)
{
    struct co_mcast *mcast = group->mcast;
    struct co_peer *peer = peer_of(group, member);
    struct co_destination to = {CO_TO_PEER, (unsigned)group->members[member]};
    co_control_send(mcast, 0, mcast->config.world_rank, to, CO_CONTROL_PROBE, 0, 0, NULL, 0);
    peer->unanswered_ns = peer->unanswered_ns == 0 ? mcast->now_ns : peer->unanswered_ns;
}

static bool owes_answer(struct co_peer *peer)
{
    if (peer->alive_ns >= peer->unanswered_ns || peer->heard_ns >= peer->unanswered_ns) {
        peer->unanswered_ns = 0;
    }
    return peer->unanswered_ns != 0;
}

// The next members in turn. One that owes an answer is asked each time from then on.
static void ask_some(struct co_mcast_group *group)
{
    for (int i = 0; i < ASK_AT_ONCE && i < group->count; i++) {
        int member = group->next_asked;
        struct co_peer *peer = peer_of(group, member);
        group->next_asked = (member + 1) % group->count;
        if (member == group->self || peer->is_dead) {
            continue;
        }
        if (owes_answer(peer) && group->suspect == 0) {
            group->suspect = member + 1;
            group->suspect_ns = group->mcast->now_ns;
        }
        ask(group, member);
    }
}

// True: it has not answered for the deadline.
static bool ask_suspect(struct co_mcast_group *group)
{
    if (group->suspect == 0) {
        return false;
    }
    if (!owes_answer(peer_of(group, group->suspect - 1))) {
        group->suspect = 0;
        return false;
    }
    ask(group, group->suspect - 1);
    return group->mcast->now_ns - group->suspect_ns > group->mcast->config.deadline_ns;
}

static bool is_active(const struct co_mcast_group *group)
{
    const struct co_mcast_config *config = &group->mcast->config;
    return config->peers_answer && config->deadline_ns != 0 && group->count > 1;
}

uint64_t co_deadline_due_ns(const struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER, wait_ns = group->mcast->config.deadline_ns / ASK_AFTER;
    for (const struct co_mcast_op *op = group->oldest; op != NULL && is_active(group); op = op->next) {
        if (op->state == 0 && op->last_event_ns + wait_ns < due) {
            due = op->last_event_ns + wait_ns;
        }
    }
    return due == CO_NEVER || due > group->ask_due_ns ? due : group->ask_due_ns;
}

void co_deadline_look(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    if (!is_active(group) || mcast->now_ns < group->ask_due_ns) { // looked a moment ago: this is on every turn's way
        return;
    }
    bool is_due = mcast->now_ns >= co_deadline_due_ns(group);
    group->ask_due_ns = mcast->now_ns + mcast->config.deadline_ns / ASK_EVERY;
    if (!is_due) {
        return;
    }
    bool is_gone = ask_suspect(group);
    ask_some(group);
    if (!is_gone) {
        return;
    }
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        if (op->state == 0) {
            co_operation_fail(op, -ETIMEDOUT);
        }
    }
}
