// SPDX-License-Identifier: BSD-3-Clause
//
// Receiving beside the engine (S1, section 4: receive workers that share nothing): a lane takes one subgroup's
// datagrams from the kernel and verifies their tags, which is most of the work, and leaves them for whoever holds the
// engine to put in their place. A lane is empty, being filled, or full; filled by one thread, emptied under the
// engine's lock. What a tag is checked against is learnt from the datagrams that the engine has verified: numbers, no
// pointers, so a lane never looks at a team. Hot.
#ifndef CASTOFF_MCAST_RECEIVE_RECEIVE_LANE_H
#define CASTOFF_MCAST_RECEIVE_RECEIVE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/auth/auth.h"
#include "transport/transport.h"
#include "mcast/wire/wire.h"

#define CO_LANE_DATAGRAMS 1024 // of one fill
#define CO_LANE_SENDERS 32     // remembered

// A sender as the wire names it, and what its tags are made with.
struct co_lane_sender {
    bool is_known;
    uint32_t wire_team;
    uint16_t source;
    uint64_t team_id;
    int rank;
};

struct co_lane_datagram {
    const uint8_t *data;
    size_t bytes;
    int kind;              // co_wire_kind, or -EPROTO: no datagram of ours
    struct co_chunk chunk; // of a chunk and of a contribution
    bool is_verified;      // as a chunk of `rank` in team `team_id`
    uint64_t team_id;
    int rank;
};

struct co_receive_lane {
    _Atomic int state;
    unsigned index; // subgroup
    struct co_transport *transport;
    struct co_auth *auth; // of its own
    size_t tag_bytes;
    struct co_lane_sender senders[CO_LANE_SENDERS];
    bool has_more; // others may be waiting in the kernel
    unsigned count;
    struct co_lane_datagram datagrams[CO_LANE_DATAGRAMS];
};

// Opens the transport's lane too. 0 or -errno (-ENOTSUP: the transport has none).
int co_receive_lane_open(struct co_receive_lane **out, struct co_transport *transport, const struct co_auth *auth,
                         unsigned index);
void co_receive_lane_close(struct co_receive_lane *lane);

// Any thread. Positive: the lane is full and waits for take. 0: nothing came, or another thread is at it. -errno when
// the transport broke.
int co_receive_lane_fill(struct co_receive_lane *lane);

// The rest under the engine's lock. True: the lane is full, its datagrams belong to the caller until it gives it back.
bool co_receive_lane_take(struct co_receive_lane *lane);
void co_receive_lane_give(struct co_receive_lane *lane);

// The engine has verified a chunk of this sender. Only between take and give.
void co_receive_lane_learn(struct co_receive_lane *lane, const struct co_chunk *chunk, uint64_t team_id, int rank);

#endif
