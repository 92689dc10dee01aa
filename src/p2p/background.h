// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that move while the program computes: a thread of castoff's own takes the lock now and then, as long as
// there is one (co_p2p_progress_background). Lock held.
#ifndef CASTOFF_P2P_BACKGROUND_H
#define CASTOFF_P2P_BACKGROUND_H

#include "p2p/p2p_state.h"

// Whether an operation counts from now on, and until it is done.
static inline bool co_p2p_background_begin(struct co_p2p *p2p, bool in_background)
{
    if (!in_background || p2p->on_background == NULL) {
        return false;
    }
    unsigned count = co_load_relaxed(&p2p->background); // relaxed: written with the lock
    co_store_relaxed(&p2p->background, count + 1);
    p2p->background_begins = p2p->background_begins || count == 0;
    return true;
}

static inline void co_p2p_background_end(struct co_p2p *p2p)
{
    co_store_relaxed(&p2p->background, co_load_relaxed(&p2p->background) - 1); // relaxed: as above
}

#endif
