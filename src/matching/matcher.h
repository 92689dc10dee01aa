// SPDX-License-Identifier: BSD-3-Clause
//
// The optimistic matcher (S2): which receive takes which message, for one communicator. No MPI, no I/O, no clock, no
// allocation after open. The result is that of two lists searched in order: a message takes the matching receive that
// was posted first, a receive the matching message that arrived first; here both are found by hashing. One caller at a
// time (the communicator's lock); match_lane.h matches batches of messages by several lanes. Hot.
#ifndef CASTOFF_MATCHING_MATCHER_H
#define CASTOFF_MATCHING_MATCHER_H

#include <stddef.h>

#include "matching/match_key.h"

// A receive or a message, part of the caller's own struct. It belongs to the matcher from the call that hands it in
// until a call hands it out; source and tag are set before, the rest is the matcher's.
struct co_match_node {
    int32_t source, tag;
    uint64_t label; // order of posting, or of arrival
    uint32_t place; // in the table, plus one; 0: in the list
    bool waits;
    struct co_match_node *next, *previous; // in the list
};

struct co_matcher_config {
    uint32_t receives, messages; // places in the tables, at least 1; what is beyond stands in lists
    uint32_t bins;               // of each index, a power of two
};

struct co_matcher;

// Bytes of memory that open wants, aligned to 64 and zeroed. Pages that are never needed are never touched.
size_t co_matcher_bytes(const struct co_matcher_config *config);
struct co_matcher *co_matcher_open(void *memory, const struct co_matcher_config *config);
// Into other memory, as for open, of which no part is smaller; not while a batch runs. What waits stays as it is, and
// what stood in a list (its node has no place) gets one as long as there are some. The old memory is the caller's.
struct co_matcher *co_matcher_move(const struct co_matcher *matcher, void *memory,
                                   const struct co_matcher_config *config);
// As after open, for another communicator, where nothing waits and no more than `places` of each table were ever used.
// False: nothing has happened.
bool co_matcher_renew(struct co_matcher *matcher, uint32_t places);

// A receive comes: the message that it takes, or NULL: it waits.
struct co_match_node *co_matcher_post(struct co_matcher *matcher, struct co_match_node *receive);
// A message comes, in the order of its sender: the receive that takes it, or NULL: nobody waits for it, and nothing has
// happened. Then it has to be handed in by co_matcher_arrive before anything else is asked.
struct co_match_node *co_matcher_claim(struct co_matcher *matcher, int32_t source, int32_t tag);
// The same with a node that stands for it: the receive that takes it, or NULL: it waits. `hashes` of its source and
// tag, NULL: computed here.
struct co_match_node *co_matcher_arrive(struct co_matcher *matcher, struct co_match_node *message,
                                        const struct co_match_hashes *hashes);

// The message that such a receive would take now, or NULL. It stays.
struct co_match_node *co_matcher_probe(const struct co_matcher *matcher, int32_t source, int32_t tag);
// The same, but it is taken: nobody else finds it (MPI_Mprobe).
struct co_match_node *co_matcher_take(struct co_matcher *matcher, int32_t source, int32_t tag);
// Undoes that: the message stands where it stood among those that wait. A receive that waits may want it now, and gets
// it: that one is returned, or NULL.
struct co_match_node *co_matcher_put_back(struct co_matcher *matcher, struct co_match_node *message);

// False: it does not wait any more (or never did), a message has it.
bool co_matcher_cancel(struct co_matcher *matcher, struct co_match_node *receive);

// All receives that wait, in no order. `visit` must not change anything. Slow: looks into every bin.
void co_matcher_visit_receives(const struct co_matcher *matcher,
                               void (*visit)(struct co_match_node *receive, void *arg), void *arg);

struct co_matcher_state {
    uint32_t receives, messages;               // that wait
    uint32_t receives_high, messages_high;     // most that ever waited
    uint32_t listed_receives, listed_messages; // of them beyond the tables
    uint64_t matches[CO_MATCH_CLASSES];        // by the receive's class
    uint64_t unexpected;                       // messages that came before their receive
    uint64_t free_path, fast_path, slow_path;  // lanes of batches
};
void co_matcher_state(const struct co_matcher *matcher, struct co_matcher_state *state);

#endif
