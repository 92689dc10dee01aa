// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that move while the program computes: a thread of castoff's own takes the lock now and then, as long as
// nobody else does. Who waits in a call moves them faster, so the thread keeps out of his way.
#include <errno.h>

#include "p2p/p2p_state.h"

void co_p2p_share(struct co_p2p *p2p, void (*on_background)(void *arg), void *arg)
{
    p2p->background_arg = arg;
    p2p->on_background = on_background;
}

bool co_p2p_has_background(const struct co_p2p *p2p)
{
    return co_load_relaxed(&p2p->background) > 0; // relaxed: whoever begins one tells so afterwards
}

bool co_p2p_background_begin(struct co_p2p *p2p, bool in_background)
{
    if (!in_background || p2p->on_background == NULL) {
        return false;
    }
    unsigned count = co_load_relaxed(&p2p->background); // relaxed: written with the lock
    co_store_relaxed(&p2p->background, count + 1);
    p2p->background_begins = p2p->background_begins || count == 0;
    return true;
}

void co_p2p_background_end(struct co_p2p *p2p)
{
    co_store_relaxed(&p2p->background, co_load_relaxed(&p2p->background) - 1); // relaxed: as above
}

int co_p2p_move_background(struct co_p2p *p2p)
{
    if (!co_p2p_has_background(p2p)) {
        return 0;
    }
    if (!co_p2p_try(p2p)) {
        return -EBUSY;
    }
    bool callers_move = p2p->caller_moves != p2p->moves_seen;
    p2p->moves_seen = p2p->caller_moves;
    int events = callers_move || p2p->is_closing ? -EBUSY : co_p2p_move(p2p);
    co_p2p_unlock(p2p);
    return events;
}
