// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel's second stage beside a plain one: random arrivals, right ones, duplicates, other lengths, heads
// and PSNs. What it has marked, queued and counted is what the plain one says, and nothing else has changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <endian.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mcast/receive/datapath.h"

enum { BATCH = 64, TURNS = 3000, CHUNKS_MAX = 200, CHUNK = 64, TAG = 8 };

static uint64_t state_of_dice = UINT64_C(88172645463325252);

static uint32_t dice(uint32_t sides)
{
    state_of_dice ^= state_of_dice << 13;
    state_of_dice ^= state_of_dice >> 7;
    state_of_dice ^= state_of_dice << 17;
    return (uint32_t)(state_of_dice >> 33) % sides;
}

struct datagram {
    alignas(8) uint8_t bytes[CO_FLOW_HEAD_BYTES + CHUNK + TAG + 8];
};

struct block {
    struct co_flow flow;
    uint32_t chunks, last; // bytes of the last chunk
    uint64_t arrived[CHUNKS_MAX / 64 + 2];
    uint8_t buffer[CHUNKS_MAX * CHUNK];
    // The plain one's.
    bool has[CHUNKS_MAX];
    uint32_t count, next_psn, asked_missing, duplicates, placed;
    uint32_t forged_psn; // of a chunk whose tag is wrong
    unsigned judged;
};

static bool is_genuine(void *arg, const struct co_arrival *arrival)
{
    struct block *block = arg;
    uint32_t psn = arrival->immediate; // of both ways, here
    block->judged++;
    assert_true(psn < block->chunks);
    return psn != block->forged_psn;
}

static void open_block(struct block *block)
{
    *block = (struct block){.chunks = 1 + dice(CHUNKS_MAX), .last = 1 + dice(CHUNK), .forged_psn = UINT32_MAX};
    uint32_t asked_below = dice(3) == 0 ? dice(block->chunks + 1) : 0;
    block->asked_missing = asked_below;
    block->flow = (struct co_flow){
        .head_begin = UINT64_C(0x8877665544332211),
        .operation = 7,
        .head_end = UINT64_C(0x1122334455667788),
        .full_chunks = block->chunks - (block->last < CHUNK),
        .chunks = block->chunks,
        .full_bytes = CO_FLOW_HEAD_BYTES + CHUNK + TAG,
        .last_bytes = CO_FLOW_HEAD_BYTES + block->last + TAG,
        .beside_bytes = CO_FLOW_HEAD_BYTES + TAG,
        .chunk_bytes = CHUNK,
        .to = block->buffer,
        .marks = {.arrived = block->arrived, .asked_below = asked_below, .asked_missing = asked_below}};
    if (dice(2) == 0) {
        block->flow.is_genuine = is_genuine;
        block->flow.arg = block;
        block->forged_psn = dice(4) == 0 ? dice(block->chunks) : UINT32_MAX;
    }
}

static uint32_t payload_of(const struct block *block, uint32_t psn)
{
    return psn + 1 == block->chunks ? block->last : CHUNK;
}

// A right chunk, or with one thing wrong; *psn is what its head says.
static struct co_arrival random_chunk(const struct block *block, struct datagram *datagram, uint32_t *psn)
{
    *psn = dice(block->chunks);
    uint32_t payload = payload_of(block, *psn), wrong = dice(12), operation = block->flow.operation;
    uint64_t begin = block->flow.head_begin, end = block->flow.head_end;
    unsigned shift = 0;
    switch (wrong) {
    case 0:
        *psn = block->chunks + dice(1 + (dice(2) ? 64 : UINT32_MAX - CHUNKS_MAX - 1));
        break;
    case 1:
        payload = dice(CHUNK + 1);
        break;
    case 2:
        operation++;
        break;
    case 3:
        begin ^= UINT64_C(1) << dice(64);
        break;
    case 4:
        end ^= UINT64_C(1) << dice(64);
        break;
    case 5:
        shift = dice(8);
        break;
    default:
        break;
    }
    uint8_t *bytes = datagram->bytes + shift;
    uint32_t little = htole32(*psn);
    memcpy(bytes, &begin, 8);
    memcpy(bytes + 8, &operation, 4);
    memcpy(bytes + 12, &little, 4);
    memcpy(bytes + 16, &end, 8);
    memset(bytes + CO_FLOW_HEAD_BYTES, (int)(1 + *psn % 200), payload);
    return (struct co_arrival){bytes, CO_FLOW_HEAD_BYTES + payload + TAG, *psn};
}

// Said another way than the kernel does.
static enum co_flow_end judge(const struct block *block, const struct co_arrival *arrival, bool has_head, uint32_t psn)
{
    uint32_t payload = arrival->bytes - CO_FLOW_HEAD_BYTES - TAG;
    if (has_head) {
        if (payload != CHUNK && payload != block->last) {
            return CO_FLOW_LENGTH;
        }
        uint8_t head[CO_FLOW_HEAD_BYTES];
        memcpy(head, &block->flow.head_begin, 8);
        memcpy(head + 8, &block->flow.operation, 4);
        memcpy(head + 12, arrival->data + 12, 4);
        memcpy(head + 16, &block->flow.head_end, 8);
        if (memcmp(head, arrival->data, sizeof head) != 0 || (uintptr_t)arrival->data % 8 != 0) {
            return CO_FLOW_HEAD;
        }
    }
    if (psn >= block->chunks || payload != payload_of(block, psn)) {
        return CO_FLOW_RANGE;
    }
    return psn == block->forged_psn ? CO_FLOW_TAG : CO_FLOW_ALL;
}

static bool mark(struct block *block, uint32_t psn)
{
    if (block->has[psn]) {
        block->duplicates++;
        return false;
    }
    block->has[psn] = true;
    block->count++;
    block->placed++;
    block->asked_missing -= psn < block->flow.marks.asked_below;
    block->next_psn = psn + 1 > block->next_psn ? psn + 1 : block->next_psn;
    return true;
}

static void compare(const struct block *block)
{
    assert_int_equal(block->flow.marks.count, block->count);
    assert_int_equal(block->flow.marks.next_psn, block->next_psn);
    assert_int_equal(block->flow.marks.asked_missing, block->asked_missing);
    assert_int_equal(block->flow.duplicates, block->duplicates);
    assert_int_equal(block->flow.placed, block->placed);
    for (uint32_t psn = 0; psn < CHUNKS_MAX; psn++) {
        assert_int_equal(block->arrived[psn / 64] >> psn % 64 & 1, block->has[psn]);
    }
    assert_int_equal(block->arrived[CHUNKS_MAX / 64 + 1], 0);
}

// One batch; the kernel is asked again behind each chunk that it leaves.
static void run_batch(struct block *block, bool has_head)
{
    static struct datagram datagrams[BATCH];
    struct co_arrival arrivals[BATCH];
    struct co_copy copies[BATCH + 1];
    uint32_t psns[BATCH];
    unsigned count = 1 + dice(BATCH), at = 0;
    for (unsigned i = 0; i < count; i++) {
        arrivals[i] = random_chunk(block, &datagrams[i], &psns[i]);
    }
    while (at < count) {
        uint32_t placed = block->flow.placed, ends[CO_FLOW_ENDS];
        memcpy(ends, block->flow.ends, sizeof ends);
        memset(copies, 0x5a, sizeof copies);
        unsigned taken = has_head ? co_datapath_place(&block->flow, &arrivals[at], count - at, copies)
                                  : co_datapath_mark(&block->flow, &arrivals[at], count - at);
        unsigned expected = 0, copied = 0;
        enum co_flow_end why = CO_FLOW_ALL;
        for (; at + expected < count; expected++) {
            const struct co_arrival *arrival = &arrivals[at + expected];
            why = judge(block, arrival, has_head, psns[at + expected]);
            if (why != CO_FLOW_ALL) {
                break;
            }
            if (mark(block, psns[at + expected]) && has_head) {
                assert_ptr_equal(copies[copied].from, arrival->data + CO_FLOW_HEAD_BYTES);
                assert_ptr_equal(copies[copied].to, block->buffer + (size_t)psns[at + expected] * CHUNK);
                assert_int_equal(copies[copied].bytes, payload_of(block, psns[at + expected]));
                copied++;
            }
        }
        assert_int_equal(taken, expected);
        assert_int_equal(copies[copied].bytes, 0x5a5a5a5a);
        assert_int_equal(block->flow.ends[why], ends[why] + 1);
        assert_true(!has_head || block->flow.placed - placed == copied);
        compare(block);
        at += taken + 1;
    }
}

static void chunks_are_placed(void **state)
{
    (void)state;
    uint32_t ends[CO_FLOW_ENDS] = {0}, duplicates = 0, judged = 0;
    for (unsigned turn = 0; turn < TURNS; turn++) {
        struct block block;
        bool has_head = turn % 2 == 0;
        open_block(&block);
        block.flow.first_immediate = 0;
        for (unsigned batch = 0; batch < 8; batch++) {
            run_batch(&block, has_head);
        }
        for (unsigned why = 0; why < CO_FLOW_ENDS; why++) {
            ends[why] += block.flow.ends[why];
        }
        duplicates += block.flow.duplicates;
        judged += block.judged;
    }
    for (unsigned why = 0; why < CO_FLOW_ENDS; why++) { // the dice have seen everything
        assert_true(ends[why] > 1000);
    }
    assert_true(duplicates > 1000 && judged > 1000);
}

static void immediates_begin_anywhere(void **state)
{
    (void)state;
    struct block block;
    do {
        open_block(&block);
    } while (block.chunks < 3 || block.flow.is_genuine != NULL);
    for (int64_t first = -1; first < UINT32_MAX; first += UINT32_MAX / 4) {
        block.flow.first_immediate = first;
        block.flow.ends[CO_FLOW_RANGE] = 0;
        block.arrived[0] = 0;
        struct co_arrival arrivals[] = {{.bytes = block.flow.full_bytes, .immediate = (uint32_t)(first + 1)},
                                        {.bytes = block.flow.full_bytes, .immediate = (uint32_t)(first - 1)}};
        assert_int_equal(co_datapath_mark(&block.flow, arrivals, 2), 1);
        assert_int_equal(block.arrived[0], 2);
        assert_int_equal(block.flow.ends[CO_FLOW_RANGE], 1);
    }
}

static void nothing_is_nothing(void **state)
{
    (void)state;
    struct block block;
    open_block(&block);
    assert_int_equal(co_datapath_place(&block.flow, NULL, 0, NULL), 0);
    assert_int_equal(co_datapath_mark(&block.flow, NULL, 0), 0);
    compare(&block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_placed),
        cmocka_unit_test(immediates_begin_anywhere),
        cmocka_unit_test(nothing_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
