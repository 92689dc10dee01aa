// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that have come by one look at the channels are matched together, one communicator's at a time, each by a
// lane of its own (S2, section 4). Their bytes are kept until then: a packet is the channel's. Between the messages of
// a block nothing is posted, so the result is that of one after the other. Hot where there are lanes; lock held.
#include "p2p/blocks.h"

#include <stdlib.h>

#include "p2p/context.h"
#include "p2p/lanes.h"
#include "p2p/receive.h"

struct co_p2p_blocks {
    struct co_lanes *lanes;
    struct co_p2p_context *context; // of the messages
    struct co_match_block block;
};

struct co_p2p_blocks *co_p2p_blocks_open(unsigned lanes)
{
    struct co_p2p_blocks *blocks = aligned_alloc(CO_LINE_PAIR, sizeof(*blocks));
    if (blocks != NULL) {
        *blocks = (struct co_p2p_blocks){.lanes = co_lanes_open(lanes)};
    }
    if (blocks != NULL && blocks->lanes == NULL) {
        free(blocks);
        return NULL;
    }
    return blocks;
}

void co_p2p_blocks_close(struct co_p2p_blocks *blocks)
{
    if (blocks != NULL) {
        co_lanes_close(blocks->lanes);
        free(blocks);
    }
}

void co_p2p_block_add(struct co_p2p *p2p, struct co_p2p_message *message)
{
    struct co_p2p_blocks *blocks = p2p->blocks;
    struct co_match_block *block = &blocks->block;
    if (blocks->context != message->context) {
        co_p2p_block_match(p2p);
        blocks->context = message->context;
        blocks->context->users++; // its last receive may be among those that they complete
    }
    block->messages[block->count] = &message->node;
    block->hashes[block->count] = co_match_hashes_of(message->node.source, message->node.tag);
    if (++block->count == co_lanes_count(blocks->lanes)) {
        co_p2p_block_match(p2p);
    }
}

void co_p2p_block_match(struct co_p2p *p2p)
{
    struct co_p2p_blocks *blocks = p2p->blocks;
    struct co_p2p_context *context = blocks->context;
    struct co_match_block *block = &blocks->block;
    if (context == NULL) {
        return;
    }
    block->matcher = context->matcher;
    if (block->count == 1) {
        block->receives[0] = co_matcher_arrive(context->matcher, block->messages[0], &block->hashes[0]);
    } else {
        co_lanes_match(blocks->lanes, block);
    }
    for (unsigned i = 0; i < block->count; i++) {
        struct co_p2p_message *message = (struct co_p2p_message *)block->messages[i];
        co_p2p_arrive(message, block->receives[i], message->payload);
    }
    block->count = 0;
    blocks->context = NULL;
    co_p2p_context_drop(context);
}
