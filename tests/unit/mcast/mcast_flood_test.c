// SPDX-License-Identifier: BSD-3-Clause
//
// Who floods the groups with junk takes room and time, and nothing else: members that never see the end of what waits
// ask all the same for what was lost. What waits behind junk for a while is not asked for. In virtual time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { MEMBERS = 4, BYTES = 3000, JUNK_MOST = 1024, WAITING_POLLS = 40, JUNK_NS = 100000 };

static const struct co_transport_ops *below;
static struct co_loopback_hub *hub;
static unsigned flooded_polls; // so many, of all members, still find junk alone, which takes time
static bool is_flooded;        // every poll finds junk besides

static void deliver_junk(unsigned count, co_deliver_fn deliver, void *arg)
{
    static const uint8_t junk[1472] = {0xa5};
    struct co_arrival arrivals[CO_DELIVER_AT_ONCE];
    while (count > 0) {
        unsigned now = count < CO_DELIVER_AT_ONCE ? count : CO_DELIVER_AT_ONCE;
        for (unsigned i = 0; i < now; i++) {
            arrivals[i] = (struct co_arrival){.data = junk, .bytes = sizeof(junk)};
        }
        deliver(arg, arrivals, now);
        count -= now;
    }
}

static int poll_flooded(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    assert_true(budget <= JUNK_MOST);
    if (flooded_polls > 0) {
        flooded_polls--;
        deliver_junk(budget, deliver, arg);
        co_loopback_advance(hub, co_loopback_now_ns(hub) + JUNK_NS);
        return (int)budget;
    }
    int taken = below->poll(transport, budget, deliver, arg);
    if (taken < 0 || !is_flooded || (unsigned)taken >= budget) {
        return taken;
    }
    deliver_junk(budget - (unsigned)taken, deliver, arg);
    return (int)budget;
}

// All members of the world poll through the above.
static void flood(struct world *world)
{
    static struct co_transport_ops ops;
    below = world->transport[0]->ops;
    ops = *below;
    ops.poll = poll_flooded;
    hub = world->hub;
    for (int rank = 0; rank < MEMBERS; rank++) {
        world->transport[rank]->ops = &ops;
    }
}

static void what_is_lost_is_asked_for(void **state)
{
    (void)state; // operations did not end before the flood did
    struct world world;
    struct world_options options = world_defaults(MEMBERS);
    options.faults = "script=0:7:29,kind=data";
    world_open(&world, &options);
    uint64_t malformed = co_counter_read(CO_COUNT_DROP_MALFORMED), fetched = co_counter_read(CO_COUNT_RETRANSMITTED);
    is_flooded = true;
    flood(&world);
    world_bcast(&world, 0, BYTES, 1);
    world_allgather(&world, BYTES, 2);
    is_flooded = false;
    assert_true(co_counter_read(CO_COUNT_RETRANSMITTED) > fetched);
    assert_true(co_counter_read(CO_COUNT_DROP_MALFORMED) - malformed > 16384);
    world_close(&world);
}

static void what_waits_is_not_asked_for(void **state)
{
    (void)state;
    struct world world;
    struct world_options options = world_defaults(MEMBERS);
    world_open(&world, &options);
    flood(&world);
    world_bcast(&world, 0, BYTES, 1);
    uint64_t asked = co_counter_read(CO_COUNT_NACKS_SENT);
    for (unsigned i = 0; i < 8; i++) {
        flooded_polls = WAITING_POLLS * MEMBERS;
        world_bcast(&world, (int)i % MEMBERS, BYTES, i);
    }
    assert_int_equal(flooded_polls, 0);
    assert_int_equal(co_counter_read(CO_COUNT_NACKS_SENT), asked);
    world_close(&world);
}

// How much repairs have brought since multicast was heard last shows where it comes no more.
static void what_is_heard_again_has_not_stopped(void **state)
{
    (void)state;
    struct world world;
    struct world_options options = world_defaults(MEMBERS);
    options.faults = "drop=0.2,kind=data,seed=9";
    world_open(&world, &options);
    size_t most = 0;
    for (unsigned i = 0; i < 20; i++) {
        world_bcast(&world, 0, BYTES, i);
        for (int rank = 0; rank < MEMBERS; rank++) {
            size_t unheard = inside_unheard_bytes(world.mcast[rank]);
            most = unheard > most ? unheard : most;
        }
    }
    assert_int_equal(inside_unheard_bytes(world.mcast[0]), 0); // it has sent all of them
    assert_in_range(most, 100, BYTES - 100);
    world_close(&world);
}

static void what_stops_is_seen(void **state)
{
    (void)state;
    struct world world;
    struct world_options options = world_defaults(MEMBERS);
    options.faults = "blackhole_after=50";
    world_open(&world, &options);
    world_bcast(&world, 0, BYTES, 1);
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(inside_unheard_bytes(world.mcast[rank]), 0);
    }
    world_bcast(&world, 0, BYTES, 2);
    world_bcast(&world, 0, BYTES, 3);
    for (int rank = 1; rank < MEMBERS; rank++) {
        assert_in_range(inside_unheard_bytes(world.mcast[rank]), BYTES + 1, 2 * BYTES);
        assert_true(co_counter_read(CO_COUNT_UNHEARD_BYTES) > BYTES);
    }
    world_bcast(&world, 1, BYTES, 4); // whose multicast goes on
    assert_true(inside_unheard_bytes(world.mcast[2]) < BYTES);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_is_asked_for),
        cmocka_unit_test(what_waits_is_not_asked_for),
        cmocka_unit_test(what_is_heard_again_has_not_stopped),
        cmocka_unit_test(what_stops_is_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
