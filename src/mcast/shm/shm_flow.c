// SPDX-License-Identifier: BSD-3-Clause
//
// Bcast, allgather and gather through the rings of shm_team.h, for any size: what fits on a line travels beside its
// flag, more is cut into fragments that are written and read at the same time. The hottest file of the folder.
#include "mcast/shm/shm_team.h"

#define FRAGMENTS_A_STEP 256 // CO_SHM_STEP_BYTES

int co_shm_bcast_line_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    if (op->root == team->self) {
        if (!co_shm_has_credit(team, CO_SHM_LINES, op->tick)) {
            return 0;
        }
        memcpy(co_shm_slot_payload(team, team->self, CO_SHM_LINES, op->tick), op->mine, op->bytes);
        co_shm_slot_publish(team, CO_SHM_LINES, op->tick);
    } else {
        if (!co_shm_slot_is_full(team, op->root, CO_SHM_LINES, op->tick)) {
            return 0;
        }
        memcpy(op->target, co_shm_slot_payload(team, op->root, CO_SHM_LINES, op->tick), op->bytes);
    }
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, op->bytes, 0);
    return 1;
}

// The whole allgather has its bytes, so every member has begun it and is done with everything before. That is why a
// run of allgathers needs no acknowledgement and two slots would do: when this member writes for tick t, it holds
// everybody's bytes of tick t - 1, hence nobody reads tick t - 2 any more.
static void grant_from_allgather(struct co_shm_op *op)
{
    uint64_t *granted = &op->team->granted[op->ring];

    *granted = op->tick > *granted ? op->tick : *granted;
}

int co_shm_allgather_line_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    char *own = op->target + (size_t)team->self * op->bytes;

    if (op->written == 0) {
        if (!co_shm_has_credit(team, CO_SHM_LINES, op->tick)) {
            return 0;
        }
        memcpy(co_shm_slot_payload(team, team->self, CO_SHM_LINES, op->tick), op->mine, op->bytes);
        co_shm_slot_publish(team, CO_SHM_LINES, op->tick);
        op->written = 1;
        if (op->mine != own) {
            memcpy(own, op->mine, op->bytes);
        }
    }
    while (op->peer != team->self) {
        if (!co_shm_slot_is_full(team, op->peer, CO_SHM_LINES, op->tick)) {
            return 0;
        }
        memcpy(op->target + (size_t)op->peer * op->bytes, co_shm_slot_payload(team, op->peer, CO_SHM_LINES, op->tick),
               op->bytes);
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
    }
    grant_from_allgather(op);
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, op->bytes, 0);
    return 1;
}

// Where a fragment stands in its block, and its length.
static size_t fragment(const struct co_shm_op *op, uint64_t number, size_t *offset)
{
    size_t payload = op->team->shape.ring[op->ring].payload;

    *offset = (size_t)number * payload;
    return op->bytes - *offset < payload ? op->bytes - *offset : payload;
}

static bool write_one(struct co_shm_op *op, bool reads)
{
    struct co_shm_team *team = op->team;
    uint64_t tick = op->tick + op->written;
    size_t offset;

    if (op->written == op->ticks || !co_shm_has_credit(team, op->ring, tick)) {
        return false;
    }
    size_t length = fragment(op, op->written, &offset);
    memcpy(co_shm_slot_payload(team, team->self, op->ring, tick), op->mine + offset, length);
    co_shm_slot_publish(team, op->ring, tick);
    op->written++;
    if (op->call == CO_SHM_ALLGATHER) {
        char *own = op->target + (size_t)team->self * op->bytes;
        if (op->mine != own) {
            memcpy(own + offset, op->mine + offset, length);
        }
    }
    if (!reads) {
        co_shm_consume(team, op->ring, tick + 1);
    }
    return true;
}

// One fragment of one peer; all peers' fragments of a tick before the next tick.
static bool read_one(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    uint64_t tick = op->tick + op->read;
    bool is_bcast = op->call == CO_SHM_BCAST;
    int peer = is_bcast ? op->root : op->peer;
    size_t offset;

    if (op->read == op->ticks || !co_shm_slot_is_full(team, peer, op->ring, tick)) {
        return false;
    }
    size_t length = fragment(op, op->read, &offset);
    char *block = op->target + (is_bcast ? 0 : (size_t)peer * op->bytes);
    memcpy(block + offset, co_shm_slot_payload(team, peer, op->ring, tick), length);
    peer = peer + 1 == team->count ? 0 : peer + 1;
    if (is_bcast || peer == team->self) {
        op->read++;
        co_shm_consume(team, op->ring, tick + 1);
        peer = team->self + 1 == team->count ? 0 : team->self + 1;
    }
    op->peer = peer;
    return true;
}

int co_shm_flow_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool is_root = op->root == team->self; // of an allgather everyone is
    bool writes = op->call == CO_SHM_ALLGATHER || is_root == (op->call == CO_SHM_BCAST);
    bool reads = op->call == CO_SHM_ALLGATHER || !writes;

    if (op->phase == 0) {
        char *own = op->target + (size_t)team->self * op->bytes;
        if (op->call == CO_SHM_GATHER && is_root && op->mine != own) {
            memcpy(own, op->mine, op->bytes);
        }
        op->phase = 1;
    }
    for (int turn = 0; turn < FRAGMENTS_A_STEP; turn++) {
        bool moved = writes && write_one(op, reads);
        moved |= reads && read_one(op);
        if (op->written == (writes ? op->ticks : 0) && op->read == (reads ? op->ticks : 0)) {
            if (op->call == CO_SHM_ALLGATHER) {
                grant_from_allgather(op);
            }
            co_shm_team_count(team, op->bytes, 0);
            return 1;
        }
        if (!moved) {
            return 0;
        }
    }
    return 0;
}
