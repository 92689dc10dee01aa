// SPDX-License-Identifier: BSD-3-Clause
//
// The ways out of a group: broken, so that its operations fail and the others are told; closed by its program; freed. A
// closed group lingers while it keeps copies for its neighbour, and then among the closed ones that memory is left for,
// because a neighbour whose report was lost may still ask what we have. Cold.
#include "mcast/group_end.h"

#include <errno.h>
#include <stdlib.h>

#include "base/counters.h"
#include "mcast/ack/ack.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/operation_progress.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"

void co_group_free(struct co_mcast_group *group)
{
    co_early_drop_all(group);
    group->is_closing = true;
    co_retransmit_drop(group);
    co_seed_free(group->mcast, group->seed);
    free(group->trials);
    free(group->skips);
    free(group->members);
    free(group);
}

void co_group_linger(struct co_mcast_group *group)
{
    struct co_mcast *mcast = group->mcast;
    group->is_lingering = true;
    group->next_lingering = NULL;
    *mcast->lingering_end = group;
    mcast->lingering_end = &group->next_lingering;
    mcast->lingering_count++;
    mcast->lingering_bytes += group->storage_bytes;
    struct co_mcast_group *eldest = mcast->lingering_first;
    // An active one's turn comes with the next one.
    while (mcast->lingering_count > CO_LINGERING_GROUPS && mcast->lingering_bytes > CO_LINGERING_BYTES &&
           !eldest->is_active) {
        mcast->lingering_first = eldest->next_lingering;
        mcast->lingering_count--;
        mcast->lingering_bytes -= eldest->storage_bytes;
        co_group_free(eldest);
        eldest = mcast->lingering_first;
    }
}

void co_mcast_group_close(struct co_mcast_group *group)
{
    co_early_drop_all(group);
    group->is_closing = true;
    if (group->unreported_done > 0) {
        co_ack_send(group, group->left, 0);
    }
    co_group_activate(group); // progress moves it on to the lingering ones
}

// The team can do nothing more: every operation under way fails, and so will every later one. The others learn of it
// now, or by the answer to whatever they ask next.
void co_group_abort(struct co_mcast_group *group, int error)
{
    if (group->broken != 0) {
        return;
    }
    group->broken = error;
    for (struct co_mcast_op *op = group->oldest; op != NULL; op = op->next) {
        co_operation_fail(op, error);
        co_operation_right_has_it(op);
    }
    for (int i = 0; i < group->count; i++) {
        if (i != group->self && !group->mcast->peers[group->members[i]].is_dead) {
            co_control_send_member(group, i, CO_CONTROL_ABORT, 0, 0, NULL, 0);
        }
    }
    co_group_activate(group);
}

// Somebody waits for what nobody sends, here, there or elsewhere, and no operation of the group can end that: so all of
// them do.
void co_group_members_disagree(struct co_mcast_group *group)
{
    co_counter_add(CO_COUNT_DROP_MALFORMED, 1);
    co_group_abort(group, -EMSGSIZE);
}

void co_mcast_group_fail(struct co_mcast_group *group, int error)
{
    co_group_abort(group, error);
}

void co_seed_send_broken(struct co_mcast *mcast, const struct co_mcast_seed *seed, int member)
{
    struct co_destination to = {CO_TO_PEER, (unsigned)co_seed_rank(seed, member)};
    int self = co_seed_member(seed, mcast->config.world_rank);
    co_control_send(mcast, seed->team_id, self, to, CO_CONTROL_ABORT, 0, 0, NULL, 0);
}

void co_mcast_seed_fail(struct co_mcast *mcast, struct co_mcast_seed *seed, int error)
{
    if (seed->group != NULL) {
        co_group_abort(seed->group, error);
        return;
    }
    if (seed->broken != 0) {
        return;
    }
    seed->broken = error;
    for (int i = 0; i < (int)seed->count; i++) {
        int rank = co_seed_rank(seed, i);
        if (rank != mcast->config.world_rank && !mcast->peers[rank].is_dead) {
            co_seed_send_broken(mcast, seed, i);
        }
    }
}

void co_mcast_seed_close(struct co_mcast *mcast, struct co_mcast_seed *seed)
{
    // Who waits in what was skipped may ask yet.
    bool may_be_asked =
        seed->group == NULL && seed->broken == 0 && co_load_relaxed(&seed->skipped) != 0; // relaxed: its own
    if (seed->group != NULL || (may_be_asked && co_group_open(mcast, seed) == 0)) {
        co_mcast_group_close(seed->group);
    } else if (seed->broken == 0) {
        co_seed_free(mcast, seed);
    }
}
