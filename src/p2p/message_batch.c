// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that have come by one look at the channels are matched together, one communicator's at a time, each by a
// lane of its own (S2, section 4). Their bytes are kept until then: a packet is the channel's. Between the messages of
// a batch nothing is posted, so the result is that of one after the other. Hot where there are lanes; lock held.
#include "p2p/message_batch.h"

#include <stdlib.h>

#include "p2p/context.h"
#include "p2p/lanes.h"
#include "p2p/receive.h"

struct co_p2p_batch {
    struct co_lanes *lanes;
    struct co_p2p_context *context; // of the messages
    struct co_match_batch batch;
};

struct co_p2p_batch *co_p2p_batch_open(unsigned lanes)
{
    struct co_p2p_batch *pending = aligned_alloc(CO_LINE_PAIR, sizeof(*pending));
    if (pending != NULL) {
        *pending = (struct co_p2p_batch){.lanes = co_lanes_open(lanes)};
    }
    if (pending != NULL && pending->lanes == NULL) {
        free(pending);
        return NULL;
    }
    return pending;
}

void co_p2p_batch_close(struct co_p2p_batch *pending)
{
    if (pending != NULL) {
        co_lanes_close(pending->lanes);
        free(pending);
    }
}

void co_p2p_batch_add(struct co_p2p *p2p, struct co_p2p_message *message)
{
    struct co_p2p_batch *pending = p2p->batch;
    struct co_match_batch *batch = &pending->batch;
    if (pending->context != message->context) {
        co_p2p_batch_match(p2p);
        pending->context = message->context;
        pending->context->users++; // its last receive may be among those that they complete
    }
    batch->messages[batch->count] = &message->node;
    batch->hashes[batch->count] = co_match_hashes_of(message->node.source, message->node.tag);
    if (++batch->count == co_lanes_count(pending->lanes)) {
        co_p2p_batch_match(p2p);
    }
}

void co_p2p_batch_match(struct co_p2p *p2p)
{
    struct co_p2p_batch *pending = p2p->batch;
    struct co_p2p_context *context = pending->context;
    struct co_match_batch *batch = &pending->batch;
    if (context == NULL) {
        return;
    }
    batch->matcher = context->matcher;
    if (batch->count == 1) {
        batch->receives[0] = co_matcher_arrive(context->matcher, batch->messages[0], &batch->hashes[0]);
    } else {
        co_lanes_match(pending->lanes, batch);
    }
    for (unsigned i = 0; i < batch->count; i++) {
        struct co_p2p_message *message = (struct co_p2p_message *)batch->messages[i];
        co_p2p_arrive(message, batch->receives[i], message->payload);
    }
    batch->count = 0;
    pending->context = NULL;
    co_p2p_context_drop(context);
}
