// SPDX-License-Identifier: BSD-3-Clause
//
// Who waits where threads outnumber cores offers its core to whoever wants it. A yield does that among threads that the
// kernel shares out together alone: where each process is a session of its own (autogroups) or has its own group of
// processor time, the one that yields goes on at once, and others wait for the scheduler's tick. So it is tried now and
// then whether somebody takes the core, and where nobody does it is left by a short sleep. Any thread.
#ifndef CASTOFF_BASE_CORE_OFFER_H
#define CASTOFF_BASE_CORE_OFFER_H

#include <stdatomic.h>
#include <stdbool.h>

struct co_core_offer {
    _Atomic unsigned offers;
    _Atomic bool is_taken; // a yield was, when it was tried last
};

void co_core_offer(struct co_core_offer *offer);

#endif
