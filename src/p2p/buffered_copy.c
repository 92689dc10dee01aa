// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of small messages that cannot leave for want of credit, or because nothing is sent at once. Stock buffers
// them at their receivers without bound, so programs rely on it that such a send ends without its receive: the copy
// is offered in place of the message, which is done. The setting bounds all copies of this rank; beyond it the send
// waits for its receive. Rare.
#include "p2p/buffered_copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "p2p/background.h"
#include "p2p/context.h"
#include "p2p/peer_channel.h"

struct buffered {
    struct co_p2p_send send; // first
    unsigned char bytes[];
};

static void copy_on_done(struct co_p2p_send *send)
{
    send->context->p2p->buffered -= co_p2p_cost_of(send->bytes);
    send->context->holders--;
    free(send);
}

struct co_p2p_send *co_p2p_buffered_copy(struct co_p2p *p2p, const struct co_p2p_send *send)
{
    size_t cost = co_p2p_cost_of(send->bytes);
    struct buffered *buffered =
        p2p->buffered + cost > p2p->config.buffered_most ? NULL : malloc(sizeof(*buffered) + send->bytes);
    if (buffered == NULL) {
        return NULL;
    }
    buffered->send = *send;
    buffered->send.data = buffered->bytes;
    buffered->send.on_done = copy_on_done;
    buffered->send.handle = 0;
    buffered->send.in_background = co_p2p_background_begin(p2p, true);
    co_memory_copy(buffered->bytes, send->data, send->bytes);
    buffered->send.context->users++;
    buffered->send.context->holders++;
    p2p->buffered += cost;
    p2p->totals.buffered_high = p2p->buffered > p2p->totals.buffered_high ? p2p->buffered : p2p->totals.buffered_high;
    return &buffered->send;
}
