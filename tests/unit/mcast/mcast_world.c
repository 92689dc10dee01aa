// SPDX-License-Identifier: BSD-3-Clause
//
// The virtual job behind the protocol tests.
#include "mcast_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

bool world_is_like_verbs;

struct world_options world_defaults(int members)
{
    return (struct world_options){.members = members,
                                  .chunk_bytes = 100,
                                  .window_bytes = 20000,
                                  .staging_bytes = 1 << 20,
                                  .eager_bytes = 1000,
                                  .subgroups = 1,
                                  .form = CO_AUTH_CHECK,
                                  .ack_radix = 16,
                                  .bytes_per_s = 25000000,
                                  .latency_ns = 20000,
                                  .egress_queue_bytes = 64000,
                                  .like_verbs = world_is_like_verbs,
                                  .has_reads = world_is_like_verbs,
                                  .read_bytes = 1};
}

static uint64_t hub_now(void *hub)
{
    return co_loopback_now_ns(hub);
}

int world_group_open(struct co_mcast_group **out, struct co_mcast *mcast, uint64_t id, const int *members,
                     const int *units, int count, int self)
{
    struct co_mcast_seed *seed;
    int status = co_mcast_seed_open(&seed, mcast, id, members, count, self);
    if (status < 0) {
        return status;
    }
    status = co_mcast_group_open(out, mcast, seed, units);
    if (status < 0) {
        co_mcast_seed_close(mcast, seed);
    }
    return status;
}

static void open_endpoint(struct world *world, int rank, const int *everybody)
{
    const struct world_options *options = &world->options;
    uint8_t key[CO_AUTH_KEY_BYTES] = {42};
    assert_int_equal(co_auth_open(&world->auth[rank], key, options->members, options->form), 0);
    assert_int_equal(co_loopback_endpoint_open(&world->transport[rank], world->hub, rank), 0);
    if (options->faults != NULL) {
        struct co_fault_plan plan;
        char why[100];
        assert_int_equal(co_fault_plan_parse(&plan, options->faults, why, sizeof(why)), 0);
        struct co_transport *below = world->transport[rank];
        assert_int_equal(
            co_lossy_open(&world->transport[rank], below, &plan, rank, co_mcast_classify, hub_now, world->hub), 0);
    }
    struct co_mcast_config config = {.transport = world->transport[rank],
                                     .auth = world->auth[rank],
                                     .world_rank = rank,
                                     .world_size = options->members,
                                     .subgroups = options->subgroups,
                                     .chunk_bytes = options->chunk_bytes,
                                     .window_bytes = options->window_bytes,
                                     .shared_window_bytes = options->shared_window_bytes,
                                     .staging_bytes = options->staging_bytes,
                                     .eager_bytes = options->eager_bytes,
                                     .collect_bytes = options->collect_bytes,
                                     .chains = options->chains,
                                     .ack_radix = options->ack_radix,
                                     .read_bytes = options->read_bytes,
                                     .cutoff_ns = 200000};
    assert_int_equal(co_mcast_open(&world->mcast[rank], &config), 0);
    assert_int_equal(world_group_open(&world->group[rank], world->mcast[rank], 0x1234567800000007, everybody, NULL,
                                      options->members, rank),
                     0);
}

void world_open(struct world *world, const struct world_options *options)
{
    memset(world, 0, sizeof(*world));
    world->options = *options;
    struct co_loopback_config hub = {.endpoints = options->members,
                                     .max_datagram_bytes = 9000,
                                     .latency_ns = options->latency_ns,
                                     .jitter_ns = options->jitter_ns,
                                     .bytes_per_s = options->bytes_per_s,
                                     .egress_queue_bytes = options->egress_queue_bytes,
                                     .egress_drops = options->egress_drops,
                                     .port_bytes_per_s = options->port_bytes_per_s,
                                     .port_queue_bytes = options->port_queue_bytes,
                                     .burst_bytes = options->burst_bytes,
                                     .ingress_queue_bytes = options->ingress_queue_bytes,
                                     .like_verbs = options->like_verbs,
                                     .regions_max = options->regions_max,
                                     .has_reads = options->has_reads,
                                     .loans_max = options->loans_max};
    assert_int_equal(co_loopback_hub_open(&world->hub, &hub), 0);
    int everybody[WORLD_MAX];
    for (int rank = 0; rank < options->members; rank++) {
        everybody[rank] = rank;
    }
    for (int rank = 0; rank < options->members; rank++) {
        open_endpoint(world, rank, everybody);
    }
}

void world_close(struct world *world)
{
    for (int rank = 0; rank < world->options.members; rank++) {
        if (world->mcast[rank] == NULL) {
            continue;
        }
        if (world->group[rank] != NULL) {
            co_mcast_group_close(world->group[rank]);
        }
        co_mcast_close(world->mcast[rank]);
        world->transport[rank]->ops->close(world->transport[rank]);
        co_auth_close(world->auth[rank]);
    }
    co_loopback_hub_close(world->hub);
}

bool world_turn(struct world *world)
{
    uint64_t now = co_loopback_now_ns(world->hub);
    uint64_t next = UINT64_MAX;
    int events = 0;
    for (int rank = 0; rank < world->options.members; rank++) {
        if (world->mcast[rank] == NULL) {
            continue;
        }
        int moved = co_mcast_progress(world->mcast[rank], now);
        assert_true(moved >= 0);
        events += moved;
        bool wants_write;
        uint64_t timer = co_mcast_next_timer_ns(world->mcast[rank], &wants_write);
        next = timer < next ? timer : next;
    }
    uint64_t arrival = co_loopback_next_ns(world->hub);
    next = arrival != 0 && arrival < next ? arrival : next;
    if (events > 0) {
        return true; // the program acts on it before time goes on
    }
    if (next == UINT64_MAX) {
        return false;
    }
    co_loopback_advance(world->hub, next > now ? next : now + 1000);
    return true;
}

void world_run(struct world *world, struct co_mcast_op **ops, int count, uint64_t limit_ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + limit_ns;
    for (;;) {
        int open = 0;
        for (int i = 0; i < count; i++) {
            open += ops[i] != NULL && co_mcast_op_state(ops[i]) == 0;
        }
        if (open == 0) {
            return;
        }
        if (!world_turn(world) || co_loopback_now_ns(world->hub) > end) {
            char text[200] = "";
            for (int i = 0; i < count; i++) {
                if (ops[i] != NULL && co_mcast_op_state(ops[i]) == 0) {
                    co_mcast_op_describe(ops[i], text, sizeof(text));
                    print_error("rank %d still waits for %s\n", i, text);
                }
            }
            fail_msg("%d operations did not end within %lu ms of virtual time", open,
                     (unsigned long)(limit_ns / 1000000));
        }
    }
}

void world_settle(struct world *world, uint64_t limit_ns)
{
    uint64_t end = co_loopback_now_ns(world->hub) + limit_ns;
    for (;;) {
        bool idle = true;
        for (int rank = 0; rank < world->options.members; rank++) {
            idle = idle && (world->mcast[rank] == NULL || co_mcast_is_idle(world->mcast[rank]));
        }
        if (idle) {
            return;
        }
        assert_true(co_loopback_now_ns(world->hub) <= end);
        world_turn(world);
    }
}

#define LIMIT_NS (UINT64_C(60) * 1000000000)

void world_bcast(struct world *world, int root, size_t bytes, unsigned seed)
{
    struct co_mcast_op *ops[WORLD_MAX] = {NULL};
    unsigned char *buffer[WORLD_MAX], *expected = calloc(1, bytes + 1);
    pattern_fill(expected, bytes, seed);
    for (int rank = 0; rank < world->options.members; rank++) {
        buffer[rank] = calloc(1, bytes + 1);
        if (rank == root) {
            memcpy(buffer[rank], expected, bytes);
        }
        assert_int_equal(co_mcast_bcast_start(&ops[rank], world->group[rank], root, buffer[rank], bytes,
                                              co_loopback_now_ns(world->hub)),
                         0);
    }
    world_run(world, ops, world->options.members, LIMIT_NS);
    for (int rank = 0; rank < world->options.members; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        assert_memory_equal(buffer[rank], expected, bytes + 1);
        co_mcast_op_release(ops[rank]);
        free(buffer[rank]);
    }
    free(expected);
}

void world_allgather(struct world *world, size_t bytes, unsigned seed)
{
    int members = world->options.members;
    struct co_mcast_op *ops[WORLD_MAX] = {NULL};
    unsigned char *buffer[WORLD_MAX], *expected = calloc((size_t)members, bytes);
    for (int rank = 0; rank < members; rank++) {
        pattern_fill(expected + (size_t)rank * bytes, bytes, seed + (unsigned)rank);
        buffer[rank] = calloc((size_t)members, bytes);
        memcpy(buffer[rank] + (size_t)rank * bytes, expected + (size_t)rank * bytes, bytes);
        assert_int_equal(co_mcast_allgather_start(&ops[rank], world->group[rank], buffer[rank], bytes,
                                                  co_loopback_now_ns(world->hub)),
                         0);
    }
    world_run(world, ops, members, LIMIT_NS);
    for (int rank = 0; rank < members; rank++) {
        assert_int_equal(co_mcast_op_state(ops[rank]), 1);
        assert_memory_equal(buffer[rank], expected, (size_t)members * bytes);
        co_mcast_op_release(ops[rank]);
        free(buffer[rank]);
    }
    free(expected);
}
