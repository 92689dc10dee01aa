// SPDX-License-Identifier: BSD-3-Clause
//
// Whether operations end by silence, which is only where silence is proof. Nothing may come of an operation for long
// because somebody is late; so the members are asked, outside the group, of which a late one may know nothing yet.
// Where all ranks run threads they answer by themselves, whatever their program does. Elsewhere a member may be
// computing and its host is asked, whose kernel answers for it; the member itself now and then, because its host says
// when its process is gone. Who gives no sign of life for the deadline has gone without a word: a host without power, a
// cut link. Warm.
#include "base/clock.h"
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/liveness/liveness_deadline.h"
#include "mcast/send/control_send.h"

#define ASK_AFTER 8   // parts of the deadline without an event, after which members are asked, and
#define ASK_EVERY 64  // how often: many questions or answers would have to be lost
#define ASK_AT_ONCE 8 // members, in turn: all of a small group each time,
#define ASK_LEAST 3   // times, of who is given up
#define ASK_HOSTS_AT_ONCE (CO_TRANSPORT_HOSTS_ASKED / 2) // and hosts: the other half has time to answer

static struct co_peer *peer_of(const struct co_mcast_group *group, int member)
{
    return &group->mcast->peers[group->members[member]];
}

void co_mcast_query_liveness(struct co_mcast *mcast, int rank)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)rank};
    co_control_send(mcast, 0, mcast->config.world_rank, to, CO_CONTROL_PROBE, 0, 0, NULL, 0);
}

bool co_mcast_is_gone(const struct co_mcast *mcast, int rank)
{
    return mcast->peers[rank].is_dead;
}

static void ask_itself(struct co_mcast_group *group, int member)
{
    co_mcast_query_liveness(group->mcast, group->members[member]);
    peer_of(group, member)->probed_ns = group->mcast->now_ns;
}

// True: a question has left.
static bool ask(struct co_mcast_group *group, int member)
{
    struct co_mcast *mcast = group->mcast;
    struct co_peer *peer = peer_of(group, member);
    bool is_by_host = mcast->config.liveness_proof == CO_LIVENESS_PROOF_HOSTS;
    int asked = is_by_host ? mcast->transport->ops->host_ask(mcast->transport, group->members[member]) : 1;
    if (!is_by_host || mcast->now_ns - peer->probed_ns > mcast->config.deadline_ns) {
        ask_itself(group, member);
    }
    if (asked > 0 && peer->unanswered_ns == 0) {
        peer->unanswered_ns = mcast->now_ns;
    }
    return asked > 0;
}

static void hear_hosts(struct co_mcast *mcast)
{
    int rank;
    while (mcast->config.liveness_proof == CO_LIVENESS_PROOF_HOSTS &&
           (rank = mcast->transport->ops->host_told(mcast->transport)) >= 0) {
        mcast->peers[rank].alive_ns = mcast->now_ns;
    }
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
    int most = group->mcast->config.liveness_proof == CO_LIVENESS_PROOF_HOSTS ? ASK_HOSTS_AT_ONCE : ASK_AT_ONCE;
    for (int i = 0; i < most && i < group->count; i++) {
        int member = group->next_asked;
        struct co_peer *peer = peer_of(group, member);
        group->next_asked = (member + 1) % group->count;
        if (member == group->self || peer->is_dead) {
            continue;
        }
        if (owes_answer(peer) && group->suspect == 0) {
            group->suspect = member + 1;
            group->suspect_ns = group->mcast->now_ns;
            group->suspect_asked = 0;
        }
        ask(group, member);
    }
}

// True: it has not answered for the deadline. Time in which we were elsewhere and asked nothing does not count.
static bool ask_suspect(struct co_mcast_group *group)
{
    uint64_t now_ns = group->mcast->now_ns, deadline_ns = group->mcast->config.deadline_ns;
    if (group->suspect == 0) {
        return false;
    }
    if (!owes_answer(peer_of(group, group->suspect - 1))) {
        group->suspect = 0;
        return false;
    }
    if (now_ns - group->looked_ns > deadline_ns / ASK_AFTER) {
        group->suspect_ns = now_ns;
        group->suspect_asked = 0;
    }
    group->suspect_asked += ask(group, group->suspect - 1);
    return now_ns - group->suspect_ns > deadline_ns && group->suspect_asked >= ASK_LEAST;
}

static bool is_active(const struct co_mcast_group *group)
{
    const struct co_mcast_config *config = &group->mcast->config;
    return config->liveness_proof != CO_LIVENESS_PROOF_NONE && config->deadline_ns != 0 && group->count > 1;
}

uint64_t co_liveness_deadline_due_ns(const struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER, wait_ns = group->mcast->config.deadline_ns / ASK_AFTER;
    for (const struct co_mcast_op *op = group->oldest; op != NULL && is_active(group); op = op->next) {
        if (op->state == 0 && op->last_event_ns + wait_ns < due) {
            due = op->last_event_ns + wait_ns;
        }
    }
    return due == CO_NEVER || due > group->ask_due_ns ? due : group->ask_due_ns;
}

bool co_liveness_deadline_is_over(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    if (!is_active(group) || mcast->now_ns < group->ask_due_ns) { // looked a moment ago: this is on every turn's way
        return false;
    }
    bool is_due = mcast->now_ns >= co_liveness_deadline_due_ns(group);
    group->ask_due_ns = mcast->now_ns + mcast->config.deadline_ns / ASK_EVERY;
    if (!is_due) {
        return false;
    }
    hear_hosts(mcast);
    bool is_gone = ask_suspect(group);
    ask_some(group);
    group->looked_ns = mcast->now_ns;
    if (is_gone) {
        co_log(CO_LOG_WARN, CO_SUBSYS_MCAST, "rank %d has given no sign of life for %lu s (CASTOFF_DEADLINE_S)",
               group->members[group->suspect - 1], (unsigned long)((mcast->now_ns - group->suspect_ns) / CO_NS_PER_S));
    }
    return is_gone;
}
