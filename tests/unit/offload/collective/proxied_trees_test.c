// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts and allgathers by proxies, with ranks and proxies that are processes: right bytes of every size and root,
// on one node and several, attached, staged and copied; rooms of other lengths; calls that are refused.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "proxied_ranks.h"

enum { MOST = 300001, GAP = 5 };

static const char *const one_node[] = {NULL}, *const each_a_node[] = {"CASTOFF_NODE_RANKS=1", NULL},
                         *const uneven[] = {"CASTOFF_NODE_RANKS=3", NULL},
                         *const staged[] = {"CASTOFF_PROXY_LEND=stage", "CASTOFF_NODE_RANKS=2", NULL},
                         *const copied[] = {"CASTOFF_PROXY_LEND=copy", "CASTOFF_NODE_RANKS=2", NULL},
                         *const twice[] = {"CASTOFF_PROXIES=2", "CASTOFF_NODE_RANKS=4", NULL},
                         *const past_32[] = {"CASTOFF_FAULT=first=4294967293", "CASTOFF_NODE_RANKS=2", NULL};
static const char *const *settings; // of the test that runs
static unsigned char memory[4 * (MOST + GAP)], own[MOST];

static const size_t sizes[] = {0, 1, 4096, 65536, 65537, MOST};

static void broadcast(struct co_proxied_world *world, struct co_proxied_team *team, int root, size_t bytes,
                      unsigned call)
{
    struct co_proxied_call *under_way;
    int value = proxied_byte(root, 0, call);

    memset(memory, ranks_own == root ? value : 99, bytes);
    memory[bytes] = 99;
    MUST(co_proxied_bcast(&under_way, team, root, memory, bytes) == 0);
    struct co_proxied_result result = proxied_wait(world, under_way);
    MUST(result.error == 0 && result.bytes == (ranks_own == root ? 0 : bytes));
    MUST(proxied_is_all(memory, bytes, value) && memory[bytes] == 99);
}

static void broadcasts(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 77);
    struct co_proxied_counts counts;
    unsigned calls = 0;

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int root = 0; root < ranks_count; root++) {
            broadcast(world, team, root, sizes[i], calls++);
        }
    }
    broadcast(world, team, ranks_count - 1, MOST, calls++); // once more
    co_proxied_count(world, &counts);
    MUST(counts.calls == calls && counts.cached == 1 && counts.failed == 0);
    co_proxied_team_close(team);
    co_proxied_close(world);
}

// Blocks of equal length, given and in place, then ones of growing length with gaps between them, last to first.
static void gather(struct co_proxied_world *world, struct co_proxied_team *team, size_t bytes, int kind, unsigned call)
{
    struct co_proxied_block blocks[4] = {{0}};
    struct co_proxied_call *under_way;

    memset(memory, 99, sizeof memory);
    for (int i = 0; i < ranks_count; i++) {
        blocks[i].receive_bytes = kind == 2 ? bytes * (size_t)i / 4 : bytes;
        blocks[i].receive_at =
            kind == 2 ? (int64_t)((size_t)(ranks_count - 1 - i) * (bytes + GAP)) : (int64_t)((size_t)i * bytes);
    }
    struct co_proxied_block *mine = &blocks[ranks_own];
    mine->send_at = mine->receive_at;
    mine->send_bytes = mine->receive_bytes;
    memset(kind == 0 ? own : memory + mine->receive_at, proxied_byte(ranks_own, 0, call), mine->send_bytes);
    MUST((kind == 2 ? co_proxied_allgatherv(&under_way, team, memory, blocks)
                    : co_proxied_allgather(&under_way, team, kind == 0 ? own : NULL, memory, bytes)) == 0);
    struct co_proxied_result result = proxied_wait(world, under_way);
    MUST(result.error == 0);
    for (int i = 0; i < ranks_count; i++) {
        const unsigned char *block = memory + blocks[i].receive_at;
        MUST(proxied_is_all(block, blocks[i].receive_bytes, proxied_byte(i, 0, call)));
        MUST(kind != 2 || proxied_is_all(block + blocks[i].receive_bytes, GAP, 99));
    }
}

static void gathers(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 77);
    unsigned calls = 0;

    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int kind = 0; kind < 3; kind++) {
            gather(world, team, sizes[i], kind, calls++);
        }
        broadcast(world, team, 0, sizes[i], calls++);
        proxied_exchange(world, team, sizes[i] / 8, calls++);
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void on_all(void (*run)(void))
{
    static const char *const *const all[] = {one_node, each_a_node, uneven, staged, copied, twice, past_32};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        settings = all[i];
        ranks_run(4, run);
    }
    settings = each_a_node;
    ranks_run(2, run);
}

static void broadcasts_test(void **state)
{
    (void)state;
    on_all(broadcasts);
}

static void gathers_test(void **state)
{
    (void)state;
    on_all(gathers);
}

// The root has 100,000; rank 1 has room for 10, rank 2 for 200,000, rank 3 for as many.
static void rooms(void)
{
    static const size_t room[] = {100000, 10, 200000, 100000};
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;

    for (int i = 0; i < 2; i++) {
        memset(memory, ranks_own == 0 ? 7 : 99, room[2] + 1);
        MUST(co_proxied_bcast(&call, team, 0, memory, room[ranks_own]) == 0);
        struct co_proxied_result result = proxied_wait(world, call);
        size_t came = room[ranks_own] < room[0] ? room[ranks_own] : room[0];
        MUST(result.error == (ranks_own == 1 ? -EMSGSIZE : 0) && result.with == (ranks_own == 1 ? 0 : -1));
        MUST(ranks_own == 0 || (result.bytes == came && proxied_is_all(memory + came, room[2] + 1 - came, 99)));
        MUST(proxied_is_all(memory, came, 7));
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void rooms_test(void **state)
{
    (void)state;
    settings = one_node;
    ranks_run(4, rooms);
    settings = each_a_node;
    ranks_run(4, rooms);
    settings = copied;
    ranks_run(4, rooms);
}

// Rank 1 cannot make two of the calls: who stands behind it hears so, and all go on.
static void refused(void)
{
    struct co_proxied_world *world = proxied_open(settings);
    struct co_proxied_team *team = proxied_team(world, 8);
    struct co_proxied_call *call;

    for (unsigned i = 0; i < 6; i++) {
        bool is_bcast = i % 2 == 0, is_refused = i == 2 || i == 3;
        if (is_refused && ranks_own == 1) {
            MUST((is_bcast ? co_proxied_refuse_bcast(team, 0) : co_proxied_refuse_allgather(team)) == 0);
        } else if (is_refused) {
            MUST((is_bcast ? co_proxied_bcast(&call, team, 0, memory, 50)
                           : co_proxied_allgather(&call, team, own, memory, 50)) == 0);
            struct co_proxied_result result = proxied_wait(world, call);
            MUST(result.error == -ECONNRESET && result.with >= 0);
            MUST(ranks_own == 3 || result.with == 1 || !is_bcast);
        } else if (is_bcast) {
            broadcast(world, team, 0, 5000, i);
        } else {
            gather(world, team, 5000, 0, i);
        }
    }
    co_proxied_team_close(team);
    co_proxied_close(world);
}

static void refused_test(void **state)
{
    (void)state;
    settings = each_a_node;
    ranks_run(4, refused);
    settings = one_node;
    ranks_run(3, refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcasts_test),
        cmocka_unit_test(gathers_test),
        cmocka_unit_test(rooms_test),
        cmocka_unit_test(refused_test),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
