// SPDX-License-Identifier: BSD-3-Clause
//
// Runs of chunks: what follows a chunk is most often the next one of the same block. What that one has shown, of its
// head and of where it belongs, is made a flow, and the datapath kernel takes all that fits it, as one after the other
// would have been taken; the first that does not is looked at from the beginning. A flow lives for a run and holds no
// pointer longer. Hot.
#include <string.h>

#include "base/memory/memory_copy.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/receive/chunk_run.h"
#include "mcast/receive/placement.h"

struct run {
    struct co_flow flow;
    struct co_mcast *mcast;
    struct co_mcast_op *op;
    struct co_receive_block *block;
    int source;
    const struct co_arrival *first;          // of the run
    const struct co_lane_datagram *verified; // what a lane says of that one; NULL: there is none
};

static bool is_genuine(void *arg, const struct co_arrival *arrival)
{
    const struct run *run = arg;
    const struct co_mcast_group *group = run->op->group;
    int rank = group->members[run->source];
    const struct co_lane_datagram *verified = run->verified == NULL ? NULL : run->verified + (arrival - run->first);
    if (verified != NULL && verified->is_verified && verified->team_id == group->team_id && verified->rank == rank) {
        return true;
    }
    uint8_t nonce[CO_AUTH_NONCE_BYTES];
    co_wire_head_nonce(nonce, arrival->data);
    return co_auth_verify(run->mcast->config.auth, CO_AUTH_CHUNK, rank, group->team_id, nonce, arrival->data,
                          arrival->bytes - run->mcast->tag_bytes);
}

// All but what says how it was sent has been compared already, and may have changed on the way.
static bool is_genuine_landed(void *arg, const struct co_arrival *arrival)
{
    const struct run *run = arg;
    return memcmp(arrival->data, &run->flow.head_begin, sizeof run->flow.head_begin) == 0 && is_genuine(arg, arrival);
}

// Whether the next one looks like another chunk of the same block: else the flow is not worth making.
static bool looks_alike(const struct co_arrival *arrival, const struct co_arrival *next)
{
    return next->bytes >= CO_WIRE_HEAD_BYTES && memcmp(arrival->data, next->data, sizeof(uint64_t)) == 0;
}

static bool can_follow(const struct co_mcast_op *op, const struct co_receive_block *block)
{
    bool is_passed_on = op->wanted != NULL && op->passes_all;
    return op->state == 0 && op->failure == 0 && !is_passed_on && !block->in_tail &&
           !co_receive_block_is_complete(block);
}

static void make_flow(struct run *run, const uint8_t *head)
{
    const struct co_receive_block *block = run->block;
    uint32_t chunk_bytes = (uint32_t)run->mcast->config.chunk_bytes;
    uint32_t rest = (uint32_t)(block->bytes - (size_t)(block->chunks - 1) * chunk_bytes); // in the last chunk
    uint32_t beside = CO_WIRE_HEAD_BYTES + (uint32_t)run->mcast->tag_bytes;
    run->flow = (struct co_flow){.full_chunks = block->chunks - (rest < chunk_bytes),
                                 .chunks = block->chunks,
                                 .full_bytes = beside + chunk_bytes,
                                 .last_bytes = beside + rest,
                                 .beside_bytes = beside,
                                 .chunk_bytes = chunk_bytes,
                                 .to = run->op->buffer + block->offset,
                                 .is_genuine = is_genuine,
                                 .arg = run,
                                 .marks = co_receive_block_marks(block)};
    memcpy(&run->flow.head_begin, head, sizeof run->flow.head_begin);
    memcpy(&run->flow.operation, head + sizeof run->flow.head_begin, sizeof run->flow.operation);
    memcpy(&run->flow.head_end, head + CO_WIRE_HEAD_BYTES - sizeof run->flow.head_end, sizeof run->flow.head_end);
}

static bool begin(struct run *run, struct co_mcast_op *op, int source, const struct co_arrival *arrival,
                  const struct co_lane_datagram *by_lane)
{
    run->block = !looks_alike(arrival, arrival + 1) ? NULL : co_operation_block(op, source);
    if (run->block == NULL || !can_follow(op, run->block)) {
        return false;
    }
    run->mcast = op->group->mcast;
    run->op = op;
    run->source = source;
    run->first = arrival + 1;
    run->verified = by_lane == NULL ? NULL : by_lane + 1;
    make_flow(run, arrival->data);
    return true;
}

static struct co_run_taken end(struct run *run, unsigned taken, struct co_placed_chunks placed)
{
    run->mcast->events += (int)taken;
    co_placement_run(run->op, run->source, run->block, &run->flow, placed);
    return (struct co_run_taken){.count = taken, .placed = run->flow.placed};
}

struct co_run_taken co_chunk_run_place(struct co_mcast_op *op, int source, const struct co_arrival *arrival,
                                       unsigned count, const struct co_lane_datagram *by_lane)
{
    struct run run;
    struct co_copy copies[CO_DELIVER_AT_ONCE];
    if (!begin(&run, op, source, arrival, by_lane)) {
        return (struct co_run_taken){0};
    }
    unsigned most = count - 1 < CO_DELIVER_AT_ONCE ? count - 1 : CO_DELIVER_AT_ONCE;
    unsigned taken = co_datapath_place(&run.flow, run.first, most, copies);
    size_t bytes = 0;
    for (unsigned i = 0; i < run.flow.placed; i++) {
        co_memory_copy(copies[i].to, copies[i].from, copies[i].bytes);
        bytes += copies[i].bytes;
    }
    return end(&run, taken, (struct co_placed_chunks){.chunks = run.flow.placed, .bytes = bytes});
}

struct co_run_taken co_chunk_run_land(struct co_mcast_op *op, int source, const struct co_arrival *arrival,
                                      unsigned count)
{
    struct run run;
    const struct co_mcast *mcast = op->group->mcast;
    if (!begin(&run, op, source, arrival, NULL) ||
        run.flow.to + (size_t)mcast->landing_psn * run.flow.chunk_bytes != mcast->landing_at) {
        return (struct co_run_taken){0};
    }
    run.flow.is_genuine = is_genuine_landed;
    run.flow.first_immediate = -(int64_t)mcast->landing_psn;
    bool had_last = co_chunk_bitmap_has(run.block->arrived, run.block->chunks - 1);
    unsigned taken = co_datapath_mark(&run.flow, run.first, count - 1);
    bool has_last = !had_last && co_chunk_bitmap_has(run.block->arrived, run.block->chunks - 1);
    uint64_t placed = run.flow.placed;
    size_t bytes = placed * run.flow.chunk_bytes - (has_last ? run.flow.full_bytes - run.flow.last_bytes : 0);
    return end(&run, taken, (struct co_placed_chunks){.chunks = placed, .bytes = bytes, .landed = placed});
}
