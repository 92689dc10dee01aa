// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Whether a datagram is what it says (datagram_verify.c).
#ifndef CASTOFF_MCAST_RECEIVE_DATAGRAM_VERIFY_H
#define CASTOFF_MCAST_RECEIVE_DATAGRAM_VERIFY_H

#include "mcast/state/endpoint.h"

// The group of a chunk whose tag has verified, opened if it is not yet; NULL: it is dropped, and counted. by_lane: what
// a lane says of it; NULL: nothing. Nothing is opened before the tag has verified. `bytes`: without the tag.
struct co_mcast_group *co_datagram_verify_chunk(struct co_mcast *mcast, const struct co_chunk *chunk,
                                                const struct co_lane_datagram *by_lane, const uint8_t *data,
                                                size_t bytes);

struct co_verified_control {
    struct co_control control;
    struct co_mcast_seed *seed; // NULL: a message of the set-up probe
    int rank;                   // of its sender in the world
};

// A control message whose tag has verified and that has not come before. False: it is dropped, and counted.
bool co_datagram_verify_control(struct co_mcast *mcast, struct co_verified_control *verified, const uint8_t *data,
                                size_t bytes);
// Whether this member may say that to us.
bool co_datagram_is_rightful(const struct co_mcast_group *group, const struct co_control *control, const uint8_t *body);

#endif
