// SPDX-License-Identifier: BSD-3-Clause
//
// Bcast, allgather and gather of what fits into one slot of a ring of shm_team.h, beside its flag. The hottest file of
// the folder.
#include "shm/shm_team.h"

int co_shm_bcast_line_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    if (op->root == team->self) {
        if (!co_shm_has_credit(team, CO_SHM_LINES, op->tick)) {
            return 0;
        }
        memcpy(co_shm_slot_payload(team, team->self, CO_SHM_LINES, op->tick), op->mine, op->bytes);
        co_shm_slot_publish(op, CO_SHM_LINES, op->bytes);
    } else {
        if (!co_shm_slot_is_full(op, op->root, CO_SHM_LINES, op->bytes)) {
            return 0;
        }
        __builtin_prefetch(co_shm_slot(team, op->root, CO_SHM_LINES, op->tick + CO_SHM_READS_AHEAD));
        memcpy(op->target, co_shm_slot_payload(team, op->root, CO_SHM_LINES, op->tick), op->bytes);
    }
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, op->bytes, 0);
    return 1;
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
        co_shm_slot_publish(op, CO_SHM_LINES, op->bytes);
        op->written = 1;
        if (op->mine != own) {
            memcpy(own, op->mine, op->bytes);
        }
    }
    while (op->peer != team->self) {
        if (!co_shm_slot_is_full(op, op->peer, CO_SHM_LINES, op->bytes)) {
            return 0;
        }
        memcpy(op->target + (size_t)op->peer * op->bytes, co_shm_slot_payload(team, op->peer, CO_SHM_LINES, op->tick),
               op->bytes);
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
    }
    co_shm_grant_from_allgather(op);
    co_shm_consume(team, CO_SHM_LINES, op->tick + 1);
    co_shm_team_count(team, op->bytes, 0);
    return 1;
}

// Of unequal blocks; through lines or mail.
int co_shm_allgatherv_slot_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    if (op->written == 0) {
        if (!co_shm_has_credit(team, op->ring, op->tick)) {
            return 0;
        }
        memcpy(co_shm_slot_payload(team, team->self, op->ring, op->tick), op->mine, op->blocks[team->self].bytes);
        co_shm_slot_publish(op, op->ring, co_shm_block_told(op, team->self));
        op->written = 1;
    }
    while (op->peer != team->self) {
        const struct co_block *block = &op->blocks[op->peer];
        if (!co_shm_slot_is_full(op, op->peer, op->ring, co_shm_block_told(op, op->peer))) {
            return 0;
        }
        memcpy(block->buffer, co_shm_slot_payload(team, op->peer, op->ring, op->tick), block->bytes);
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
    }
    co_shm_grant_from_allgather(op);
    co_shm_consume(team, op->ring, op->tick + 1);
    co_shm_team_count(team, op->blocks[team->self].bytes, 0);
    return 1;
}

static bool write_own(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;

    if (!co_shm_has_credit(team, op->ring, op->tick)) {
        return false;
    }
    memcpy(co_shm_slot_payload(team, team->self, op->ring, op->tick), op->mine, op->bytes);
    co_shm_slot_publish(op, op->ring, op->bytes);
    op->written = 1;
    return true;
}

static bool read_one(struct co_shm_op *op, int peer, char *block)
{
    struct co_shm_team *team = op->team;

    if (!co_shm_slot_is_full(op, peer, op->ring, op->bytes)) {
        return false;
    }
    memcpy(block, co_shm_slot_payload(team, peer, op->ring, op->tick), op->bytes);
    return true;
}

int co_shm_slot_step(struct co_shm_op *op)
{
    struct co_shm_team *team = op->team;
    bool is_bcast = op->call == CO_SHM_BCAST, is_root = op->root == team->self; // of an allgather everyone is
    bool writes = op->call == CO_SHM_ALLGATHER || is_root == is_bcast;
    bool reads_all = !is_bcast && is_root;
    char *own = op->target + (size_t)team->self * op->bytes;

    if (writes && op->written == 0 && !write_own(op)) {
        return 0;
    }
    if (is_bcast && !is_root && !read_one(op, op->root, op->target)) {
        return 0;
    }
    while (reads_all && op->peer != team->self) {
        if (!read_one(op, op->peer, op->target + (size_t)op->peer * op->bytes)) {
            return 0;
        }
        op->peer = op->peer + 1 == team->count ? 0 : op->peer + 1;
    }
    if (reads_all && op->mine != own) {
        memcpy(own, op->mine, op->bytes);
    }
    if (op->call == CO_SHM_ALLGATHER) {
        co_shm_grant_from_allgather(op);
    }
    co_shm_consume(team, op->ring, op->tick + 1);
    co_shm_team_count(team, op->bytes, 0);
    return 1;
}
