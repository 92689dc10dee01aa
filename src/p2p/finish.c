// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers and ends of sends and receives. Once one has ended it may be gone. Hot.
#include "p2p/finish.h"

static void send_tell_done(struct co_p2p_send *send, int result)
{
    send->result = result;
    if (send->on_done != NULL) {
        send->on_done(send);
    } else {
        co_store_release(&send->is_done, 1); // release P1: the buffer is the caller's
    }
}

void co_p2p_send_finish(struct co_p2p_send *send, int result)
{
    struct co_p2p_context *context = send->context;
    if (send->handle != 0) {
        co_handles_remove(&context->p2p->sends_named, send->handle);
    }
    context->p2p->rts_pending -= send->is_rts;
    if (send->in_background) {
        co_p2p_background_end(context->p2p);
    }
    if (send->copy != NULL) { // that has not gone
        co_p2p_send_finish(send->copy, result);
    }
    send_tell_done(send, result);
    co_p2p_count_end(context->p2p);
    co_p2p_context_drop(context);
}

bool co_p2p_receive_name(struct co_p2p *p2p, struct co_p2p_receive *receive)
{
    if (receive->handle == 0) {
        receive->handle = co_handles_add(&p2p->receives_named, receive);
    }
    return receive->handle != 0;
}

void co_p2p_stream_is_over(struct co_p2p_receive *receive)
{
    struct co_p2p_peer *from = &receive->context->p2p->peers[receive->peer];
    struct co_p2p_receive **link = &from->first_stream; // mostly the first one
    while (*link != receive) {
        link = &(*link)->next;
    }
    *link = receive->next;
    if (*link == NULL) {
        from->last_stream = link;
    }
    if (from->fragment_receive == receive) {
        from->fragment_receive = NULL;
    }
    receive->is_streamed = false;
    receive->context->p2p->streams--;
}
