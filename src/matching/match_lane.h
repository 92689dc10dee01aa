// SPDX-License-Identifier: BSD-3-Clause
//
// Batches of messages matched by several lanes at once (S2, section 4): each lane books the receive that its message
// would take, waits until all earlier lanes have, and takes it unless one of them wants it, too. Then it takes the one
// that stands as many places further in a run of equal receives (fast path), or looks anew when all earlier lanes are
// done (slow path). The result is that of the messages arriving one after the other. The caller holds the
// communicator's lock from begin to end, so posts and cancels fall between batches. Lane code is freestanding: no libc,
// no locks, no allocation; waiting is the caller's. Hot.
#ifndef CASTOFF_MATCHING_MATCH_LANE_H
#define CASTOFF_MATCHING_MATCH_LANE_H

#include <stdalign.h>

#include "base/atomics.h"
#include "matching/matcher.h"

// Bits of a booking.
#ifndef CO_MATCH_LANES_MAX
#define CO_MATCH_LANES_MAX 32
#endif

enum co_match_stage { CO_LANE_SEARCHES, CO_LANE_HAS_BOOKED, CO_LANE_HAS_JUDGED, CO_LANE_IS_DONE };
enum co_match_path { CO_PATH_FREE, CO_PATH_FAST, CO_PATH_SLOW, CO_PATHS };

struct co_match_lane {
    alignas(CO_LINE_PAIR) _Atomic uint32_t stage; // enum co_match_stage
    bool has_conflict;                            // written before CO_LANE_HAS_JUDGED
    uint32_t candidate;                           // place plus one of the receive that it booked, 0: none
    uint32_t taken; // place of its receive plus one, 0: none; written before CO_LANE_IS_DONE
    enum co_match_path path;
    // Of each class's bin: nothing before that place suits such a message any more; 0: the bin holds nothing that does.
    // Valid where it has searched (and not only beside what others booked); written before CO_LANE_IS_DONE.
    uint32_t from[CO_MATCH_CLASSES];
    bool knows_from;
};

struct co_match_batch {
    struct co_matcher *matcher;
    unsigned count;                          // messages, and so lanes
    bool early_check;                        // look past what an earlier lane has booked already
    void (*pause)(void *arg, unsigned lane); // called again and again while a lane waits
    void *pause_arg;
    struct co_match_node *messages[CO_MATCH_LANES_MAX];
    struct co_match_hashes hashes[CO_MATCH_LANES_MAX];
    struct co_match_node *receives[CO_MATCH_LANES_MAX]; // after the end: who takes each, NULL: it waits
    struct co_match_lane lanes[CO_MATCH_LANES_MAX];
    _Atomic uint32_t faults; // receives taken twice: never, unless the algorithm is broken
};

// The caller has set matcher, count, messages, hashes, early_check and pause. False: the list holds receives, so the
// batch was matched inline, and is over.
bool co_match_batch_begin(struct co_match_batch *batch);
// Once for each lane, by any thread, all beside each other or in ascending order.
void co_match_lane_run(struct co_match_batch *batch, unsigned lane);
// The two halves of that, for one thread that stands for all lanes: all book, then each settles, in ascending order. So
// they meet as lanes do that run at the same pace.
void co_match_lane_book(struct co_match_batch *batch, unsigned lane);
void co_match_lane_settle(struct co_match_batch *batch, unsigned lane);
// After all lanes.
void co_match_batch_end(struct co_match_batch *batch);

#endif
