// SPDX-License-Identifier: BSD-3-Clause
#include "head_counts.h"

#include <stdatomic.h>
#include <string.h>

#include "mcast/mcast_receive.h"
#include "mcast/receive/landing.h"
#include "mcast/receive/receive_lane.h"

#define MOST 512 // datagrams on their way in at a time

static _Atomic uint64_t datagrams, landed, of_lanes, decoded, twice, outside;

// What this thread has in hand.
static _Thread_local struct {
    bool is_filling; // a lane, which is told what comes by the transport
    unsigned filled; // heads decoded meanwhile: the last ones of a job are delivered to nobody
    unsigned count;
    const uint8_t *heads[MOST];
    uint8_t times[MOST];
} in_hand;

struct head_counts head_counts_take(void)
{
    return (struct head_counts){.datagrams = atomic_exchange(&datagrams, 0),
                                .landed = atomic_exchange(&landed, 0),
                                .of_lanes = atomic_exchange(&of_lanes, 0),
                                .decoded = atomic_exchange(&decoded, 0),
                                .twice = atomic_exchange(&twice, 0),
                                .outside = atomic_exchange(&outside, 0)};
}

static void note(const uint8_t *head)
{
    if (in_hand.is_filling) {
        in_hand.filled++;
        return;
    }
    atomic_fetch_add(&decoded, 1);
    for (unsigned i = 0; i < in_hand.count; i++) {
        if (in_hand.heads[i] == head) {
            atomic_fetch_add(&twice, in_hand.times[i]++ > 0);
            return;
        }
    }
    atomic_fetch_add(&outside, 1);
}

static void take_in_hand(const uint8_t *head, bool is_decoded)
{
    if (in_hand.count < MOST) {
        in_hand.heads[in_hand.count] = head;
        in_hand.times[in_hand.count++] = is_decoded;
    }
}

int __real_co_wire_chunk_decode(struct co_chunk *chunk, const uint8_t *data, size_t bytes);
int __wrap_co_wire_chunk_decode(struct co_chunk *chunk, const uint8_t *data, size_t bytes);
int __wrap_co_wire_chunk_decode(struct co_chunk *chunk, const uint8_t *data, size_t bytes)
{
    note(data);
    return __real_co_wire_chunk_decode(chunk, data, bytes);
}

int __real_co_wire_control_decode(struct co_control *control, const uint8_t *data, size_t bytes);
int __wrap_co_wire_control_decode(struct co_control *control, const uint8_t *data, size_t bytes);
int __wrap_co_wire_control_decode(struct co_control *control, const uint8_t *data, size_t bytes)
{
    note(data);
    return __real_co_wire_control_decode(control, data, bytes);
}

void __real_co_mcast_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);
void __wrap_co_mcast_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count);
void __wrap_co_mcast_deliver(void *mcast, const struct co_arrival *arrivals, unsigned count)
{
    in_hand.count = 0;
    for (unsigned i = 0; i < count; i++) {
        take_in_hand(arrivals[i].data, false);
    }
    atomic_fetch_add(&datagrams, count);
    __real_co_mcast_deliver(mcast, arrivals, count);
    in_hand.count = 0;
}

// The head of a chunk has been decoded when the lane is full; of a control message it has looked at the kind.
void __real_co_mcast_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane);
void __wrap_co_mcast_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane);
void __wrap_co_mcast_deliver_lane(struct co_mcast *mcast, struct co_receive_lane *lane)
{
    in_hand.count = 0;
    for (unsigned i = 0; i < lane->count; i++) {
        take_in_hand(lane->datagrams[i].data, lane->datagrams[i].kind != CO_WIRE_CONTROL);
    }
    atomic_fetch_add(&datagrams, lane->count);
    atomic_fetch_add(&of_lanes, lane->count);
    atomic_fetch_add(&decoded, in_hand.filled);
    in_hand.filled = 0;
    __real_co_mcast_deliver_lane(mcast, lane);
    in_hand.count = 0;
}

int __real_co_receive_lane_fill(struct co_receive_lane *lane);
int __wrap_co_receive_lane_fill(struct co_receive_lane *lane);
int __wrap_co_receive_lane_fill(struct co_receive_lane *lane)
{
    in_hand.is_filling = true;
    int status = __real_co_receive_lane_fill(lane);
    in_hand.is_filling = false;
    return status;
}

static _Atomic(const struct co_lander *) lander; // the one that all endpoints have

static void deliver_landed(void *mcast, const struct co_arrival *arrivals, unsigned count)
{
    in_hand.count = 0;
    for (unsigned i = 0; i < count; i++) {
        take_in_hand(arrivals[i].data, false);
    }
    atomic_fetch_add(&datagrams, count);
    atomic_fetch_add(&landed, count);
    atomic_load(&lander)->deliver(mcast, arrivals, count);
    in_hand.count = 0;
}

void __real_co_landing_open(struct co_mcast *mcast, const struct co_lander *of);
void __wrap_co_landing_open(struct co_mcast *mcast, const struct co_lander *of);
void __wrap_co_landing_open(struct co_mcast *mcast, const struct co_lander *of)
{
    static const struct co_lander counting = {
        .expects = co_landing_expects, .is_expected = co_landing_is_expected, .deliver = deliver_landed};
    atomic_store(&lander, of);
    __real_co_landing_open(mcast, &counting);
}
