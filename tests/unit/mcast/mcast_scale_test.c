// SPDX-License-Identifier: BSD-3-Clause
//
// From 64 to 4,096 members in virtual time: how long a Bcast and an Allgather take over the least that the links allow,
// and how many datagrams the root and the others handle beside the chunks, which is what a switch does not multiply.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/counters.h"
#include "mcast_inside.h"
#include "mcast_world.h"

enum { CHUNK = 1400, TIMES = 2, LEAST = 64, WATCHED = 4 };

struct row {
    int members;
    size_t bytes; // of an allgather: one block
    unsigned mbit;
    unsigned longest; // hundredths of the limit
};

static struct world world;

static int binary_digits(int members)
{
    return 32 - __builtin_clz((unsigned)members - 1);
}

static void open_world(const struct row *row)
{
    struct world_options options = world_defaults(row->members);
    options.chunk_bytes = CHUNK;
    options.window_bytes = 2 << 20;
    options.staging_bytes = 8 << 20;
    options.eager_bytes = 65536;
    options.latency_ns = 50 * CO_NS_PER_US;
    options.bytes_per_s = options.port_bytes_per_s = row->mbit * UINT64_C(125000);
    options.egress_queue_bytes = 256000;
    options.port_queue_bytes = row->mbit * 12500;
    world_open(&world, &options);
}

struct handled {
    uint64_t sent, taken;
};

static struct handled handled_by(int rank)
{
    return (struct handled){inside_controls_sent(world.mcast[rank]), co_loopback_taken(world.hub, rank)};
}

static void check_time(const struct row *row, const char *what, uint64_t blocks, uint64_t began_ns)
{
    uint64_t limit_ns = blocks * row->bytes * 8000 / row->mbit, took_ns = co_loopback_now_ns(world.hub) - began_ns;
    print_message("%d members, %s %zu: %lu %% of the limit\n", row->members, what, row->bytes,
                  (unsigned long)(100 * took_ns / limit_ns));
    assert_in_range(100 * took_ns / limit_ns, 0, row->longest);
}

// Words beside `chunks`, which grow by no more than the binary digits of the members.
static void check_handled(int members, struct handled before, struct handled now, uint64_t chunks,
                          struct handled *first)
{
    struct handled words = {now.sent - before.sent, now.taken - before.taken - chunks};
    if (members == LEAST) {
        first->sent = words.sent > first->sent ? words.sent : first->sent;
        first->taken = words.taken > first->taken ? words.taken : first->taken;
    }
    uint64_t digits = (uint64_t)binary_digits(members), least = (uint64_t)binary_digits(LEAST);
    print_message("    %lu words sent, %lu taken\n", (unsigned long)words.sent, (unsigned long)words.taken);
    assert_in_range(words.sent * least, 0, first->sent * digits);
    assert_in_range(words.taken * least, 0, first->taken * digits);
}

static void bcast_takes_the_same_whatever_the_members(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {LEAST, 131072, 50, 111}, {256, 131072, 50, 111}, {1024, 131072, 50, 111}, {4096, 131072, 50, 111}};
    struct handled of_root = {0, 0}, of_others = {0, 0};
    for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
        const struct row *row = &rows[k];
        int members = row->members, watched[WATCHED] = {0, 1, members / 2, members - 1};
        open_world(row);
        for (unsigned time = 0; time < TIMES; time++) {
            uint64_t began_ns = co_loopback_now_ns(world.hub), chunks = (row->bytes + CHUNK - 1) / CHUNK;
            struct handled before[WATCHED];
            for (int i = 0; i < WATCHED; i++) {
                before[i] = handled_by(watched[i]);
            }
            world_bcast(&world, 0, row->bytes, time);
            check_time(row, "Bcast", 1, began_ns);
            for (int i = 0; i < WATCHED; i++) {
                check_handled(members, before[i], handled_by(watched[i]), chunks, i == 0 ? &of_root : &of_others);
            }
        }
        world_settle(&world, 60 * CO_NS_PER_S);
        world_close(&world);
    }
}

// All chunks of all have to come to each. What is said beside them was a word for each chunk when each source had its
// own way.
static void allgather_takes_its_bytes(void **state)
{
    (void)state;
    static const struct row rows[] = {{32, 16384, 200, 115}, {64, 16384, 200, 115}, {256, 2800, 200, 115}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        uint64_t others = (uint64_t)row->members - 1, chunks = (row->bytes + CHUNK - 1) / CHUNK;
        open_world(row);
        for (unsigned time = 0; time < TIMES; time++) {
            uint64_t began_ns = co_loopback_now_ns(world.hub), words = co_counter_read(CO_COUNT_CONTROL_SENT);
            world_allgather(&world, row->bytes, time);
            check_time(row, "Allgather", others, began_ns);
            uint64_t of_each = (co_counter_read(CO_COUNT_CONTROL_SENT) - words) / (uint64_t)row->members;
            print_message("%lu words of each for %lu chunks\n", (unsigned long)of_each,
                          (unsigned long)(others * chunks));
            assert_in_range(of_each, 0, others * chunks / 2);
        }
        world_settle(&world, 60 * CO_NS_PER_S);
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bcast_takes_the_same_whatever_the_members),
        cmocka_unit_test(allgather_takes_its_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
