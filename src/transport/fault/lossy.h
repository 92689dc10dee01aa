// SPDX-License-Identifier: BSD-3-Clause
//
// Decorator over any datagram transport that drops, repeats, reorders, delays, corrupts, truncates and black-holes
// what is sent, and misses what arrives, by rate and seed or by script, for each kind of datagram, as a plan
// says (base/settings/fault_plan.h). It never reads headers itself: the classifier that tells the kind is handed in.
#ifndef CASTOFF_TRANSPORT_FAULT_LOSSY_H
#define CASTOFF_TRANSPORT_FAULT_LOSSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/settings/fault_plan.h"
#include "transport/transport.h"

// Of a datagram that arrives only the bytes are known; `to` is a peer then.
typedef enum co_fault_kind (*co_classify_fn)(struct co_destination to, const struct co_tx_datagram *datagram);
typedef uint64_t (*co_now_fn)(void *arg); // clock handed in, so that tests use virtual time

// Takes ownership of `below` (not on failure). Without a classifier everything is CO_FAULT_DATA. What befalls the n-th
// datagram sent, or the n-th that arrives at a subgroup's lane or elsewhere, depends on seed, rank and n alone; what
// does not fit into the bounded store of held ones is not held.
int co_lossy_open(struct co_transport **out, struct co_transport *below, const struct co_fault_plan *plan, int rank,
                  co_classify_fn classify, co_now_fn now, void *now_arg);

#endif
