// SPDX-License-Identifier: BSD-3-Clause
//
// Which way small allgathers go, in virtual time: all members change over at the same operation, whoever is late,
// whatever is lost and outstanding, and nobody begins one before it is known which way that goes.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mix_bits.h"
#include "mcast/send/way_trials.h"
#include "mcast_world.h"

enum { MEMBERS = 5, COLLECTOR = 0x1234567800000007 % MEMBERS, COLLECT = 16000, OPERATIONS = 400, AT_ONCE = 48 };

static const uint64_t LIMIT_NS = UINT64_C(60000000000);

static struct world_options options_of(int members, const char *faults)
{
    struct world_options options = world_defaults(members);
    options.collect_bytes = COLLECT;
    options.faults = faults;
    return options;
}

static bool collects(const struct world *world, size_t bytes)
{
    size_t all = bytes * (size_t)world->options.members;
    bool is_so = co_mcast_group_collects(world->group[0], all);
    for (int rank = 1; rank < world->options.members; rank++) {
        assert_int_equal(co_mcast_group_collects(world->group[rank], all), is_so);
    }
    return is_so;
}

// A slow link carries what is collected twice: found out, and changed, by all.
static void slow_links_are_found(void **state)
{
    (void)state;
    struct world_options options = options_of(4, NULL);
    options.bytes_per_s = options.port_bytes_per_s = 250000;
    options.port_queue_bytes = 64000;
    struct world world;
    world_open(&world, &options);
    uint64_t first_ns = 0, began_ns = 0;
    for (unsigned round = 0; round < 200; round++) {
        began_ns = co_loopback_now_ns(world.hub);
        bool is_collected = collects(&world, 900);
        assert_true(is_collected || round >= CO_WAY_TRIAL_WARM + CO_WAYS_LATER);
        assert_true(!is_collected || round < 140);
        assert_true(collects(&world, 2)); // of another class
        world_allgather(&world, 900, round);
        first_ns = round == 2 ? co_loopback_now_ns(world.hub) - began_ns : first_ns;
    }
    assert_true(co_loopback_now_ns(world.hub) - began_ns < first_ns * 3 / 4);
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

struct job {
    struct world world;
    struct co_mcast_op *ops[MEMBERS][OPERATIONS];
    unsigned char *buffers[MEMBERS][OPERATIONS];
    bool collected[MEMBERS][OPERATIONS];
    int started[MEMBERS], ended[MEMBERS];
    uint64_t next_ns[MEMBERS]; // when the member goes on
    unsigned held_up;
};

static size_t bytes_of(int operation)
{
    static const size_t sizes[] = {900, 900, 40, 900, 5000, 900, 2500};
    return sizes[operation % 7];
}

static bool is_bcast(int operation)
{
    return operation % 23 == 22;
}

static void start(struct job *job, int rank, int operation)
{
    struct world *world = &job->world;
    size_t bytes = bytes_of(operation);
    uint64_t now_ns = co_loopback_now_ns(world->hub);
    unsigned char *buffer = job->buffers[rank][operation] = calloc(MEMBERS, bytes);
    int root = operation % MEMBERS, status;
    if (!is_bcast(operation) || rank == root) {
        pattern_fill(buffer + (size_t)rank * bytes, bytes, (unsigned)(operation * 10 + rank));
    }
    job->collected[rank][operation] = co_mcast_group_collects(world->group[rank], MEMBERS * bytes);
    if (is_bcast(operation)) {
        status = co_mcast_bcast_start(&job->ops[rank][operation], world->group[rank], root,
                                      buffer + (size_t)root * bytes, bytes, now_ns);
    } else {
        status = co_mcast_allgather_start(&job->ops[rank][operation], world->group[rank], buffer, bytes, now_ns);
    }
    assert_int_equal(status, 0);
}

static void finish(struct job *job, int rank, int operation)
{
    size_t bytes = bytes_of(operation);
    for (int source = 0; source < MEMBERS; source++) {
        if (!is_bcast(operation) || source == operation % MEMBERS) {
            assert_true(pattern_matches(job->buffers[rank][operation] + (size_t)source * bytes, bytes,
                                        (unsigned)(operation * 10 + source)));
        }
    }
    co_mcast_op_release(job->ops[rank][operation]);
    free(job->buffers[rank][operation]);
}

// Starts as many as its dice say, at any time, and ends the oldest; sometimes it waits for all.
static void move(struct job *job, int rank, unsigned seed)
{
    uint64_t now_ns = co_loopback_now_ns(job->world.hub);
    int *started = &job->started[rank], *ended = &job->ended[rank];
    while (*ended < *started && co_mcast_op_state(job->ops[rank][*ended]) == 1) {
        finish(job, rank, (*ended)++);
    }
    if (now_ns < job->next_ns[rank]) {
        return;
    }
    uint64_t dice = co_mix_bits(seed * 1000003u + (unsigned)(*started * MEMBERS + rank));
    int at_once = *started / 100 % 2 == 0 ? 1 : 1 + (int)(dice % AT_ONCE); // first one by one, so that trials learn
    while (*started < OPERATIONS && *started - *ended < at_once) {
        if (!co_mcast_group_may_start(job->world.group[rank])) {
            job->held_up++;
            return;
        }
        start(job, rank, (*started)++);
    }
    job->next_ns[rank] = now_ns + (dice >> 32) % 400000;
}

static unsigned run_random(unsigned seed, const char *faults)
{
    struct job *job = calloc(1, sizeof(*job));
    struct world_options options = options_of(MEMBERS, faults);
    options.bytes_per_s = options.port_bytes_per_s = 2500000;
    options.port_queue_bytes = 64000;
    world_open(&job->world, &options);
    unsigned ended = 0, apart = 0;
    uint64_t until_ns = co_loopback_now_ns(job->world.hub) + LIMIT_NS;
    while (ended < MEMBERS) {
        ended = 0;
        for (int rank = 0; rank < MEMBERS; rank++) {
            move(job, rank, seed);
            ended += job->ended[rank] == OPERATIONS;
        }
        if (!world_turn(&job->world)) {
            co_loopback_advance(job->world.hub, co_loopback_now_ns(job->world.hub) + 10000);
        }
        assert_true(co_loopback_now_ns(job->world.hub) < until_ns);
    }
    for (int operation = 0; operation < OPERATIONS; operation++) {
        for (int rank = 1; rank < MEMBERS; rank++) {
            assert_int_equal(job->collected[rank][operation], job->collected[0][operation]);
        }
        apart += !is_bcast(operation) && bytes_of(operation) == 900 && !job->collected[0][operation];
    }
    world_settle(&job->world, LIMIT_NS);
    world_close(&job->world);
    free(job);
    return apart;
}

static void nobody_disagrees(void **state)
{
    (void)state;
    static const char *const plans[] = {NULL, "drop=0.02,seed=1", "drop=0.05,dup=0.1,reorder=0.2,seed=2",
                                        "drop=0.2,kind=data,seed=3"};
    unsigned apart = 0;
    for (unsigned seed = 0; seed < 12; seed++) {
        apart += run_random(seed, plans[seed % 4]);
    }
    assert_true(apart > 0); // ways have changed
}

// Who could not know begins nothing, of whatever kind.
static void what_is_not_known_is_waited_for(void **state)
{
    (void)state;
    struct world_options options = options_of(MEMBERS, NULL);
    struct world world;
    world_open(&world, &options);
    static struct co_mcast_op *ops[MEMBERS][CO_WAYS_LATER];
    static unsigned char buffers[MEMBERS][CO_WAYS_LATER + 1][MEMBERS];
    struct co_mcast_op *all[MEMBERS * CO_WAYS_LATER], *more = NULL;
    for (int rank = 0; rank < MEMBERS; rank++) {
        for (int i = 0; i < CO_WAYS_LATER && rank != COLLECTOR; i++) {
            assert_true(co_mcast_group_may_start(world.group[rank]));
            assert_int_equal(co_mcast_allgather_start(&ops[rank][i], world.group[rank], buffers[rank][i], 1, 0), 0);
        }
    }
    for (int i = 0; i < 100; i++) {
        world_turn(&world);
    }
    uint64_t now_ns = co_loopback_now_ns(world.hub);
    for (int rank = 0; rank < MEMBERS; rank++) {
        unsigned char *buffer = buffers[rank][CO_WAYS_LATER];
        assert_int_equal(co_mcast_group_may_start(world.group[rank]), rank == COLLECTOR);
        if (rank != COLLECTOR) {
            assert_int_equal(co_mcast_allgather_start(&more, world.group[rank], buffer, 1, now_ns), -EAGAIN);
            assert_int_equal(co_mcast_bcast_start(&more, world.group[rank], 0, buffer, 1, now_ns), -EAGAIN);
        }
    }
    for (int i = 0; i < CO_WAYS_LATER; i++) {
        assert_int_equal(
            co_mcast_allgather_start(&ops[COLLECTOR][i], world.group[COLLECTOR], buffers[COLLECTOR][i], 1, now_ns), 0);
    }
    memcpy(all, ops, sizeof(all));
    world_run(&world, all, MEMBERS * CO_WAYS_LATER, LIMIT_NS);
    for (int i = 0; i < MEMBERS * CO_WAYS_LATER; i++) {
        assert_true(co_mcast_group_may_start(world.group[i / CO_WAYS_LATER]));
        co_mcast_op_release(all[i]);
    }
    world_settle(&world, LIMIT_NS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_links_are_found),
        cmocka_unit_test(nobody_disagrees),
        cmocka_unit_test(what_is_not_known_is_waited_for),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    world_is_like_verbs = true;
    return failed + cmocka_run_group_tests_name("over verbs", tests, NULL, NULL);
}
