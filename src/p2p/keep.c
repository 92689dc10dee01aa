// SPDX-License-Identifier: BSD-3-Clause
//
// Copies of small messages that cannot leave for want of credit, or because nothing is sent at once. Stock buffers
// them at their receivers without bound, so programs rely on it that such a send ends without its receive: the copy
// is offered in place of the message, which is done. The setting bounds all copies of this rank; beyond it the send
// waits for its receive. Rare.
#include "p2p/keep.h"

#include <stdlib.h>
#include <string.h>

#include "p2p/background.h"
#include "p2p/context.h"
#include "p2p/peer_channel.h"

struct kept {
    struct co_p2p_send send; // first
    unsigned char bytes[];
};

static void has_ended(struct co_p2p_send *send)
{
    send->context->p2p->kept -= co_p2p_cost_of(send->bytes);
    send->context->holders--;
    free(send);
}

struct co_p2p_send *co_p2p_keep(struct co_p2p *p2p, const struct co_p2p_send *send)
{
    size_t cost = co_p2p_cost_of(send->bytes);
    struct kept *kept = p2p->kept + cost > p2p->config.kept_most ? NULL : malloc(sizeof(*kept) + send->bytes);
    if (kept == NULL) {
        return NULL;
    }
    kept->send = *send;
    kept->send.data = kept->bytes;
    kept->send.on_done = has_ended;
    kept->send.handle = 0;
    kept->send.in_background = co_p2p_background_begin(p2p, true);
    if (send->bytes > 0) {
        memcpy(kept->bytes, send->data, send->bytes);
    }
    kept->send.context->users++;
    kept->send.context->holders++;
    p2p->kept += cost;
    p2p->totals.kept_high = p2p->kept > p2p->totals.kept_high ? p2p->kept : p2p->totals.kept_high;
    return &kept->send;
}
