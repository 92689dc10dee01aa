// SPDX-License-Identifier: BSD-3-Clause
#include "mcast_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/mcast_receive.h"
#include "mcast/receive/early_chunks.h"
#include "mcast/receive/placement.h"
#include "mcast/repair/retransmit.h"
#include "mcast/send/control_send.h"
#include "mcast/state/endpoint.h"

void inside_deliver(struct co_mcast *mcast, const struct co_arrival *arrivals, unsigned count)
{
    co_mcast_deliver(mcast, arrivals, count);
}

void inside_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane)
{
    co_mcast_deliver_lane(mcast, lane);
}

bool inside_take_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes)
{
    return co_mcast_take_chunk(op, chunk, payload, bytes);
}

void inside_receive_nack(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body)
{
    co_nack_receive(group, from, control, body);
}

void inside_retransmit(struct co_mcast *mcast)
{
    co_retransmit_progress(mcast);
}

void inside_count_placed(struct co_mcast *mcast)
{
    co_placement_count(mcast);
}

void inside_send_control(struct co_mcast_group *group, int to, enum co_control_type type, uint32_t operation,
                         unsigned entries, const uint8_t *body, size_t body_bytes)
{
    co_control_send_member(group, to, type, operation, entries, body, body_bytes);
}

int inside_early_queues(void)
{
    return CO_EARLY_QUEUES;
}

size_t inside_kept_bytes(const struct co_mcast *mcast)
{
    return mcast->kept.in_use;
}

size_t inside_unheard_bytes(const struct co_mcast *mcast)
{
    return mcast->unheard_bytes;
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

void inside_set_unheard(struct co_mcast *mcast, int rank)
{
    mcast->peers[rank].was_heard = false;
}

void inside_set_dead(struct co_mcast *mcast, int rank)
{
    mcast->peers[rank].is_dead = true;
    mcast->dead_peers++;
}

void inside_require_few_left(const struct co_mcast *mcast)
{
    assert_int_equal(mcast->kept.in_use, 0);
    assert_int_equal(mcast->bitmap_bytes, 0);
    assert_int_equal(mcast->early.in_use, 0);
    assert_in_range(mcast->lingering_bytes, 0, CO_LINGERING_BYTES);
    assert_in_range(mcast->seeds.count, 1, 8); // alike ones share their place
}

void inside_require_nothing_left(const struct co_mcast *mcast, bool is_whole)
{
    assert_int_equal(mcast->kept.in_use, 0);
    assert_int_equal(mcast->repair_head, mcast->repair_tail);
    size_t early_bytes = sizeof(struct co_early_chunk) + mcast->config.chunk_bytes;
    assert_true(mcast->early.high_water * early_bytes <= mcast->config.staging_bytes / 2 + early_bytes);
    if (is_whole) {
        assert_int_equal(mcast->early.in_use, 0);
    }
}

unsigned inside_early_nacks_most(void)
{
    return CO_EARLY_NACKS;
}

unsigned inside_early_nacks(const struct co_mcast_group *group)
{
    unsigned count = 0;
    for (const struct co_early_nack *early = group->early_nacks; early != NULL; early = early->next) {
        count++;
    }
    return count;
}

bool inside_has_early_nack(const struct co_mcast_group *group, uint32_t operation)
{
    const struct co_early_nack *early = group->early_nacks;
    while (early != NULL && early->operation != operation) {
        early = early->next;
    }
    return early != NULL;
}

struct co_mcast_seed *inside_seed(const struct co_mcast_group *group)
{
    return group->seed;
}

int inside_group_error(const struct co_mcast_group *group)
{
    return group->broken;
}

bool inside_is_credited(const struct co_mcast_group *group)
{
    return group->window.sent == group->window.credited;
}

uint32_t inside_uncredited(const struct co_mcast_group *group)
{
    return group->window.sent - group->window.credited;
}

uint32_t inside_unheard(const struct co_mcast_group *group)
{
    return group->window.sent - group->window.heard;
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
