// SPDX-License-Identifier: BSD-3-Clause
//
// What repair costs a whole program, in virtual time and so the same on every machine: with much loss, with none, with
// multicast that dies in mid-job and comes back, with receivers that are overrun.
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/counters.h"
#include "mcast_world.h"

#define MEMBERS 4
#define OPERATIONS_MAX 1500
#define LIMIT_NS UINT64_C(200000000000)

// Broadcasts, each rank in its own time; `outstanding` of them at a time, 1: as MPI_Bcast in a loop.
struct program {
    int operations, outstanding;
    bool rotates; // or the last rank is always the root
    size_t (*bytes)(int operation);
    unsigned pause_ns; // a rank is away for up to so long after one of 50 operations; 0 never
};

struct bill {
    uint64_t ns, requests, fetched, faults;
};

struct side {
    struct co_mcast_op *ops[OPERATIONS_MAX];
    unsigned char *data[OPERATIONS_MAX];
    int begun, done;
    uint64_t back_ns; // away until then
};

static uint64_t dice;

static unsigned roll(unsigned below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((dice >> 33) % below);
}

static void end_operations(struct side *side, const struct program *program)
{
    while (side->done < side->begun && co_mcast_op_state(side->ops[side->done]) != 0) {
        int operation = side->done++;
        assert_int_equal(co_mcast_op_state(side->ops[operation]), 1);
        assert_true(pattern_matches(side->data[operation], program->bytes(operation), (unsigned)operation));
        co_mcast_op_release(side->ops[operation]);
        free(side->data[operation]);
    }
}

static void begin_operations(struct world *world, int rank, struct side *side, const struct program *program)
{
    uint64_t now = co_loopback_now_ns(world->hub);
    while (side->begun < program->operations && side->begun - side->done < program->outstanding &&
           now >= side->back_ns) {
        int operation = side->begun++;
        size_t bytes = program->bytes(operation);
        int root = program->rotates ? operation % MEMBERS : MEMBERS - 1;
        unsigned char *data = side->data[operation] = calloc(1, bytes);
        if (root == rank) {
            pattern_fill(data, bytes, (unsigned)operation);
        }
        assert_int_equal(co_mcast_bcast_start(&side->ops[operation], world->group[rank], root, data, bytes, now), 0);
        if (program->pause_ns > 0 && roll(50) == 0) {
            side->back_ns = now + roll(program->pause_ns);
        }
    }
}

static struct bill run(struct world *world, const struct program *program)
{
    struct bill bill = {co_loopback_now_ns(world->hub), co_counter_read(CO_COUNT_NACKS_SENT),
                        co_counter_read(CO_COUNT_RETRANSMITTED), co_counter_read(CO_COUNT_FAULTS_INJECTED)};
    struct side *sides = calloc(MEMBERS, sizeof(*sides));
    dice = 1;
    for (int finished = 0; finished < MEMBERS;) {
        finished = 0;
        for (int rank = 0; rank < MEMBERS; rank++) {
            struct side *side = &sides[rank];
            end_operations(side, program);
            begin_operations(world, rank, side, program);
            finished += side->done == program->operations;
        }
        assert_true(co_loopback_now_ns(world->hub) - bill.ns < LIMIT_NS);
        if (finished < MEMBERS) {
            world_turn(world);
        }
    }
    free(sides);
    return (struct bill){co_loopback_now_ns(world->hub) - bill.ns, co_counter_read(CO_COUNT_NACKS_SENT) - bill.requests,
                         co_counter_read(CO_COUNT_RETRANSMITTED) - bill.fetched,
                         co_counter_read(CO_COUNT_FAULTS_INJECTED) - bill.faults};
}

static struct world_options lab(const char *faults)
{
    struct world_options options = world_defaults(MEMBERS);
    options.chunk_bytes = 1432;
    options.window_bytes = 2 << 20;
    options.staging_bytes = 8 << 20;
    options.eager_bytes = 32768;
    options.faults = faults;
    return options;
}

static struct bill run_with(const char *faults, const struct program *program, const char *what)
{
    struct world_options options = lab(faults);
    struct world world;
    world_open(&world, &options);
    struct bill bill = run(&world, program);
    world_close(&world);
    print_message("%s, %s: %.1f ms, %" PRIu64 " requests, %" PRIu64 " bytes fetched, %" PRIu64 " datagrams harmed\n",
                  what, faults == NULL ? "no faults" : faults, (double)bill.ns / 1e6, bill.requests, bill.fetched,
                  bill.faults);
    return bill;
}

// As tests/mpi/bcast_rotating.c.
static size_t mostly_small(int operation)
{
    return operation % 97 == 96 ? 200000 - (size_t)operation : 1 + (size_t)(operation * 37 % 700);
}

static size_t small(int operation)
{
    (void)operation;
    return 8;
}

static size_t quarter_megabyte(int operation)
{
    (void)operation;
    return 256 << 10;
}

static size_t megabyte(int operation)
{
    (void)operation;
    return 1 << 20;
}

static struct bill with_seeds(const char *faults, const struct program *program, const char *what)
{
    struct bill sum = {0};
    for (int seed = 1; seed <= 3; seed++) {
        char plan[80];
        snprintf(plan, sizeof(plan), "%s,seed=%d", faults, seed);
        struct bill bill = run_with(plan, program, what);
        sum = (struct bill){sum.ns + bill.ns / 3, sum.requests + bill.requests, sum.fetched + bill.fetched,
                            sum.faults + bill.faults};
    }
    return sum;
}

static void much_loss_of_small_broadcasts(void **state)
{
    (void)state; // a lost request must not cost a patience that doubles
    const struct program rotating = {1500, 1, true, mostly_small, 0}, one_root = {1500, 1, false, mostly_small, 0};
    assert_true(with_seeds("drop=0.2", &rotating, "small Bcasts, rotating roots").ns < UINT64_C(2000000000));
    assert_true(with_seeds("drop=0.2", &one_root, "small Bcasts, one root").ns < UINT64_C(2000000000));
    assert_true(with_seeds("drop=0.2,blackhole=1", &rotating, "small Bcasts").ns < UINT64_C(12000000000));
}

static void much_loss_of_large_broadcasts(void **state)
{
    (void)state; // 43 ms each without loss; a window of 4 chunks took 3 s
    const struct program large = {10, 1, false, megabyte, 0};
    struct bill bill = with_seeds("drop=0.2", &large, "1 MiB, one root");
    assert_true(bill.ns < UINT64_C(800000000));
    assert_true(bill.requests * 4 < 3 * 7330 * 3 / 5); // each for several of the lost fifth
}

static void no_loss_no_repair(void **state)
{
    (void)state; // chunks in a queue of their sender are not lost
    const struct program many = {40, 16, true, quarter_megabyte, 0}, large = {10, 8, false, megabyte, 0};
    struct bill bill = run_with(NULL, &many, "256 KiB, 16 at a time");
    assert_int_equal(bill.requests, 0);
    bill = run_with(NULL, &large, "1 MiB, 8 at a time");
    assert_int_equal(bill.requests, 0);
    const struct program paused = {1500, 1, true, mostly_small, 3000000};
    bill = run_with(NULL, &paused, "small Bcasts, ranks away for up to 3 ms");
    assert_true(bill.fetched < 50000);
}

static void set_deaf(struct world *world, bool is_deaf)
{
    for (int rank = 0; rank < MEMBERS; rank++) {
        struct co_transport *transport = world->transport[rank];
        if (is_deaf) {
            transport->ops->leave(transport, 0);
        } else {
            assert_int_equal(transport->ops->join(transport, 0), 0);
        }
    }
}

static void multicast_dies_and_comes_back(void **state)
{
    (void)state;
    static const struct {
        size_t (*bytes)(int);
        int operations;
    } of[] = {{small, 400}, {megabyte, 10}};
    for (int i = 0; i < 2; i++) {
        const struct program program = {of[i].operations, 1, false, of[i].bytes, 0};
        struct world_options options = lab(NULL);
        options.eager_bytes = 0; // each operation is a round trip, as a program would see it
        struct world world;
        world_open(&world, &options);
        struct bill before = run(&world, &program);
        set_deaf(&world, true);
        struct bill hole = run(&world, &program);
        set_deaf(&world, false);
        run(&world, &(struct program){4, 1, false, of[i].bytes, 0});
        struct bill healed = run(&world, &program);
        print_message("%zu bytes: %.3f ms each, in the black hole %.3f ms, healed %.3f ms\n", of[i].bytes(0),
                      (double)before.ns / 1e6 / of[i].operations, (double)hole.ns / 1e6 / of[i].operations,
                      (double)healed.ns / 1e6 / of[i].operations);
        assert_int_equal(before.requests, 0);
        assert_true(hole.ns < 3 * before.ns); // each byte leaves the root twice; and it was to be learned first
        assert_int_equal(healed.requests, 0);
        world_close(&world);
    }
}

// A receiver that hears nothing while the others do gets its chunks from a neighbour who heard them.
static void one_is_deaf(void **state)
{
    (void)state;
    const struct program program = {400, 1, false, small, 0};
    struct world_options options = lab(NULL);
    options.eager_bytes = 0;
    struct world world;
    world_open(&world, &options);
    struct bill before = run(&world, &program);
    world.transport[1]->ops->leave(world.transport[1], 0);
    struct bill deaf = run(&world, &program);
    assert_true(deaf.ns < 3 * before.ns);
    world_close(&world);
}

static void overrun_receivers_slow_the_sender_down_but_a_little(void **state)
{
    (void)state; // credit follows the window when it shrinks; it came by a timer of 2 ms
    const struct program program = {10, 1, false, megabyte, 0};
    struct world_options options = lab(NULL);
    options.bytes_per_s = 0; // all that the window allows arrives at once
    options.ingress_queue_bytes = 24 * 1500;
    struct world world;
    world_open(&world, &options);
    struct bill bill = run(&world, &program);
    print_message("overrun: %.1f ms, %" PRIu64 " requests\n", (double)bill.ns / 1e6, bill.requests);
    assert_true(bill.ns < UINT64_C(400000000));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(much_loss_of_small_broadcasts),
        cmocka_unit_test(much_loss_of_large_broadcasts),
        cmocka_unit_test(no_loss_no_repair),
        cmocka_unit_test(multicast_dies_and_comes_back),
        cmocka_unit_test(one_is_deaf),
        cmocka_unit_test(overrun_receivers_slow_the_sender_down_but_a_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
