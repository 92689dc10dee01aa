// SPDX-License-Identifier: BSD-3-Clause
//
// What has failed is noted here, by whoever finds it; verbs_health.c sees to it. Rare.
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "transport/verbs/verbs_state.h"

void co_verbs_break(struct co_verbs *verbs, int error, const char *why)
{
    char text[200];
    if (verbs->broken == 0) {
        verbs->broken = error;
        snprintf(text, sizeof text, "verbs on %s: %s (%s)", verbs->device, why, strerror(-error));
        verbs->config.warn(text);
    }
}

// `woken` tells it of all, for who closes one of what he does not know closes all. The kernel has taken the queue pairs
// away with them; the libraries would write to files that are the program's.
bool co_verbs_is_own(struct co_verbs *verbs)
{
    if (!verbs->is_lost && !verbs->has_let_go && verbs->context != NULL && !co_descriptor_is_kept(&verbs->woken)) {
        co_verbs_break(verbs, -EBADF, "the program has closed its descriptors");
        verbs->is_lost = true;
    }
    return !verbs->is_lost;
}

void co_verbs_ring_fail(struct co_verbs *verbs, struct co_verbs_ring *ring)
{
    if (ring->state == CO_VERBS_RING_RUNS) {
        ring->state = CO_VERBS_RING_FAILED;
        verbs->failed_rings++;
    }
}

// Each status is said once; what is flushed only follows from something else.
void co_verbs_failed(struct co_verbs *verbs, struct co_verbs_ring *ring, const struct ibv_wc *completion,
                     const char *what, uint64_t *said)
{
    char text[200];
    bool is_flushed = completion->status == IBV_WC_WR_FLUSH_ERR;
    uint64_t bit = UINT64_C(1) << (completion->status % 64);
    verbs->config.count(is_flushed ? CO_VERBS_FLUSHED : CO_VERBS_FAILED, 1);
    if (!is_flushed && (*said & bit) == 0) {
        *said |= bit;
        snprintf(text, sizeof text, "verbs on %s: %s ended with \"%s\" (vendor %#x): what was under way is lost",
                 verbs->device, what, ibv_wc_status_str(completion->status), completion->vendor_err);
        verbs->config.warn(text);
    }
    co_verbs_ring_fail(verbs, ring);
}
