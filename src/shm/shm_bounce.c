// SPDX-License-Identifier: BSD-3-Clause
//
// The way out when process_vm_readv fails in the middle of a large operation (memory of a device, a filter set late):
// the member whose copy failed asks the one at the other end, who waits in the same operation anyway, to carry the
// bytes through the slots of the bulk ring in the lane of the one that asks, which no stream uses meanwhile. Rare and
// slow, but nobody else has to know. Called by the large operations.
#include "shm/shm_team.h"

#include <errno.h>

#define OWNER_BITS 16
#define OWNER_MASK (((uint64_t)1 << OWNER_BITS) - 1)

static char *page_of(const struct co_shm_team *team, int member)
{
    return co_shm_slot(team, member, CO_SHM_BULK, 0);
}

static size_t page_bytes(const struct co_shm_team *team)
{
    size_t bytes = (size_t)(team->shape.ring[CO_SHM_BULK].mask + 1) * CO_SHM_FRAGMENT;

    return bytes < CO_SHM_PAGE ? bytes : CO_SHM_PAGE;
}

// Others may still read what an earlier stream of ours has left there; they need nothing of us to come to its end.
static bool page_is_ours(struct co_shm_team *team)
{
    if (team->granted[CO_SHM_BULK] < team->stream_end && !co_shm_ask_credit(team, CO_SHM_BULK, team->stream_end, 1)) {
        return false;
    }
    if ((team->touched & 1u << CO_SHM_BULK) == 0 && co_shm_touch_ring(team, CO_SHM_BULK) != 0) {
        co_shm_team_break(team, -ENOMEM);
    }
    return true;
}

int co_shm_bounce_step(struct co_shm_op *op, const struct co_shm_span *span)
{
    struct co_shm_team *team = op->team;
    struct co_shm_control *control = co_shm_control(team, team->self);
    uint64_t request = co_load_relaxed(&control->request); // relaxed: our own word

    if (op->asked > 0) {
        // acquire B2: the page holds what we asked for, or is ours again.
        if (co_load_acquire(&control->reply) != request) {
            return 0;
        }
        if (!span->outward) {
            memcpy(span->local + op->position, page_of(team, team->self), op->asked);
        }
        op->position += op->asked;
        op->asked = 0;
    }
    if (op->position == span->bytes) {
        return 1;
    }
    if (!page_is_ours(team)) {
        return 0;
    }
    size_t left = span->bytes - op->position, page = page_bytes(team);
    op->asked = (uint32_t)(left < page ? left : page);
    if (span->outward) {
        memcpy(page_of(team, team->self), span->local + op->position, op->asked);
    }
    co_store_relaxed(&control->request_offset, span->offset + op->position); // relaxed, both: ordered by B1
    co_store_relaxed(&control->request_bytes, op->asked);
    uint64_t number = (request >> OWNER_BITS) + 1;
    // release B1: offset, length and, outward, the page.
    co_store_release(&control->request, number << OWNER_BITS | (uint64_t)span->owner);
    return 0;
}

// What is asked for stands in memory that the member's process can write to as it likes.
static bool is_inside(const struct co_shm_team *team, uint64_t offset, uint64_t length, size_t bytes)
{
    return length <= page_bytes(team) && offset <= bytes && length <= bytes - offset;
}

bool co_shm_bounce_serve(struct co_shm_team *team, char *block, size_t bytes, bool inward)
{
    bool served = false;

    for (int member = 0; member < team->count; member++) {
        struct co_shm_control *control = co_shm_control(team, member);
        // The reply first: a request to us is answered by nobody else, so one that is newer than the reply is open,
        // and stays as it is until we answer.
        uint64_t reply = co_load_acquire(&control->reply);     // acquire B2: not older than the request it answers
        uint64_t request = co_load_acquire(&control->request); // acquire B1: offset, length, page
        if (member == team->self || request == reply || (request & OWNER_MASK) != (uint64_t)team->self) {
            continue;
        }
        uint64_t offset = co_load_relaxed(&control->request_offset); // relaxed, both: ordered by B1
        uint64_t length = co_load_relaxed(&control->request_bytes);
        if (!is_inside(team, offset, length, bytes)) {
            co_shm_team_break(team, -EPROTO);
            break;
        }
        if (inward) {
            memcpy(block + (size_t)member * bytes + offset, page_of(team, member), length);
        } else {
            memcpy(page_of(team, member), block + offset, length);
        }
        co_store_release(&control->reply, request); // release B2: the page
        served = true;
    }
    return served;
}
