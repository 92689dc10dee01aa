// SPDX-License-Identifier: BSD-3-Clause
//
// The datapath kernel as an adapter's processor would run it: the completions that are there are read, chunks placed or
// marked, what the flow does not take is passed over, and the receives are posted again, batch by batch. What belongs
// to the adapter is played: that a completion is there is a word in it, and posting is the list that the adapter would
// be given.
#include <string.h>

#include "kernel_count.h"
#include "mcast/receive/datapath.h"
#include "transport/verbs/verbs_completions.h"

enum { SKIP = 40, CHUNK = 4096, TAG = 8, SLOT = 128, IS_THERE = 1 };

enum { PLACED = 1, VERIFIED = 2, MIXED = 4 }; // variants

static struct co_receive_queue queue;
static struct co_receive receives[COUNT_MOST];
static struct co_completion completions[COUNT_MOST];
static _Alignas(64) uint8_t slots[COUNT_MOST][SLOT];
static struct co_copy copies[COUNT_MOST];
static uint64_t arrived[COUNT_MOST / 64];
static uint8_t memory[(size_t)COUNT_MOST * CHUNK]; // where the block would go: nothing is copied
static struct co_flow flow;
static unsigned left;

static bool is_genuine(void *arg, const struct co_arrival *arrival)
{
    (void)arg, (void)arrival;
    return true;
}

static void prepare_one(unsigned i, unsigned variant)
{
    uint32_t psn = i, operation = flow.operation, bytes = flow.full_bytes;
    uint32_t what = variant & MIXED ? count_dice(20) : 19;
    if (what < 2) {
        psn = i - count_dice(i + 1); // most likely a duplicate
    } else if (what == 2) {
        operation++;
    } else if (what == 3) {
        bytes -= 4;
    }
    uint8_t *data = slots[i] + SKIP;
    memcpy(data, &flow.head_begin, 8);
    memcpy(data + 8, &operation, 4);
    for (unsigned b = 0; b < 4; b++) {
        data[CO_FLOW_PSN_AT + b] = (uint8_t)(psn >> 8 * b);
    }
    memcpy(data + 16, &flow.head_end, 8);
    receives[i] = (struct co_receive){.id = (uintptr_t)&receives[i],
                                      .place = &receives[i].where,
                                      .places = 1,
                                      .queue = &queue,
                                      .data = variant & PLACED ? NULL : data};
    completions[i] =
        (struct co_completion){.id = receives[i].id,
                               .operation = queue.operation,
                               .bytes = bytes + queue.skip_bytes,
                               .immediate = flow.first_immediate + (operation - flow.operation) * COUNT_MOST + psn,
                               .unused = IS_THERE};
}

static void prepare(unsigned variant)
{
    queue = (struct co_receive_queue){.end = &queue.first,
                                      .operation = variant & PLACED ? CO_COMPLETION_WRITTEN : CO_COMPLETION_RECEIVED,
                                      .skip_bytes = variant & PLACED ? 0 : SKIP,
                                      .is_wanted = true};
    uint32_t beside = variant & PLACED ? 0 : CO_FLOW_HEAD_BYTES + TAG;
    flow = (struct co_flow){.head_begin = UINT64_C(0x0102030405060708),
                            .operation = 77,
                            .head_end = UINT64_C(0x1112131415161718),
                            .full_chunks = COUNT_MOST,
                            .chunks = COUNT_MOST,
                            .full_bytes = beside + CHUNK,
                            .last_bytes = beside + CHUNK,
                            .beside_bytes = beside,
                            .chunk_bytes = CHUNK,
                            .first_immediate = 77 * COUNT_MOST,
                            .to = memory,
                            .is_genuine = variant & VERIFIED ? is_genuine : NULL,
                            .marks = {.arrived = arrived}};
    for (unsigned i = 0; i < COUNT_MOST; i++) {
        prepare_one(i, variant);
    }
}

// How many are there, up to a batch.
static unsigned poll(const struct co_completion *from, const struct co_completion *end)
{
    unsigned count = 0;
    end = end - from < COUNT_BATCH ? end : from + COUNT_BATCH;
    for (; from != end && from->unused == IS_THERE; from++) {
        count++;
    }
    return count;
}

static void run(bool is_placed, unsigned count)
{
    struct co_arrival arrivals[COUNT_BATCH];
    const struct co_completion *at = completions, *end = completions + count;
    for (unsigned polled; (polled = poll(at, end)) > 0; at += polled) {
        unsigned came = co_verbs_completions_read(at, polled, arrivals), done = 0;
        while (done < came) {
            done += is_placed ? co_datapath_mark(&flow, arrivals + done, came - done)
                              : co_datapath_place(&flow, arrivals + done, came - done, copies + flow.placed);
            if (done < came) {
                done++;
                left++;
            }
        }
        // Posted, by an adapter that wants no more than the list.
        struct co_receive *volatile posted = co_receive_queue_take(&queue);
        (void)posted;
    }
}

static bool run_variant(unsigned variant, unsigned count)
{
    prepare(variant);
    run(variant & PLACED, count);
    uint32_t seen = flow.placed + flow.duplicates + left;
    for (unsigned i = 0; i < COUNT_MOST / 64; i++) {
        count_note(arrived[i]);
    }
    for (unsigned i = 0; i < COUNT_MOST; i++) {
        count_note(copies[i].bytes == 0 ? 0 : (uint64_t)(copies[i].from - slots[0]));
        count_note(copies[i].bytes == 0 ? 0 : (uint64_t)(copies[i].to - memory));
        count_note(copies[i].bytes);
        count_note(receives[i].next == NULL ? 0 : (uint64_t)(receives[i].next - receives + 1));
    }
    for (unsigned i = 0; i < CO_FLOW_ENDS; i++) {
        count_note(flow.ends[i]);
    }
    count_note(flow.placed);
    count_note(flow.duplicates);
    count_note(flow.marks.next_psn);
    return seen == count && flow.marks.count == flow.placed && (variant & MIXED || flow.placed == count);
}

const struct count_case count_datapath_cases[] = {
    {"staged", run_variant, 0, "a chunk in staging (UD): checked by its head, marked, its copy queued"},
    {"placed", run_variant, PLACED, "a chunk in its place (UC): checked by its immediate, marked"},
    {"staged-verified", run_variant, VERIFIED, "staged, with a call for the tag, whose function says yes"},
    {"placed-verified", run_variant, PLACED | VERIFIED, "placed, with a call for the tag, whose function says yes"},
    {"staged-mixed", run_variant, MIXED, "staged; of 20: 2 duplicates, 1 of another operation, 1 of another length"},
    {"placed-mixed", run_variant, PLACED | MIXED,
     "placed; of 20: 2 duplicates, 1 of another operation, 1 of another length"},
    {NULL, NULL, 0, NULL}};
