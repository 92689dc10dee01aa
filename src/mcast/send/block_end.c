// SPDX-License-Identifier: BSD-3-Clause
//
// A longer block ends with a word to all, that it has left: receivers then need no timer to know that a missing tail is
// lost. The first chunk of the source's next block says the same, so a sender whose blocks follow each other at once,
// with nothing lost, keeps the word back for as long as its silence tells nobody anything. Where nothing is heard of
// the last chunk the word is repeated (tail loss probes, RFC 8985). Warm.
#include "mcast/send/block_end.h"

#include "mcast/send/control_send.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/group.h"
#include "mcast/state/operation.h"

#define AGAIN_MOST 6     // times: then silence tells
#define WATCHED 4        // blocks
#define UNLOST_BLOCKS 64 // in a row: then nothing seems to be lost on this path

void co_block_end_say(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    struct co_mcast *mcast = group->mcast;
    struct co_destination to = {CO_TO_GROUP, co_mcast_subgroup(mcast, op->send_chunks - 1)};
    op->owes_end =
        co_control_send(mcast, group->team_id, group->self, to, CO_CONTROL_END_OF_BLOCK, op->number, 0, NULL, 0) == 0;
    op->ends += !op->owes_end;
    op->end_said_ns = mcast->now_ns;
    mcast->wants_write = mcast->wants_write || op->owes_end;
}

void co_block_end_left(struct co_mcast_op *op)
{
    struct co_mcast_group *group = op->group;
    op->end_at = group->window.sent;
    group->block_left_ns = group->mcast->now_ns;
    if (op->send_chunks < CO_WIRE_ANNOUNCED_CHUNKS) {
        return;
    }
    if (group->blocks_follow && group->unlost_blocks >= UNLOST_BLOCKS) {
        group->end_kept = op;
        return;
    }
    group->unlost_blocks++;
    co_block_end_say(op);
}

// Nothing was heard for one, two, four... times the patience, and as much has passed since it was said: who was away
// for longer than all of these says it once.
static uint64_t again_due_ns(const struct co_mcast_op *op)
{
    struct co_send_window *window = &op->group->window;
    uint32_t senders = (uint32_t)co_operation_senders(op);
    if (op->ends > AGAIN_MOST || op->owes_end) {
        return CO_NEVER;
    }
    uint64_t patience_ns = co_send_window_patience_ns(window, senders);
    uint64_t silent_ns = co_send_window_overdue_ns(window, senders) - patience_ns + (patience_ns << (op->ends - 1));
    uint64_t said_ns = op->end_said_ns + (op->ends < 2 ? patience_ns : patience_ns << (op->ends - 2));
    return silent_ns > said_ns ? silent_ns : said_ns;
}

// The word that was kept back, and no block has followed.
static void kept_due(struct co_mcast_group *group)
{
    struct co_mcast_op *op = group->end_kept;
    uint64_t due_ns = group->block_left_ns + group->mcast->config.cutoff_ns;
    if (op == NULL) {
        return;
    }
    bool is_heard = !co_serial_before(group->window.heard, op->end_at);
    if (!is_heard && due_ns > group->mcast->now_ns) {
        group->end_due_ns = due_ns;
        return;
    }
    group->end_kept = NULL;
    if (!is_heard) {
        co_block_end_say(op);
    }
}

void co_block_ends_due(struct co_mcast_group *group)
{
    unsigned unheard = 0;
    group->end_due_ns = CO_NEVER;
    kept_due(group);
    for (struct co_mcast_op *op = co_operations_unfinished(group); op != NULL && unheard < WATCHED; op = op->next) {
        if (op->state < 0 || group->end_kept == op || !co_block_end_is_watched(op)) {
            continue;
        }
        if (again_due_ns(op) <= group->mcast->now_ns) {
            co_block_end_say(op);
        }
        uint64_t due_ns = again_due_ns(op);
        group->end_due_ns = due_ns < group->end_due_ns ? due_ns : group->end_due_ns;
        unheard++;
    }
}
