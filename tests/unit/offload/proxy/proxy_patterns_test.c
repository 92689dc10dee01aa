// SPDX-License-Identifier: BSD-3-Clause
//
// Broadcasts and allgathers in the core of proxies, one thing at a time: who passes on, and when; members that are late
// or have less room than comes; calls that are refused, members that die. All-to-alls are in proxy_teams_test.c.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_pattern.h"
#include "proxy_rig.h"

static struct proxy_rig rig;

enum { TEAM = 70, BLOCK = 40, SEND = 0, RECEIVE = 512, BCAST_GROUP = 1, GATHER_GROUP = 2 };

static int say(int rank, struct co_offload_command command, const uint8_t *definition)
{
    return co_proxy_command(rig.proxies[rig.proxy_of_rank[rank]], rank, &command, definition,
                            co_offload_command_definition_bytes(&command));
}

static void team_open(int rank)
{
    uint8_t definition[RIG_RANKS * CO_OFFLOAD_MEMBER_BYTES];
    for (uint32_t i = 0; i < RIG_RANKS; i++) {
        co_little_endian_put(definition + i * CO_OFFLOAD_MEMBER_BYTES, i, 4);
    }
    assert_int_equal(
        say(rank,
            (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = TEAM, .operations = RIG_RANKS},
            definition),
        0);
}

static int bcast(int rank, uint64_t group, uint32_t root, uint64_t bytes)
{
    return say(rank,
               (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_BCAST,
                                           .group = group,
                                           .team = TEAM,
                                           .root = root,
                                           .send = RIG_BASE + SEND,
                                           .receive = RIG_BASE + RECEIVE,
                                           .bytes = bytes},
               NULL);
}

static int allgather(int rank, uint64_t bytes, bool has_own)
{
    return say(rank,
               (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_ALLGATHER,
                                           .group = GATHER_GROUP,
                                           .team = TEAM,
                                           .has_own = has_own,
                                           .send = RIG_BASE + SEND,
                                           .receive = RIG_BASE + RECEIVE,
                                           .bytes = bytes},
               NULL);
}

static void all_open(uint32_t root)
{
    for (int i = 0; i < RIG_RANKS; i++) {
        team_open(i);
        assert_int_equal(bcast(i, BCAST_GROUP, root, BLOCK), 0);
        assert_int_equal(allgather(i, BLOCK, true), 0);
    }
}

static void fill(int call)
{
    for (int i = 0; i < RIG_RANKS; i++) {
        memset(rig.memory[i] + SEND, 100 * call + 10 * i, BLOCK);
        memset(rig.memory[i] + RECEIVE, 99, RIG_BYTES - RECEIVE);
    }
}

static bool has_block(int rank, int block, int from, int call)
{
    return proxy_rig_has(&rig, rank, RECEIVE + (uint32_t)block * BLOCK, BLOCK, (unsigned char)(100 * call + 10 * from));
}

static bool is_untouched(int rank, uint32_t from)
{
    return proxy_rig_has(&rig, rank, RECEIVE + from, RIG_BYTES - RECEIVE - from, 99);
}

static void call_all(uint64_t group, uint32_t ticket)
{
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(proxy_rig_call(&rig, i, group, ticket), 0);
    }
    proxy_rig_run(&rig);
}

static void all_get_what_the_root_has(void **state)
{
    (void)state;
    all_open(2);
    for (int call = 0; call < 3; call++) {
        fill(call);
        call_all(BCAST_GROUP, 0);
        for (int i = 0; i < RIG_RANKS; i++) {
            assert_int_equal(rig.result[i][0], 0);
            assert_int_equal(rig.bytes[i][0], i == 2 ? 0 : BLOCK);
            assert_true(i == 2 ? is_untouched(i, 0) : has_block(i, 0, 2, call) && is_untouched(i, BLOCK));
        }
    }
    for (int i = 0; i < rig.hub.proxies; i++) {
        assert_true(co_proxy_is_idle(rig.proxies[i]));
    }
}

static void all_get_what_all_have(void **state)
{
    (void)state;
    all_open(0);
    for (int call = 0; call < 3; call++) {
        fill(call);
        call_all(GATHER_GROUP, 0);
        for (int i = 0; i < RIG_RANKS * RIG_RANKS; i++) {
            assert_int_equal(rig.result[i / RIG_RANKS][0], 0);
            assert_true(has_block(i / RIG_RANKS, i % RIG_RANKS, i % RIG_RANKS, call));
            assert_int_equal(rig.bytes[i / RIG_RANKS][0], RIG_RANKS * BLOCK);
        }
    }
}

// A call takes one number, or one for each member: those that follow meet, whatever was in between.
static void calls_of_all_kinds_in_turn(void **state)
{
    (void)state;
    all_open(1);
    for (int call = 0; call < 2; call++) {
        fill(call);
        for (int i = 0; i < RIG_RANKS; i++) {
            rig.result[i][0] = rig.result[i][1] = rig.result[i][2] = RIG_PENDING;
            assert_int_equal(proxy_rig_call(&rig, i, GATHER_GROUP, 0), 0);
            assert_int_equal(proxy_rig_call(&rig, i, BCAST_GROUP, 1), 0);
            proxy_rig_run(&rig);
        }
        for (int i = 0; i < RIG_RANKS; i++) {
            assert_true(rig.result[i][0] == 0 && rig.result[i][1] == 0);
            assert_true(has_block(i, 3, 3, call));
        }
    }
}

// Between the root and who stands behind it; nobody before it has to wait.
static void whoever_is_late_gets_nothing_before_it_has_called(void **state)
{
    (void)state;
    all_open(0);
    for (int call = 0; call < 2; call++) {
        fill(call);
        for (int i = 0; i < RIG_RANKS; i++) {
            if (i != 2) {
                assert_int_equal(proxy_rig_call(&rig, i, BCAST_GROUP, 0), 0);
            }
        }
        proxy_rig_run(&rig);
        assert_true(is_untouched(2, 0) && is_untouched(3, 0));
        assert_true(has_block(1, 0, 0, call) && rig.result[1][0] == 0);
        assert_int_equal(rig.result[0][0], RIG_PENDING);
        assert_int_equal(proxy_rig_call(&rig, 2, BCAST_GROUP, 0), 0);
        proxy_rig_run(&rig);
        for (int i = 1; i < RIG_RANKS; i++) {
            assert_true(rig.result[i][0] == 0 && has_block(i, 0, 0, call));
        }
        assert_int_equal(rig.result[0][0], 0);
    }
}

// The bytes go from proxy to proxy once each: none of them reads for two of one proxy what it has sent already.
static void a_message_enters_a_proxy_once(void **state)
{
    (void)state;
    all_open(0);
    fill(1);
    call_all(BCAST_GROUP, 0);
    assert_int_equal(co_proxy_counts(rig.proxies[0])->data_records, (BLOCK + RIG_PIECE - 1) / RIG_PIECE);
    assert_int_equal(co_proxy_counts(rig.proxies[1])->data_records, 0);
}

// Members with other lengths than the root's: each has its own error, and keeps nothing from those behind it.
static void rooms_of_other_lengths(void **state)
{
    (void)state;
    const uint64_t rooms[RIG_RANKS] = {BLOCK, 2 * BLOCK, 7, 0};
    for (int i = 0; i < RIG_RANKS; i++) {
        team_open(i);
        assert_int_equal(bcast(i, BCAST_GROUP, 0, rooms[i]), 0);
        assert_int_equal(bcast(i, BCAST_GROUP + 2, 0, i == 1 ? BLOCK - 1 : BLOCK), 0);
    }
    fill(1);
    call_all(BCAST_GROUP, 0);
    assert_int_equal(rig.result[0][0], 0);
    assert_true(rig.result[1][0] == 0 && rig.bytes[1][0] == BLOCK && has_block(1, 0, 0, 1) && is_untouched(1, BLOCK));
    assert_true(rig.result[2][0] == -EMSGSIZE && rig.bytes[2][0] == 7 && is_untouched(2, 7));
    assert_true(rig.result[3][0] == -EMSGSIZE && rig.bytes[3][0] == 0 && is_untouched(3, 0));
    fill(1);
    call_all(BCAST_GROUP + 2, 0);
    assert_true(rig.result[1][0] == -EMSGSIZE && is_untouched(1, BLOCK - 1));
    assert_true(rig.result[2][0] == 0 && has_block(2, 0, 0, 1));
    assert_true(rig.result[3][0] == 0 && has_block(3, 0, 0, 1) && rig.with[1][0] == 0 + 1);
}

// Those behind it hear of it from each other; the calls before and after it are as ever.
static void a_call_that_is_refused(void **state)
{
    (void)state;
    all_open(0);
    fill(1);
    for (int i = 0; i < RIG_RANKS; i++) {
        rig.result[i][1] = RIG_PENDING;
        struct co_offload_command refusal = {.kind = CO_OFFLOAD_COMMAND_REFUSE,
                                             .ticket = 1,
                                             .team = TEAM,
                                             .refused = CO_OFFLOAD_COMMAND_BCAST,
                                             .root = 0};
        assert_int_equal(i == 2 ? say(i, refusal, NULL) : proxy_rig_call(&rig, i, BCAST_GROUP, 1), 0);
        refusal.refused = CO_OFFLOAD_COMMAND_ALLGATHER;
        refusal.ticket = 2;
        rig.result[i][2] = RIG_PENDING;
        assert_int_equal(i == 1 ? say(i, refusal, NULL) : proxy_rig_call(&rig, i, GATHER_GROUP, 2), 0);
    }
    proxy_rig_run(&rig);
    assert_true(rig.result[2][1] == -ECANCELED && rig.result[1][1] == 0 && has_block(1, 0, 0, 1));
    assert_true(rig.result[0][1] == -ECONNRESET && rig.with[0][1] == 2 + 1);
    assert_true(rig.result[3][1] == -ECONNRESET && rig.with[3][1] == 2 + 1);
    assert_int_equal(rig.result[1][2], -ECANCELED);
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_true(i == 1 || rig.result[i][2] == -ECONNRESET);
    }
    fill(2);
    call_all(BCAST_GROUP, 3);
    for (int i = 1; i < RIG_RANKS; i++) {
        assert_true(rig.result[i][3] == 0 && has_block(i, 0, 0, 2));
    }
}

static void a_member_that_dies(void **state)
{
    (void)state;
    all_open(0);
    fill(1);
    for (int i = 0; i < RIG_RANKS; i++) {
        if (i != 2) {
            assert_int_equal(proxy_rig_call(&rig, i, BCAST_GROUP, 0), 0);
        }
    }
    proxy_rig_run(&rig);
    co_proxy_rank_lost(rig.proxies[rig.proxy_of_rank[2]], 2);
    proxy_rig_run(&rig);
    assert_true(rig.result[1][0] == 0 && has_block(1, 0, 0, 1));
    assert_true(rig.result[0][0] == -ECONNRESET && rig.with[0][0] == 2 + 1);
    assert_true(rig.result[3][0] == -ECONNRESET && rig.with[3][0] == 2 + 1);
    for (int i = 0; i < rig.hub.proxies; i++) {
        assert_true(co_proxy_is_idle(rig.proxies[i]));
    }
}

static void hostile_ranks(void **state)
{
    (void)state;
    team_open(0);
    assert_int_equal(bcast(0, BCAST_GROUP, RIG_RANKS, BLOCK), -EPROTO); // no such member
    assert_int_equal(say(0,
                         (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_REFUSE,
                                                     .team = TEAM,
                                                     .refused = CO_OFFLOAD_COMMAND_BCAST,
                                                     .root = RIG_RANKS},
                         NULL),
                     -EPROTO);
    struct co_offload_command wide = {.kind = CO_OFFLOAD_COMMAND_ALLGATHER,
                                      .group = 3,
                                      .team = TEAM,
                                      .receive = UINT64_MAX - 3 * BLOCK,
                                      .bytes = BLOCK};
    assert_int_equal(say(0, wide, NULL), -EPROTO);
    wide.kind = CO_OFFLOAD_COMMAND_BCAST; // one block has room there
    assert_int_equal(say(0, wide, NULL), 0);
    assert_int_equal(allgather(0, BLOCK, false), 0);
    co_proxy_rank_lost(rig.proxies[0], 0);
    assert_true(co_proxy_is_idle(rig.proxies[0]));
}

#define ON_PAIRS(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_pairs, proxy_rig_close_state, &rig)
#define ON_EACH(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_each, proxy_rig_close_state, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_PAIRS(all_get_what_the_root_has),
        ON_EACH(all_get_what_the_root_has),
        ON_PAIRS(all_get_what_all_have),
        ON_EACH(all_get_what_all_have),
        ON_PAIRS(calls_of_all_kinds_in_turn),
        ON_EACH(calls_of_all_kinds_in_turn),
        ON_PAIRS(whoever_is_late_gets_nothing_before_it_has_called),
        ON_PAIRS(a_message_enters_a_proxy_once),
        ON_PAIRS(rooms_of_other_lengths),
        ON_EACH(rooms_of_other_lengths),
        ON_PAIRS(a_call_that_is_refused),
        ON_PAIRS(a_member_that_dies),
        ON_PAIRS(hostile_ranks),
    };
    proxy_rig_ends_max = 64;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
