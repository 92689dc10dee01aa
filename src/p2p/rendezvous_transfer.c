// SPDX-License-Identifier: BSD-3-Clause
//
// Large messages between hosts: the receiver has the remote channel expect them in the program's buffer before it asks
// for them (CTS), under a number; the sender has its buffer transferred under that number. Lock held.
#include "p2p/rendezvous_transfer.h"

#include <errno.h>

#include "base/log.h"
#include "p2p/finish.h"
#include "p2p/reply.h"

bool co_p2p_transfer_send(struct co_p2p_send *send)
{
    struct co_p2p *p2p = send->context->p2p;
    struct co_channel *remote_channel = p2p->config.remote_channel;
    int peer = send->context->peers[send->destination];
    bool is_taken = remote_channel->ops->transfer(remote_channel, peer, send->data, send->wanted, send->number, send);
    p2p->transmitted += is_taken;
    return is_taken;
}

// False: no room.
static bool transfer_expect(struct co_p2p *p2p, struct co_p2p_receive *receive)
{
    struct co_channel *remote_channel = p2p->config.remote_channel;
    if (!co_p2p_name_or_refuse(p2p, receive, receive->message)) {
        return true; // it has ended
    }
    uint32_t number =
        remote_channel->ops->expect(remote_channel, receive->peer, receive->buffer, receive->wanted, receive);
    if (number != 0) {
        receive->done_bytes = 0;
        co_p2p_reply_cts(p2p, receive, number, receive->message);
    }
    return number != 0;
}

void co_p2p_transfer_receive(struct co_p2p *p2p, struct co_p2p_receive *receive)
{
    if (p2p->first_cts == NULL && transfer_expect(p2p, receive)) {
        return;
    }
    receive->next = NULL;
    *p2p->last_cts = receive;
    p2p->last_cts = &receive->next;
}

int co_p2p_transfer_receive_waiting(struct co_p2p *p2p)
{
    struct co_p2p_receive *receive;
    int count = 0;
    while ((receive = p2p->first_cts) != NULL) {
        struct co_p2p_receive *next = receive->next;
        if (!transfer_expect(p2p, receive)) {
            break;
        }
        p2p->first_cts = next;
        if (next == NULL) {
            p2p->last_cts = &p2p->first_cts;
        }
        count++;
    }
    return count;
}

int co_p2p_transfer_end(struct co_p2p *p2p)
{
    struct co_channel *remote_channel = p2p->config.remote_channel;
    struct co_channel_end end;
    int count = 0;
    while (remote_channel->ops->next_end(remote_channel, &end)) {
        int result = end.result == 0 ? 0 : -ECONNRESET;
        count++;
        if (end.owner == NULL) {
            co_log(CO_LOG_INFO, CO_SUBSYS_P2P, "messages do not reach rank %d any more (error %d)", end.peer,
                   -end.result);
            p2p->peers[end.peer].is_broken = p2p->has_broken_one = true;
        } else if (end.was_expected) {
            co_p2p_receive_finish(end.owner, result);
        } else {
            co_p2p_send_finish(end.owner, result);
        }
    }
    return count;
}
