// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of the whole protocol look at inside an endpoint, or set there because no program could. They know an
// endpoint by its front door and by this: another layout of it is another mcast_inside.c.
#ifndef CASTOFF_TESTS_MCAST_INSIDE_H
#define CASTOFF_TESTS_MCAST_INSIDE_H

#include "mcast/mcast.h"
#include "mcast/wire/wire.h"

struct co_arrival;
struct co_receive_lane;

// What a transport, a lane and the parts give to the conductor or to each other.
void inside_deliver(struct co_mcast *mcast, const struct co_arrival *arrivals, unsigned count);
void inside_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane);
bool inside_take_chunk(struct co_mcast_op *op, const struct co_chunk *chunk, const uint8_t *payload, size_t bytes);
void inside_receive_nack(struct co_mcast_group *group, int from, const struct co_control *control, const uint8_t *body);
void inside_retransmit(struct co_mcast *mcast);
void inside_count_placed(struct co_mcast *mcast); // into the counters
void inside_send_control(struct co_mcast_group *group, int to, enum co_control_type type, uint32_t operation,
                         unsigned entries, const uint8_t *body, size_t body_bytes);

size_t inside_kept_bytes(const struct co_mcast *mcast);    // of copies that neighbours may still ask for
size_t inside_unheard_bytes(const struct co_mcast *mcast); // brought by repairs since multicast was heard last
size_t inside_bitmap_bytes(const struct co_mcast *mcast);  // of all operations
size_t inside_staged(const struct co_mcast *mcast);        // early chunks
int inside_early_queues(void);                             // of a group
size_t inside_seeds(const struct co_mcast *mcast);         // that are open
int inside_dead_peers(const struct co_mcast *mcast);
uint64_t inside_controls_sent(const struct co_mcast *mcast);
enum co_liveness_proof inside_liveness_proof(const struct co_mcast *mcast);
void inside_set_deadline(struct co_mcast *mcast, uint64_t deadline_ns);
void inside_set_unheard(struct co_mcast *mcast, int rank);
void inside_set_dead(struct co_mcast *mcast, int rank);

// Closed groups and teams' first words leave no more than they may.
void inside_require_few_left(const struct co_mcast *mcast);
// Nothing is kept, staged or to be sent again. May it still have early chunks of a member that has died?
void inside_require_nothing_left(const struct co_mcast *mcast, bool is_whole);

unsigned inside_early_nacks_most(void);
unsigned inside_early_nacks(const struct co_mcast_group *group); // kept for operations that have yet to begin here
bool inside_has_early_nack(const struct co_mcast_group *group, uint32_t operation);
struct co_mcast_seed *inside_seed(const struct co_mcast_group *group);
int inside_group_error(const struct co_mcast_group *group);     // with which its operations fail, 0: none
bool inside_is_credited(const struct co_mcast_group *group);    // all that was sent
uint32_t inside_uncredited(const struct co_mcast_group *group); // chunks of these
uint32_t inside_unheard(const struct co_mcast_group *group);    // sent chunks of which no member has said a word
void inside_require_group_at_rest(const struct co_mcast_group *group, bool is_whole);
// As if the group had done so many operations and moved so many chunks already.
void inside_age_group(struct co_mcast_group *group, uint32_t operations, uint32_t chunks);
void inside_number_operations(struct co_mcast_group *group, uint32_t next); // and nothing else
// Its next report never leaves.
void inside_keep_report(struct co_mcast_group *group);
bool inside_suspects(const struct co_mcast_group *group);                // some member, of being dead
uint64_t inside_probed_ns(const struct co_mcast *mcast, int rank);       // when it was asked last
bool inside_is_half_here(const struct co_mcast_op *op, int contributor); // its part of a collected allgather

#endif
