// SPDX-License-Identifier: BSD-3-Clause
//
// Whether operations end by silence, which is only where silence is proof. Nothing may come of an operation for long
// because somebody is late; so the members are asked, outside the group, of which a late one may know nothing yet.
// Where all ranks run threads they answer by themselves, whatever their program does. Elsewhere a member may be
// computing and its host is asked, whose kernel answers for it; the member itself now and then, because its host says
// when its process is gone. Who gives no sign of life for the deadline has gone without a word: a host without power, a
// cut link. The same holds for who is awaited outside of any group, by messages. Warm.
#include "base/clock.h"
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/liveness/liveness_deadline.h"
#include "mcast/send/control_send.h"

#define ASK_AFTER 8     // parts of the deadline without an event, after which members are asked, and
#define ASK_EVERY 64    // how often: many questions or answers would have to be lost
#define ASK_AT_ONCE 8   // members, in turn: all of a small group each time,
#define ASK_LEAST 3     // times, of who is given up,
#define AWAITED_LEAST 7 // or, without a group, more often than that, for answers are lost, too
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

// True: a question has left. Where its host is asked, the rank itself is when that was not done for `itself_ns`.
static bool ask(struct co_mcast *mcast, int rank, uint64_t itself_ns)
{
    struct co_peer *peer = &mcast->peers[rank];
    bool is_by_host = mcast->config.liveness_proof == CO_LIVENESS_PROOF_HOSTS;
    int asked = is_by_host ? mcast->transport->ops->host_ask(mcast->transport, rank) : 1;
    if (!is_by_host || mcast->now_ns - peer->probed_ns > itself_ns) {
        co_mcast_query_liveness(mcast, rank);
        peer->probed_ns = mcast->now_ns;
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

static bool ask_member(struct co_mcast_group *group, int member)
{
    return ask(group->mcast, group->members[member], group->mcast->config.deadline_ns);
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
        ask_member(group, member);
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
    group->suspect_asked += ask_member(group, group->suspect - 1);
    return now_ns - group->suspect_ns > deadline_ns && group->suspect_asked >= ASK_LEAST;
}

bool co_mcast_silence_is_proof(const struct co_mcast *mcast)
{
    return mcast->config.liveness_proof != CO_LIVENESS_PROOF_NONE && mcast->config.deadline_ns != 0;
}

static bool is_active(const struct co_mcast_group *group)
{
    return co_mcast_silence_is_proof(group->mcast) && group->count > 1;
}

uint64_t co_liveness_deadline_due_ns(const struct co_mcast_group *group)
{
    uint64_t due = CO_NEVER, wait_ns = group->mcast->config.deadline_ns / ASK_AFTER;
    for (const struct co_mcast_op *op = co_operations_unfinished(group); op != NULL && is_active(group);
         op = op->next) {
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

// Who waits looks now and then, and may be elsewhere for long: so much counts of the time since the last look.
static uint64_t time_looked(const struct co_mcast *mcast, const struct co_peer *peer)
{
    uint64_t most_ns = mcast->config.deadline_ns / ASK_AFTER, since_ns = mcast->now_ns - peer->awaited_ns;
    return since_ns < most_ns ? since_ns : most_ns;
}

// The peer itself is asked each time: its host says when its process is gone, or its own threads answer.
static bool await_answer(struct co_mcast *mcast, int rank)
{
    struct co_peer *peer = &mcast->peers[rank];
    hear_hosts(mcast);
    if (owes_answer(peer)) {
        peer->silent_ns += time_looked(mcast, peer);
    } else {
        peer->silent_ns = peer->awaited_asked = 0;
    }
    peer->awaited_ns = mcast->now_ns;
    peer->awaited_asked += ask(mcast, rank, 0);
    return peer->silent_ns > mcast->config.deadline_ns && peer->awaited_asked > AWAITED_LEAST;
}

bool co_mcast_await_peer(struct co_mcast *mcast, int rank, uint64_t now_ns, bool is_sure)
{
    struct co_peer *peer = &mcast->peers[rank];
    mcast->now_ns = now_ns;
    if (peer->is_dead && (is_sure || peer->was_heard)) {
        return true;
    }
    if (!co_mcast_silence_is_proof(mcast)) {
        co_mcast_query_liveness(mcast, rank);
        return false;
    }
    bool is_silent = await_answer(mcast, rank);
    if (is_silent) {
        co_log(CO_LOG_WARN, CO_SUBSYS_MCAST, "rank %d has given no sign of life for %lu s (CASTOFF_DEADLINE_S)", rank,
               (unsigned long)(peer->silent_ns / CO_NS_PER_S));
    }
    return is_silent;
}
