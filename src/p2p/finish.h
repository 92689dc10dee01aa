// SPDX-License-Identifier: BSD-3-Clause
//
// Sends and receives as everybody treats them: the numbers by which peers name them, what a receive is told on the way,
// and their ends, after which they are the caller's. Hot; lock held.
#ifndef CASTOFF_P2P_FINISH_H
#define CASTOFF_P2P_FINISH_H

#include <string.h>

#include "base/memory/memory_copy.h"
#include "p2p/background.h"
#include "p2p/context.h"

bool co_p2p_receive_name(struct co_p2p *p2p, struct co_p2p_receive *receive); // false: no memory
void co_p2p_send_finish(struct co_p2p_send *send, int result);
void co_p2p_stream_is_over(struct co_p2p_receive *receive); // it waits for no more pieces

// Bytes of the message up to there.
static inline void co_p2p_make(struct co_p2p_send *send, size_t end)
{
    if (send->make != NULL && end > send->made) {
        send->make(send->make_arg, send->made, end);
        send->made = end;
    }
}

// The next bytes are in the buffer.
static inline void co_p2p_tell_bytes(struct co_p2p_receive *receive, size_t from, size_t to)
{
    to = to < receive->room ? to : receive->room;
    if (receive->on_bytes != NULL && from < to) {
        receive->on_bytes(receive->on_bytes_arg, from, to);
    }
}

// Once who looks for the end would find it.
static inline void co_p2p_count_end(struct co_p2p *p2p)
{
    co_store_release(&p2p->ends, co_load_relaxed(&p2p->ends) + 1); // release P3; relaxed: one writer
}

static inline void co_p2p_receive_finish(struct co_p2p_receive *receive, int result)
{
    struct co_p2p_context *context = receive->context;
    if (receive->handle != 0) {
        co_handles_remove(&context->p2p->receives_named, receive->handle);
        if (receive->is_streamed) {
            co_p2p_stream_is_over(receive);
        }
    }
    receive->result = result;
    if (receive->in_background) {
        co_p2p_background_end(context->p2p);
    }
    if (receive->on_done != NULL) {
        receive->on_done(receive);
    } else {
        co_store_release(&receive->is_done, 1); // release P2: buffer and result are the caller's
    }
    co_p2p_count_end(context->p2p);
    co_p2p_context_drop(context);
}

static inline void co_p2p_note(struct co_p2p_receive *receive, int32_t source, int32_t tag, size_t bytes)
{
    receive->source = source;
    receive->tag = tag;
    receive->bytes = bytes;
}

static inline void co_p2p_copy(struct co_p2p_receive *receive, const void *from, size_t bytes)
{
    bytes = bytes < receive->room ? bytes : receive->room;
    co_memory_copy_few(receive->buffer, from, bytes);
}

#endif
