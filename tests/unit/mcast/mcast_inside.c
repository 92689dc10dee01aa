// SPDX-License-Identifier: BSD-3-Clause
#include "mcast_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/receive/early_chunks.h"
#include "mcast/state/endpoint.h"

size_t inside_kept_bytes(const struct co_mcast *mcast)
{
    return mcast->kept_bytes;
}

size_t inside_bitmap_bytes(const struct co_mcast *mcast)
{
    return mcast->bitmap_bytes;
}

size_t inside_staged(const struct co_mcast *mcast)
{
    return mcast->early.in_use;
}

size_t inside_seeds(const struct co_mcast *mcast)
{
    return mcast->seeds.count;
}

int inside_dead_peers(const struct co_mcast *mcast)
{
    return mcast->dead_peers;
}

uint64_t inside_controls_sent(const struct co_mcast *mcast)
{
    return mcast->control_sequence;
}

enum co_liveness_proof inside_liveness_proof(const struct co_mcast *mcast)
{
    return mcast->config.liveness_proof;
}

void inside_set_deadline(struct co_mcast *mcast, uint64_t deadline_ns)
{
    mcast->config.deadline_ns = deadline_ns;
}

void inside_require_few_left(const struct co_mcast *mcast)
{
    assert_int_equal(mcast->kept_bytes, 0);
    assert_int_equal(mcast->bitmap_bytes, 0);
    assert_int_equal(mcast->early.in_use, 0);
    assert_in_range(mcast->lingering_bytes, 0, CO_LINGERING_BYTES);
    assert_in_range(mcast->seeds.count, 1, 8); // alike ones share their place
}

void inside_require_nothing_left(const struct co_mcast *mcast, bool is_whole)
{
    assert_int_equal(mcast->kept_bytes, 0);
    assert_int_equal(mcast->repair_head, mcast->repair_tail);
    size_t early_bytes = sizeof(struct co_early_chunk) + mcast->config.chunk_bytes;
    assert_true(mcast->early.high_water * early_bytes <= mcast->config.staging_bytes / 2 + early_bytes);
    if (is_whole) {
        assert_int_equal(mcast->early.in_use, 0);
    }
}

int inside_group_error(const struct co_mcast_group *group)
{
    return group->broken;
}

bool inside_is_credited(const struct co_mcast_group *group)
{
    return group->window.sent == group->window.credited;
}

void inside_require_group_at_rest(const struct co_mcast_group *group, bool is_whole)
{
    assert_null(group->oldest);
    assert_false(is_whole && group->broken != 0);
    assert_false(is_whole && co_serial_before(group->window.sent, group->window.credited));
}

void inside_age_group(struct co_mcast_group *group, uint32_t operations, uint32_t chunks)
{
    group->next_operation = group->right_done_before = operations;
    for (int i = 0; i < group->count; i++) {
        group->received[i] = group->reported[i] = chunks;
        group->latest[i] = operations;
        group->child_received[i] = group->child_heard[i] = chunks;
    }
    group->window.sent = group->window.credited = group->window.heard = group->window.judged_at = chunks;
    group->requests = group->answered = chunks;
    group->lost = chunks;
    for (int i = 0; i < group->count; i++) {
        group->lost_known[i] = group->lost_judged[i] = chunks;
    }
}

void inside_number_operations(struct co_mcast_group *group, uint32_t next)
{
    group->started = group->next_operation = group->right_done_before = next;
    for (int i = 0; i < group->count; i++) {
        group->latest[i] = next - 1;
    }
}

void inside_keep_report(struct co_mcast_group *group)
{
    group->unreported_done = 0;
    group->report_due_ns = CO_NEVER;
}

bool inside_suspects(const struct co_mcast_group *group)
{
    return group->suspect != 0;
}

uint64_t inside_probed_ns(const struct co_mcast *mcast, int rank)
{
    return mcast->peers[rank].probed_ns;
}

bool inside_is_half_here(const struct co_mcast_op *op, int contributor)
{
    const struct co_receive_block *part = &op->parts[contributor];
    return part->count > 0 && part->count < part->chunks;
}
