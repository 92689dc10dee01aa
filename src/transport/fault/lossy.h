// SPDX-License-Identifier: BSD-3-Clause
//
// Decorator over any datagram transport that drops, repeats, reorders, delays, corrupts, truncates and black-holes
// what is sent, and misses what arrives, by rate and seed or by script, for each kind of datagram. Parsed from
// CASTOFF_FAULT or made by tests. It never reads headers itself: the classifier that tells the kind is handed in.
#ifndef CASTOFF_TRANSPORT_LOSSY_H
#define CASTOFF_TRANSPORT_LOSSY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport/transport.h"

enum co_fault_kind { CO_FAULT_DATA = 1, CO_FAULT_REPAIR = 2, CO_FAULT_CONTROL = 4, CO_FAULT_ALL = 7 };

#define CO_FAULT_SCRIPT_MAX 64

struct co_fault_plan {
    double drop, duplicate, reorder, delay, corrupt, truncate; // probability for each datagram
    double miss;                                               // ... that arrives: of a multicast the others have it
    uint64_t delay_ns;        // how long a delayed datagram is held; a reordered one up to that
    uint64_t seed;            // each endpoint mixes in its rank
    unsigned kinds;           // CO_FAULT_* mask of what the probabilities apply to; default ALL
    bool blackhole;           // all multicast vanishes
    uint64_t blackhole_after; // ... after so many multicast datagrams of this endpoint
    int victim;               // only what this rank sends, and what arrives there; -1 all
    // Drop exactly these first-transmission data datagrams (0, 1, ... counted by sender).
    uint64_t script[CO_FAULT_SCRIPT_MAX];
    unsigned script_count;
};

// "drop=0.01,miss=0.01,dup=0.01,reorder=0.05,delay=0.01:2ms,corrupt=0.001,truncate=0.001,seed=7,kind=data+control,
// blackhole=1,blackhole_after=100,rank=2,script=3:17:18". Empty: no fault. blackhole_after alone is enough; delay_ns
// is 1 ms and seed 1 unless given. Returns 0, or -EINVAL with the offending word in why.
int co_fault_plan_parse(struct co_fault_plan *plan, const char *text, char *why, size_t why_room);

// Of a datagram that arrives only the bytes are known; `to` is a peer then.
typedef enum co_fault_kind (*co_classify_fn)(struct co_destination to, const struct co_tx_datagram *datagram);
typedef uint64_t (*co_now_fn)(void *arg); // clock handed in, so that tests use virtual time

// Takes ownership of `below` (not on failure). Without a classifier everything is CO_FAULT_DATA. What befalls the n-th
// datagram sent, or the n-th that arrives at a subgroup's lane or elsewhere, depends on seed, rank and n alone; what
// does not fit into the bounded store of held ones is not held.
int co_lossy_open(struct co_transport **out, struct co_transport *below, const struct co_fault_plan *plan, int rank,
                  co_classify_fn classify, co_now_fn now, void *now_arg);

#endif
