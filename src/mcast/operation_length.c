// SPDX-License-Identifier: BSD-3-Clause
//
// A broadcast whose root gives another length than this member was called with: the program's mistake, which MPI
// libraries live with. Every chunk says how long its block is, so the first one that comes tells, and the operation
// goes on with the root's length, through memory of its own when the caller has no room for it: this member repairs
// for its neighbours as any other does. Cold.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/chunk_bitmap.h"
#include "mcast/state/endpoint.h"
#include "mcast/state/operation.h"
#include "mcast/operation_length.h"
#include "mcast/operation_memory.h"

static bool is_untouched_bcast(const struct co_mcast_op *op)
{
    return op->root >= 0 && op->root != op->group->self && op->parts == NULL && op->state == 0 && op->failure == 0 &&
           op->blocks[0].count == 0 && !co_operation_memory_is_busy(op);
}

// Memory of the new shape; false: there is none, and nothing has changed.
static bool allocate(struct co_mcast_op *op, size_t bytes, uint32_t chunks, uint64_t **bits)
{
    size_t words = co_chunk_bitmap_words(chunks);
    uint8_t *whole = NULL;
    *bits = calloc(words, sizeof(uint64_t));
    if (bytes > op->bytes) {
        whole = malloc(bytes);
    }
    if (*bits == NULL || (bytes > op->bytes && whole == NULL)) {
        free(*bits);
        free(whole);
        return false;
    }
    co_operation_count_bitmap(op, words * sizeof(uint64_t));
    op->whole = whole;
    return true;
}

int co_operation_resize(struct co_mcast_op *op, size_t bytes)
{
    struct co_mcast_group *group = op->group;
    uint64_t *bits;
    uint32_t chunks = co_wire_chunk_count(bytes, (uint32_t)group->mcast->config.chunk_bytes);
    if (!is_untouched_bcast(op) || op->resized_bits != NULL) {
        return -EMSGSIZE;
    }
    if (!allocate(op, bytes, chunks, &bits)) {
        return -ENOMEM;
    }
    co_operation_memory_drop(op);
    if (op->whole != NULL) {
        op->buffer = op->whole;
    }
    op->bytes = bytes;
    op->resized_bits = bits;
    co_receive_block_open(&op->blocks[0], bits, 0, bytes, chunks, group->mcast->now_ns);
    group->is_quiet = false;
    if (op->wanted != NULL) { // was asked for by the old count; the neighbour asks again
        free(op->wanted[0]);
        op->wanted[0] = NULL;
    }
    if (group->mcast->transport->ops->region_open != NULL) {
        co_operation_memory_open(op);
    }
    return 0;
}

void *co_mcast_op_take_whole(struct co_mcast_op *op, size_t *bytes)
{
    uint8_t *whole = op->whole;
    op->whole = NULL;
    *bytes = op->bytes;
    return whole;
}
