// SPDX-License-Identifier: BSD-3-Clause
//
// Calls by proxies, with ranks and proxies that are processes: right bytes of every size, on one node and several, of
// communicators with some of the ranks; what comes before its owner has called; order; arguments that come again.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // mremap
#endif
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/atomics.h"
#include "proxied_ranks.h"

static const char *const one_node[] = {NULL}, *const each_a_node[] = {"CASTOFF_NODE_RANKS=1", NULL},
                         *const uneven[] = {"CASTOFF_NODE_RANKS=3", NULL},
                         *const staged[] = {"CASTOFF_PROXY_LEND=stage", "CASTOFF_NODE_RANKS=2", NULL},
                         *const copied[] = {"CASTOFF_PROXY_LEND=copy", "CASTOFF_NODE_RANKS=2", NULL},
                         *const past_16[] = {"CASTOFF_FAULT=first=65533", "CASTOFF_NODE_RANKS=2", NULL},
                         *const past_32[] = {"CASTOFF_FAULT=first=4294967293", "CASTOFF_NODE_RANKS=2", NULL};
static const char *const *settings; // of the test that runs

static void sizes(void)
{
    static const size_t bytes[] = {0, 1, 7, 4096, 65535, 65536, 65537, 300001};
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 77);
    struct co_proxied_counts counts;

    for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        proxied_exchange(world, team, bytes[i], i);
    }
    co_proxied_count(world, &counts);
    MUST(counts.calls == sizeof bytes / sizeof *bytes && counts.failed == 0);
    MUST((counts.bytes_copied > 0) == (settings == copied));
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void sizes_on(int ranks, const char *const with[])
{
    settings = with;
    ranks_run(ranks, sizes);
}

static void one_node_test(void **state)
{
    (void)state;
    sizes_on(1, one_node);
    sizes_on(2, one_node);
    sizes_on(4, one_node);
}

static void several_nodes_test(void **state)
{
    (void)state;
    sizes_on(2, each_a_node);
    sizes_on(4, each_a_node);
    sizes_on(4, uneven);
}

static void staged_and_copied_test(void **state)
{
    (void)state;
    sizes_on(4, staged);
    sizes_on(4, copied);
}

static void numbers_test(void **state)
{
    (void)state;
    sizes_on(4, past_16);
    sizes_on(4, past_32);
}

// Members 3, 1, 2 in this order; what is sent to whom differs, and lies in the wrong order with holes between.
static void unequal_blocks(void)
{
    static const int members[] = {3, 1, 2};
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team;
    unsigned char send[3 * 100000], receive[3 * 100000];
    int place = ranks_own == 3 ? 0 : ranks_own;

    for (unsigned call = 0; ranks_own > 0 && call < 4; call++) {
        struct co_proxied_block blocks[3];
        struct co_proxied_call *under_way;
        if (call == 0) {
            MUST(co_proxied_team_open(&team, world, 5, members, 3, place) == 0);
        }
        memset(receive, 99, sizeof receive);
        for (int i = 0; i < 3; i++) {
            // From place a to place b: as long as both say, at times nothing.
            size_t to = (size_t)((place * 3 + i) * 9000) % 70000, from = (size_t)((i * 3 + place) * 9000) % 70000;
            blocks[i] = (struct co_proxied_block){.send_at = (2 - i) * 100000 - 150000,
                                                  .receive_at = (2 - i) * 100000 - 150000,
                                                  .send_bytes = to,
                                                  .receive_bytes = from};
            memset(send + (size_t)(2 - i) * 100000, proxied_byte(place, i, call), to);
        }
        MUST(co_proxied_alltoallv(&under_way, team, send + 150000, receive + 150000, blocks) == 0);
        struct co_proxied_result result = proxied_wait(world, under_way);
        MUST(result.error == 0);
        for (int i = 0; i < 3; i++) {
            const unsigned char *block = receive + (size_t)(2 - i) * 100000;
            MUST(proxied_is_all(block, blocks[i].receive_bytes, proxied_byte(i, place, call)));
            MUST(proxied_is_all(block + blocks[i].receive_bytes, 100000 - blocks[i].receive_bytes, 99));
        }
    }
    if (ranks_own > 0) {
        struct co_proxied_counts counts;
        co_proxied_count(world, &counts);
        MUST(counts.calls == 4 && counts.cached == 3);
        co_proxied_team_close(team);
    }
    co_proxied_close(world);
}

static void unequal_blocks_test(void **state)
{
    (void)state;
    settings = uneven;
    ranks_run(4, unequal_blocks);
    settings = copied;
    ranks_run(4, unequal_blocks);
}

// R0: call, then word; R1: word, then call. And what is not called yet is not touched.
static void late(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 9);
    enum { BYTES = 70000 };
    unsigned char send[2 * BYTES], receive[2 * BYTES];

    for (int call = 1; call <= 3; call++) { // the second and third are of arguments that are known
        struct co_proxied_call *under_way;
        proxied_fill(send, 2, BYTES, ranks_own, (unsigned)call);
        memset(receive, 99, sizeof receive);
        if (ranks_own == 1) {
            RANKS_UNTIL(co_load_acquire(&ranks_shared->words[0]) == call);
            for (int i = 0; i < 20; i++) {
                ranks_pause();
            }
            MUST(proxied_is_all(receive, sizeof receive, 99));
        }
        MUST(co_proxied_alltoall(&under_way, team, send, receive, BYTES) == 0);
        if (ranks_own == 0) {
            co_store_release(&ranks_shared->words[0], call);
        }
        MUST(proxied_wait(world, under_way).error == 0);
        MUST(proxied_has(receive, 2, BYTES, ranks_own, (unsigned)call));
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void late_test(void **state)
{
    (void)state;
    settings = one_node;
    ranks_run(2, late);
    settings = each_a_node;
    ranks_run(2, late);
}

// Sixty-four at once on three communicators, each rank in another order.
static void many(void)
{
    enum { TEAMS = 3, CALLS = 63, BYTES = 300 };
    static unsigned char send[CALLS][4 * BYTES], receive[CALLS][4 * BYTES];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *teams[TEAMS];
    struct co_proxied_call *calls[CALLS];
    unsigned next[TEAMS] = {0};

    for (int i = 0; i < TEAMS; i++) {
        teams[i] = proxied_team(world, (uint64_t)(i + ranks_own) % TEAMS + 1000);
    }
    for (int i = 0; i < CALLS; i++) {
        int team = (i * (ranks_own + 1) + i / 5) % TEAMS;
        while (next[team] == CALLS / TEAMS) {
            team = (team + 1) % TEAMS;
        }
        unsigned id = (unsigned)(team + ranks_own) % TEAMS, slot = id * (CALLS / TEAMS) + next[team]++;
        proxied_fill(send[slot], ranks_count, BYTES, ranks_own, slot);
        MUST(co_proxied_alltoall(&calls[slot], teams[team], send[slot], receive[slot], BYTES) == 0);
    }
    for (int i = CALLS - 1; i >= 0; i--) {
        MUST(proxied_wait(world, calls[i]).error == 0);
        MUST(proxied_has(receive[i], ranks_count, BYTES, ranks_own, (unsigned)i));
    }
    for (int i = 0; i < TEAMS; i++) {
        co_proxied_team_close(teams[i]);
    }
    co_proxied_close(world);
}

static void many_test(void **state)
{
    (void)state;
    settings = uneven;
    ranks_run(4, many);
}

// More than there are tickets, of which nobody asks for any before all have begun.
static void very_many(void)
{
    enum { CALLS = 2500 };
    static unsigned char send[2 * CALLS], receive[2 * CALLS];
    static struct co_proxied_call *calls[CALLS];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 9);

    for (unsigned i = 0; i < CALLS; i++) {
        proxied_fill(send + 2 * i, 2, 1, ranks_own, i);
        MUST(co_proxied_alltoall(&calls[i], team, send + 2 * i, receive + 2 * i, 1) == 0);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        MUST(proxied_wait(world, calls[i]).error == 0 && proxied_has(receive + 2 * i, 2, 1, ranks_own, i));
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void very_many_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(2, very_many);
}

// As a persistent request does: the same buffers each time, and what they hold at each start; its communicator may go
// before the last call has ended.
static void plans(void)
{
    enum { BYTES = 5000 };
    static unsigned char send[4 * BYTES], receive[4 * BYTES];
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 3);

    for (unsigned i = 0; i < 5; i++) {
        struct co_proxied_call *call;
        proxied_fill(send, ranks_count, BYTES, ranks_own, i);
        MUST(co_proxied_alltoall(&call, team, send, receive, BYTES) == 0);
        if (i == 4) {
            co_proxied_team_close(team);
        }
        MUST(proxied_wait(world, call).error == 0 && proxied_has(receive, ranks_count, BYTES, ranks_own, i));
    }
    co_proxied_close(world);
}

static void plans_test(void **state)
{
    (void)state;
    settings = uneven;
    ranks_run(4, plans);
}

// The same address is other memory each time, or the same memory is elsewhere.
static void memory_that_comes_and_goes(void)
{
    enum { BYTES = 1 << 17 };
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 4);
    size_t all = BYTES * (size_t)ranks_count;
    unsigned char *send = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *receive = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (unsigned i = 0; i < 6; i++) {
        struct co_proxied_call *call;
        proxied_fill(send, ranks_count, BYTES, ranks_own, i);
        MUST(co_proxied_alltoall(&call, team, send, receive, BYTES) == 0);
        MUST(proxied_wait(world, call).error == 0 && proxied_has(receive, ranks_count, BYTES, ranks_own, i));
        if (i % 2 == 0) {
            MUST(munmap(send, all) == 0 && munmap(receive, all) == 0);
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            MUST(mmap(send, all, PROT_READ | PROT_WRITE, flags, -1, 0) == send);
            MUST(mmap(receive, all, PROT_READ | PROT_WRITE, flags, -1, 0) == receive);
        } else {
            receive = mremap(receive, all, all + 4096 * (size_t)i, MREMAP_MAYMOVE);
            MUST(receive != MAP_FAILED);
            receive = mremap(receive, all + 4096 * (size_t)i, all, 0);
            MUST(receive != MAP_FAILED);
        }
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void memory_test(void **state)
{
    (void)state;
    settings = uneven;
    ranks_run(4, memory_that_comes_and_goes);
    settings = copied;
    ranks_run(4, memory_that_comes_and_goes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_node_test),
        cmocka_unit_test(several_nodes_test),
        cmocka_unit_test(staged_and_copied_test),
        cmocka_unit_test(numbers_test),
        cmocka_unit_test(unequal_blocks_test),
        cmocka_unit_test(late_test),
        cmocka_unit_test(many_test),
        cmocka_unit_test(very_many_test),
        cmocka_unit_test(plans_test),
        cmocka_unit_test(memory_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
