// SPDX-License-Identifier: BSD-3-Clause
//
// What a sender makes of its path, in virtual time and so the same on every machine: links of 1 Mbit/s to 10 Gbit/s,
// with queues at the sender that refuse or drop, and with ports of a switch before the receivers that drop. How long it
// takes over the least that the slowest link allows, and how much has to be sent again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast/endpoint.h"
#include "mcast_world.h"

enum { CHUNK = 1400, TIMES = 3 };

struct path {
    int members;
    size_t bytes;
    bool is_allgather;
    double link_mbit; // of each sender
    size_t queue_bytes;
    bool drops;
    double port_mbit; // of the switch, to each receiver
    size_t port_bytes;
    unsigned longest;  // hundredths of the limit, the first time not counted
    unsigned repaired; // hundredths of what was placed, likewise
};

static const struct path paths[] = {
    // A slow link, whose queue is the sender's own.
    {8, 262144, false, 2, 250000, false, 2, 0, 108, 1},
    {8, 262144, false, 5, 250000, false, 5, 0, 108, 1},
    {8, 1048576, false, 10, 125000, true, 10, 125000, 105, 1},
    {8, 1048576, false, 20, 250000, true, 20, 2000000, 105, 1},
    {8, 1048576, false, 50, 250000, false, 50, 0, 105, 1},
    {8, 1048576, false, 200, 256000, false, 200, 250000, 105, 1},
    {8, 1048576, false, 1000, 256000, false, 1000, 0, 108, 1},
    {8, 4194304, false, 10000, 256000, false, 10000, 0, 130, 1},
    // A fast sender before slower ports.
    {4, 4194304, false, 10000, 10000000, false, 200, 1048576, 105, 1},
    {4, 4194304, false, 10000, 10000000, false, 200, 262144, 105, 5},
    // All send.
    {8, 262144, true, 200, 256000, false, 200, 250000, 110, 5},
    {8, 131072, true, 20, 250000, true, 20, 250000, 125, 5},
    // More members than a source hears by itself.
    {64, 524288, false, 10, 125000, true, 10, 125000, 120, 1},
};

static double limit_ns(const struct path *path)
{
    double mbit = path->port_mbit < path->link_mbit ? path->port_mbit : path->link_mbit;
    return (double)path->bytes * (path->is_allgather ? path->members - 1 : 1) * 8000 / mbit;
}

static void open_world(struct world *world, const struct path *path)
{
    struct world_options options = world_defaults(path->members);
    options.chunk_bytes = CHUNK;
    options.window_bytes = 2 << 20;
    options.staging_bytes = 8 << 20;
    options.eager_bytes = 65536;
    options.latency_ns = 50 * CO_NS_PER_US;
    options.bytes_per_s = (uint64_t)(path->link_mbit * 125000);
    options.egress_queue_bytes = path->queue_bytes;
    options.egress_drops = path->drops;
    options.port_bytes_per_s = (uint64_t)(path->port_mbit * 125000);
    options.port_queue_bytes = path->port_bytes;
    world_open(world, &options);
}

static void run(const struct path *path)
{
    struct world world;
    open_world(&world, path);
    double placed = (double)path->bytes * (path->members - 1) * (path->is_allgather ? path->members : 1);
    for (unsigned i = 0; i < TIMES; i++) {
        uint64_t began_ns = co_loopback_now_ns(world.hub), fetched = co_counter_read(CO_COUNT_FETCH_BYTES);
        if (path->is_allgather) {
            world_allgather(&world, path->bytes, i);
        } else {
            world_bcast(&world, 0, path->bytes, i);
        }
        double took_ns = (double)(co_loopback_now_ns(world.hub) - began_ns);
        double over = 100 * took_ns / limit_ns(path);
        double repaired = 100 * (double)(co_counter_read(CO_COUNT_FETCH_BYTES) - fetched) / placed;
        print_message("%2d members, %s %zu, %g Mbit/s, ports %g: %.0f %% of the limit, %.1f %% repaired\n",
                      path->members, path->is_allgather ? "Allgather" : "Bcast", path->bytes, path->link_mbit,
                      path->port_mbit, over, repaired);
        if (i > 0) {
            assert_true(over <= path->longest);
            assert_true(repaired <= path->repaired);
        }
    }
    world_settle(&world, 60 * CO_NS_PER_S);
    world_close(&world);
}

static void near_the_limit_and_little_sent_again(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        run(&paths[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(near_the_limit_and_little_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
