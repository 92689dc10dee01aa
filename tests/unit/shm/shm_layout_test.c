// SPDX-License-Identifier: BSD-3-Clause
//
// The shape of a team's area and of a node's segment: nothing overlaps, everything fits, and the offsets that all
// ranks must agree on are the ones of this version.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shm/shm_layout.h"

static void check_shape(int count, size_t team_bytes)
{
    struct co_shm_shape shape;
    size_t end = sizeof(struct co_shm_control);

    co_shm_shape_compute(&shape, count, team_bytes);
    for (unsigned i = 0; i < CO_SHM_RINGS; i++) {
        const struct co_shm_ring_shape *ring = &shape.ring[i];
        uint64_t slots = ring->mask + 1;
        assert_int_equal(slots & ring->mask, 0);
        assert_true(slots >= 4); // less, and a stream's reader finds no quarter of them
        assert_int_equal(ring->quantum & (ring->quantum - 1), 0);
        assert_true(ring->quantum >= 1 && ring->quantum <= slots / 2);
        assert_true(ring->offset >= end);
        assert_int_equal(ring->offset % CO_CACHE_LINE, 0);
        assert_int_equal(ring->stride % CO_CACHE_LINE, 0);
        assert_true(ring->head >= (i == CO_SHM_BULK ? 0 : sizeof(uint64_t)));
        assert_true(ring->head + ring->payload <= ring->stride);
        assert_true(ring->bytes >= (size_t)slots * ring->stride);
        end = ring->offset + ring->bytes;
    }
    assert_true(shape.ring[CO_SHM_MAIL].payload > shape.ring[CO_SHM_LINES].payload);
    assert_int_equal(shape.ring[CO_SHM_BULK].payload, CO_SHM_FRAGMENT); // a slot has no head in it
    uint64_t heads = shape.ring[CO_SHM_BULK].mask + 1;
    bool are_here = shape.heads == offsetof(struct co_shm_control, heads) && heads == CO_SHM_HEADS_HERE;
    assert_true(are_here || shape.heads == shape.ring[CO_SHM_BULK].offset + (size_t)heads * CO_SHM_FRAGMENT);
    assert_true(are_here || shape.heads + (size_t)heads * sizeof(struct co_shm_head) <= end);
    assert_true(end <= shape.lane_bytes);
    assert_int_equal(shape.lane_bytes % CO_LINE_PAIR, 0);
    assert_true(shape.area_bytes >= shape.lane_bytes * (size_t)count);
    assert_true(shape.area_bytes < shape.lane_bytes * (size_t)count + CO_SHM_PAGE);
    assert_int_equal(shape.area_bytes % CO_SHM_PAGE, 0);
}

// The promise: all that a node spends on a communicator, its members' heaps and its entry included.
static size_t node_bytes(int count, size_t team_bytes)
{
    struct co_shm_shape shape;

    co_shm_shape_compute(&shape, count, team_bytes);
    return shape.area_bytes + sizeof(struct co_shm_entry) + (size_t)count * CO_SHM_MEMBER_HEAP;
}

static void a_team_keeps_within_its_bytes(void **state)
{
    (void)state;
    for (int count = 2; count <= 8; count++) {
        assert_true(node_bytes(count, 65536) <= 65536);
        assert_true(node_bytes(count, 65536) >= 65536 / 4 * 3); // and makes use of them
    }
    // As many members as you like, with 8 KiB each; less does not make them smaller. Areas are whole pages.
    for (int count = 4; count <= 128; count++) {
        assert_true(node_bytes(count, 16384) < (size_t)count * 8192 + CO_SHM_PAGE);
    }
    for (int count = 4; count <= 128; count += 4) {
        for (size_t team_bytes = (size_t)count * 8192; team_bytes <= (size_t)4 << 20; team_bytes *= 2) {
            assert_true(node_bytes(count, team_bytes) <= team_bytes);
        }
    }
    assert_int_equal(node_bytes(16, 65536), 16 * (CO_SHM_LANE_MIN + CO_SHM_MEMBER_HEAP) + sizeof(struct co_shm_entry));
}

// With more to spend no ring gets shallower.
static void more_bytes_make_deeper_rings(void **state)
{
    (void)state;
    for (int count = 2; count <= 64; count++) {
        struct co_shm_shape before, shape;
        co_shm_shape_compute(&before, count, 16384);
        for (size_t team_bytes = 16384; team_bytes <= (size_t)4 << 20; team_bytes *= 2) {
            co_shm_shape_compute(&shape, count, team_bytes);
            assert_true(shape.ring[CO_SHM_LINES].mask >= before.ring[CO_SHM_LINES].mask);
            assert_true(shape.ring[CO_SHM_MAIL].mask >= before.ring[CO_SHM_MAIL].mask);
            before = shape;
        }
        assert_int_equal(shape.ring[CO_SHM_LINES].mask, 63);
    }
}

static void rings_do_not_overlap(void **state)
{
    (void)state;
    for (size_t team_bytes = 1; team_bytes <= (size_t)16 << 20; team_bytes = team_bytes * 3 + 1) {
        for (int count = 2; count <= 300; count += count < 20 ? 1 : 37) {
            check_shape(count, team_bytes);
        }
    }
}

static void the_segment_holds_every_team(void **state)
{
    (void)state;
    for (int size = 1; size <= 260; size += size < 10 ? 1 : 50) {
        struct co_shm_plan plan;
        co_shm_plan_compute(&plan, size, 1 << 20, 8 << 20, CO_SHM_ENTRIES_MAX);
        assert_true(plan.entries >= CO_SHM_ENTRIES_GOOD && plan.entries <= CO_SHM_ENTRIES_MAX);
        assert_true(plan.process_offset >= sizeof(struct co_shm_header));
        assert_true(plan.entry_offset >= plan.process_offset + (size_t)size * sizeof(struct co_shm_process));
        assert_true(plan.loan_offset >= plan.entry_offset + plan.entries * sizeof(struct co_shm_entry));
        assert_true(plan.area_offset >= plan.loan_offset + plan.loans * sizeof(struct co_shm_loan));
        assert_int_equal(plan.loan_offset % CO_SHM_PAGE, 0);
        assert_int_equal(plan.area_offset % CO_SHM_PAGE, 0);
        assert_int_equal(plan.staging_offset, plan.area_offset + plan.entries * plan.area_bytes);
        assert_int_equal(plan.loans * CO_SHM_LOAN_BYTES, 8 << 20);
        assert_int_equal(plan.bytes, plan.staging_offset + plan.loans * CO_SHM_LOAN_ROOM);
        for (int count = 1; count <= size; count++) {
            struct co_shm_shape shape;
            co_shm_shape_compute(&shape, count, 1 << 20);
            assert_true(shape.area_bytes <= plan.area_bytes);
        }
    }
}

static void a_small_memory_gets_few_entries(void **state)
{
    struct co_shm_plan plan;

    (void)state;
    co_shm_plan_compute(&plan, 4, 65536, CO_SHM_LOAN_BYTES - 1, 32);
    assert_int_equal(plan.entries, 32);
    assert_int_equal(plan.loans, 0); // a part of a loan is none
    assert_int_equal(plan.bytes, plan.staging_offset);
    assert_true(plan.bytes < (size_t)16 << 20);
}

// Changing any of these needs a new CO_SHM_VERSION.
static void version_fourteen_is_as_it_was(void **state)
{
    struct co_shm_shape shape;

    (void)state;
    assert_int_equal(CO_SHM_VERSION, 15);
    assert_int_equal(offsetof(struct co_shm_header, measured), 48 + CO_SHM_ENTRIES_MAX / 8);
    assert_int_equal(offsetof(struct co_shm_header, taken_areas), 48);
    co_shm_shape_compute(&shape, 4, 1 << 20);
    assert_int_equal(shape.ring[CO_SHM_LINES].offset, 512);
    assert_int_equal(shape.ring[CO_SHM_LINES].payload, 120);
    assert_int_equal(shape.ring[CO_SHM_MAIL].offset, 512 + 64 * 128);
    assert_int_equal(shape.ring[CO_SHM_MAIL].payload, 632);
    assert_int_equal(shape.ring[CO_SHM_BULK].offset, 512 + 64 * 128 + 16 * 640);
    assert_int_equal(CO_SHM_LOAN_BYTES, 512 * CO_SHM_FRAGMENT);
    assert_int_equal(CO_SHM_LOAN_ROOM, 512 * (512 + 16));
    assert_int_equal(shape.ring[CO_SHM_BULK].mask, 255);
    assert_int_equal(shape.lane_bytes, 512 + 64 * 128 + 16 * 640 + 256 * (512 + 16));
    assert_int_equal(offsetof(struct co_shm_header, version), 8);
    assert_int_equal(offsetof(struct co_shm_process, probe_address), 16);
    assert_int_equal(offsetof(struct co_shm_process, started), 32);
    assert_int_equal(offsetof(struct co_shm_entry, let_go), 8);
    assert_int_equal(offsetof(struct co_shm_entry, touched), 16);
    assert_int_equal(offsetof(struct co_shm_entry, first), 28);
    assert_int_equal(offsetof(struct co_shm_control, come_to), 3 * 8);
    assert_int_equal(CO_SHM_CALL_BITS, 2);
    assert_int_equal(offsetof(struct co_shm_control, reply), 3 * 128 + 8);
    assert_int_equal(offsetof(struct co_shm_control, copied), 2 * 128 + 8);
    assert_int_equal(offsetof(struct co_shm_control, memory), 128 + 5 * 8);
    assert_int_equal(offsetof(struct co_shm_control, heads), 128 + 8 * 8);
    assert_int_equal(sizeof(struct co_shm_head), 2 * 8);
    assert_int_equal(offsetof(struct co_shm_control, touched), 128 + 6 * 8);
    assert_int_equal(offsetof(struct co_shm_control, way), 64);
    assert_int_equal(offsetof(struct co_shm_control, took_ns), 64 + 8);
    assert_int_equal(offsetof(struct co_shm_control, bcast_began), 64 + 3 * 8);
    assert_int_equal(offsetof(struct co_shm_control, bcast_ended), 64 + 4 * 8);
    assert_int_equal(offsetof(struct co_shm_control, ballot), 2 * 128 + 64);
    assert_int_equal(offsetof(struct co_shm_control, answer), 3 * 128 + 64);
    assert_int_equal(offsetof(struct co_shm_control, ruled), 3 * 128 + 64 + 7 * 8);
    assert_int_equal(CO_SHM_LENGTH_BITS, 12);
    assert_int_equal(offsetof(struct co_shm_loan, end), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_do_not_overlap),
        cmocka_unit_test(the_segment_holds_every_team),
        cmocka_unit_test(a_small_memory_gets_few_entries),
        cmocka_unit_test(a_team_keeps_within_its_bytes),
        cmocka_unit_test(more_bytes_make_deeper_rings),
        cmocka_unit_test(version_fourteen_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
