// SPDX-License-Identifier: BSD-3-Clause
//
// Collective calls in the core of proxies, one thing at a time: no byte before its receiver's call, however often a
// call was made before; members that open their team late; teams that are closed; what hostile ranks and proxies say.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_pattern.h"
#include "offload/offload_record.h"
#include "proxy_rig.h"

static struct proxy_rig rig;

enum { TEAM = 70, BLOCK = 40, SEND = 0, RECEIVE = 512 }; // where buffers are in a rank's memory

static int say(int rank, struct co_offload_command command, const uint8_t *definition)
{
    return co_proxy_command(rig.proxies[rig.proxy_of_rank[rank]], rank, &command, definition,
                            co_offload_command_definition_bytes(&command));
}

static int team_open(int rank, uint64_t team, const uint32_t *members, uint32_t count)
{
    uint8_t definition[8 * CO_OFFLOAD_MEMBER_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        co_little_endian_put(definition + i * CO_OFFLOAD_MEMBER_BYTES, members[i], 4);
    }
    return say(rank,
               (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = team, .operations = count},
               definition);
}

static int team_of_all(int rank)
{
    return team_open(rank, TEAM, (const uint32_t[]){0, 1, 2, 3}, RIG_RANKS);
}

static int alltoall(int rank, uint64_t group, uint64_t team, uint64_t bytes, bool has_own)
{
    return say(rank,
               (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_ALLTOALL,
                                           .group = group,
                                           .team = team,
                                           .send = RIG_BASE + SEND,
                                           .receive = RIG_BASE + RECEIVE,
                                           .bytes = bytes,
                                           .has_own = has_own},
               NULL);
}

static void all_open(bool has_own)
{
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(team_of_all(i), 0);
        assert_int_equal(alltoall(i, 1, TEAM, BLOCK, has_own), 0);
    }
}

static void fill(int rank, int call)
{
    for (int to = 0; to < RIG_RANKS; to++) {
        memset(rig.memory[rank] + SEND + to * BLOCK, 100 * call + 10 * rank + to, BLOCK);
    }
    memset(rig.memory[rank] + RECEIVE, 99, RIG_BYTES - RECEIVE);
}

static bool has_from(int rank, int from, int call)
{
    return proxy_rig_has(&rig, rank, RECEIVE + (uint32_t)from * BLOCK, BLOCK,
                         (unsigned char)(100 * call + 10 * from + rank));
}

static void calls_are_exchanges(void **state)
{
    (void)state;
    all_open(true);
    for (int call = 0; call < 3; call++) {
        for (int i = 0; i < RIG_RANKS; i++) {
            fill(i, call);
            assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
        }
        proxy_rig_run(&rig);
        for (int i = 0; i < RIG_RANKS * RIG_RANKS; i++) {
            assert_int_equal(rig.result[i / RIG_RANKS][0], 0);
            assert_true(has_from(i / RIG_RANKS, i % RIG_RANKS, call));
            assert_int_equal(rig.bytes[i / RIG_RANKS][0], RIG_RANKS * BLOCK);
        }
    }
    assert_true(co_proxy_counts(rig.proxies[0])->cached_calls >= 2);
    for (int i = 0; i < rig.hub.proxies; i++) {
        assert_true(co_proxy_is_idle(rig.proxies[i]));
    }
}

// Whoever is late is not written to, in a later call neither.
static void nothing_comes_before_its_receiver_has_called(void **state)
{
    (void)state;
    all_open(false);
    for (int call = 0; call < 3; call++) {
        for (int i = 0; i < RIG_RANKS; i++) {
            fill(i, call);
        }
        for (int i = 0; i < RIG_RANKS - 1; i++) {
            assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
        }
        proxy_rig_run(&rig);
        assert_true(proxy_rig_has(&rig, 3, RECEIVE, RIG_BYTES - RECEIVE, 99));
        assert_true(has_from(0, 1, call) && has_from(0, 2, call) && !has_from(0, 3, call));
        assert_int_equal(rig.result[0][0], RIG_PENDING);
        assert_int_equal(proxy_rig_call(&rig, 3, 1, 0), 0);
        proxy_rig_run(&rig);
        for (int i = 0; i < RIG_RANKS; i++) {
            assert_int_equal(rig.result[i][0], 0);
            assert_true(has_from(3, i, call) || i == 3);
        }
    }
}

// Members open their team in any order, behind calls of others: who opens it asks.
static void teams_are_opened_late(void **state)
{
    (void)state;
    for (int i = 0; i < RIG_RANKS; i++) {
        fill(i, 1);
        assert_int_equal(team_of_all(i), 0);
        assert_int_equal(alltoall(i, 1, TEAM, BLOCK, true), 0);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
        proxy_rig_run(&rig);
    }
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(rig.result[i][0], 0);
        assert_true(has_from(i, 0, 1) && has_from(i, 1, 1) && has_from(i, 2, 1) && has_from(i, 3, 1));
    }
}

// A rank is a call ahead, and calls of another team come in between.
static void teams_are_apart(void **state)
{
    (void)state;
    const uint32_t pair[] = {2, 0};
    all_open(false);
    assert_int_equal(team_open(0, 71, pair, 2), 0);
    assert_int_equal(team_open(2, 71, pair, 2), 0);
    assert_int_equal(alltoall(0, 2, 71, BLOCK, false), 0);
    assert_int_equal(alltoall(2, 2, 71, BLOCK, false), 0);
    fill(0, 1);
    fill(2, 1);
    assert_int_equal(proxy_rig_call(&rig, 0, 2, 0), 0); // 71
    assert_int_equal(proxy_rig_call(&rig, 2, 1, 0), 0); // 70
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], RIG_PENDING);
    assert_true(proxy_rig_has(&rig, 0, RECEIVE, RIG_BYTES - RECEIVE, 99));
    assert_int_equal(proxy_rig_call(&rig, 2, 2, 1), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[2][1], 0);
    assert_int_equal(rig.result[2][0], RIG_PENDING);
    assert_true(proxy_rig_has(&rig, 0, RECEIVE, BLOCK, 100 + 20 + 1)); // place 0 is rank 2, this is place 1
}

static void blocks_of_their_own(void **state)
{
    (void)state;
    const uint32_t pair[] = {0, 3};
    uint8_t definition[2 * CO_OFFLOAD_BLOCKS_BYTES];
    for (int i = 0; i < 2; i++) {
        int rank = i == 0 ? 0 : 3;
        const struct co_offload_blocks blocks[] = {
            {RIG_BASE, i == 0 ? 5 : 30, RIG_BASE + 600, i == 0 ? 5 : 0}, // for and from rank 0
            {RIG_BASE + 100, i == 0 ? 0 : 9, RIG_BASE + 700, i == 0 ? 50 : 9}};
        fill(rank, 1);
        co_offload_blocks_encode(definition, &blocks[0]);
        co_offload_blocks_encode(definition + CO_OFFLOAD_BLOCKS_BYTES, &blocks[1]);
        assert_int_equal(team_open(rank, TEAM, pair, 2), 0);
        assert_int_equal(
            say(rank,
                (struct co_offload_command){
                    .kind = CO_OFFLOAD_COMMAND_ALLTOALLV, .group = 4, .team = TEAM, .operations = 2, .has_own = true},
                definition),
            0);
        assert_int_equal(proxy_rig_call(&rig, rank, 4, 0), 0);
    }
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[0][0], 0);
    assert_int_equal(rig.result[3][0], 0);
    assert_int_equal(rig.bytes[0][0], 5 + 30);
    assert_true(proxy_rig_has(&rig, 0, 700, 30, 130) &&
                proxy_rig_has(&rig, 0, 730, 20, 99)); // fewer than it had room for
    assert_true(proxy_rig_has(&rig, 3, 600, 1, 99));  // nothing for nothing
}

static void a_call_that_is_refused(void **state)
{
    (void)state;
    all_open(false);
    for (int i = 0; i < RIG_RANKS; i++) {
        fill(i, 1);
    }
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0); // before and behind it
    proxy_rig_run(&rig);
    rig.result[3][0] = RIG_PENDING;
    assert_int_equal(say(3, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_REFUSE, .team = TEAM}, NULL), 0);
    proxy_rig_run(&rig);
    assert_int_equal(rig.result[3][0], -ECANCELED);
    for (int i = 1; i < 3; i++) {
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
    }
    proxy_rig_run(&rig);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig.result[i][0], -ECONNRESET);
        assert_int_equal(rig.with[i][0], 3 + 1);
        assert_true(has_from(i, (i + 1) % 3, 1) && has_from(i, (i + 2) % 3, 1));
    }
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
    }
    proxy_rig_run(&rig);
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(rig.result[i][0], 0);
    }
}

static void a_member_that_dies(void **state)
{
    (void)state;
    all_open(false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
    }
    proxy_rig_run(&rig);
    co_proxy_rank_lost(rig.proxies[rig.proxy_of_rank[3]], 3);
    proxy_rig_run(&rig);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig.result[i][0], -ECONNRESET);
        assert_int_equal(rig.with[i][0], 3 + 1);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 1), 0); // and at once from now on
    }
    proxy_rig_run(&rig);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig.result[i][1], -ECONNRESET);
    }
}

// With a pattern or a call it is not to be closed; behind that nothing is left of it, and others' late words do no
// harm.
static void teams_are_closed(void **state)
{
    (void)state;
    const struct co_offload_command close = {.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = TEAM};
    all_open(false);
    for (int i = 0; i < RIG_RANKS; i++) {
        fill(i, 1);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
        assert_int_equal(say(i, close, NULL), -EPROTO);
        assert_int_equal(proxy_rig_say(&rig, i, CO_OFFLOAD_COMMAND_FORGET, 1), 0);
        assert_int_equal(say(i, close, NULL), -EPROTO);
        proxy_rig_run(&rig);
    }
    for (int i = 0; i < RIG_RANKS; i++) {
        assert_int_equal(rig.result[i][0], 0);
        assert_true(has_from(i, (i + 1) % 4, 1) && has_from(i, (i + 2) % 4, 1) && has_from(i, (i + 3) % 4, 1));
        assert_int_equal(say(i, close, NULL), 0);
        assert_int_equal(alltoall(i, 2, TEAM, BLOCK, false), -EPROTO);
        proxy_rig_run(&rig);
        assert_int_equal(rig.refusal, 0);
    }
}

static void hostile_ranks(void **state)
{
    (void)state;
    uint8_t definition[4 * CO_OFFLOAD_BLOCKS_BYTES] = {0};                            // good for four
    assert_int_equal(team_open(0, 1, (const uint32_t[]){1, 2}, 2), -EPROTO);          // without itself
    assert_int_equal(team_open(0, 1, (const uint32_t[]){0, 1, 1}, 3), -EPROTO);       // one twice
    assert_int_equal(team_open(0, 1, (const uint32_t[]){0, 0}, 2), -EPROTO);          // itself twice
    assert_int_equal(team_open(0, 1, (const uint32_t[]){0, RIG_RANKS}, 2), -EPROTO);  // no rank
    assert_int_equal(team_open(0, 1, (const uint32_t[]){0, 1, 2, 3, 0}, 5), -EPROTO); // more than there are
    assert_int_equal(alltoall(0, 1, 1, 1, false), -EPROTO);                           // none of these is open
    assert_int_equal(team_of_all(0), 0);
    assert_int_equal(team_of_all(0), -EPROTO);
    assert_int_equal(alltoall(0, 1, TEAM, UINT64_C(1) << 44, true), 0); // no such memory, but a range
    assert_int_equal(alltoall(0, 1, TEAM, 1, true), -EPROTO);           // the number is taken
    struct co_offload_command wide = {
        .kind = CO_OFFLOAD_COMMAND_ALLTOALL, .group = 2, .team = TEAM, .send = UINT64_MAX - 100, .bytes = 50};
    assert_int_equal(say(0, wide, NULL), -EPROTO);
    struct co_offload_command few = {.kind = CO_OFFLOAD_COMMAND_ALLTOALLV, .group = 2, .team = TEAM, .operations = 2};
    assert_int_equal(say(0, few, definition), -EPROTO); // blocks for two of four
    assert_int_equal(say(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = 1}, NULL),
                     -EPROTO);
    assert_int_equal(say(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_REFUSE, .team = 1}, NULL), -EPROTO);
    assert_int_equal(team_of_all(1), 0); // of the same proxy, and unharmed
}

// Rank 0's proxy hears of another one, with ranks 2 and 3.
static int hear(enum co_offload_record_kind kind, uint32_t from, uint32_t to, uint64_t number)
{
    uint8_t record[CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRY_BYTES];
    const struct co_offload_key key = {from, to, TEAM, CO_OFFLOAD_TEAM, number};
    return proxy_rig_take(&rig, 1, CO_CARRIER_CONTROL, record, co_offload_record_encode_entries(record, kind, &key, 1));
}

static int hear_data(uint64_t number)
{
    uint8_t record[CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + 1] = {0};
    const struct co_offload_key key = {2, 0, TEAM, CO_OFFLOAD_TEAM, number};
    co_offload_record_encode_data_head(record, &key, 0, BLOCK, 1);
    return proxy_rig_take(&rig, 1, CO_CARRIER_BULK, record, sizeof record);
}

static void hostile_proxies(void **state)
{
    (void)state;
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, 2, 0, 5), 0); // of a team that nobody here has
    assert_int_equal(hear(CO_OFFLOAD_RECORD_ASK, 2, 0, 0), 0);
    assert_int_equal(hear_data(0), 0); // dropped: it may be closed here
    assert_int_equal(co_proxy_counts(rig.proxies[0])->strays, 1);
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, 1, 0, 5), -EPROTO); // not its rank
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, RIG_RANKS, 0, 5), -EPROTO);
    assert_int_equal(hear(CO_OFFLOAD_RECORD_ASK, 1, 0, 0), -EPROTO);
    assert_int_equal(team_of_all(0), 0);
    assert_int_equal(alltoall(0, 1, TEAM, BLOCK, false), 0);
    assert_int_equal(hear_data(0), 0); // rank 0 has not called: dropped
    assert_int_equal(co_proxy_counts(rig.proxies[0])->strays, 2);
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, 2, 0, 1), 0);
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, 2, 0, 1), 0); // to say it again does no harm
    assert_int_equal(hear(CO_OFFLOAD_RECORD_CALLED, 2, 0, 0), 0);
    assert_int_equal(hear(CO_OFFLOAD_RECORD_TEAM_SEND_FAILED, 2, 0, 0), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, 1, 0), 0);
    proxy_rig_run(&rig);
    assert_true(proxy_rig_has(&rig, 0, RECEIVE, RIG_BYTES - RECEIVE, 1));
    assert_int_equal(co_proxy_counts(rig.proxies[0])->data_records, (BLOCK + RIG_PIECE - 1) / RIG_PIECE); // to rank 2
    assert_int_equal(hear(CO_OFFLOAD_RECORD_TEAM_SEND_FAILED, 3, 1, 7), 0); // for a rank that has not opened it: kept
    assert_int_equal(hear(CO_OFFLOAD_RECORD_TEAM_RECEIVE_FAILED, 3, 0, 0), -EPROTO); // not between these two
    co_proxy_rank_lost(rig.proxies[0], 0);
    co_proxy_rank_lost(rig.proxies[0], 1);
    assert_true(co_proxy_is_idle(rig.proxies[0]));
}

// A rank that opens a team under an id that it had before begins anew, and others do not know that: it harms itself
// alone.
static void a_team_that_is_opened_again(void **state)
{
    (void)state;
    const struct co_offload_command close = {.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = TEAM};
    const uint32_t pairs[] = {0, 1, 2};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(team_open(i, TEAM, pairs, 3), 0);
        assert_int_equal(alltoall(i, 1, TEAM, BLOCK, false), 0);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
    }
    proxy_rig_run(&rig);
    assert_int_equal(proxy_rig_say(&rig, 1, CO_OFFLOAD_COMMAND_FORGET, 1), 0);
    assert_int_equal(say(1, close, NULL), 0);
    assert_int_equal(team_open(1, TEAM, pairs, 3), 0);
    assert_int_equal(proxy_rig_say(&rig, 1, CO_OFFLOAD_COMMAND_TEAM_OPEN, 1), -EPROTO); // without members
    assert_int_equal(alltoall(1, 1, TEAM, BLOCK, false), 0);
    for (int i = 0; i < 3; i++) {
        fill(i, 1);
        assert_int_equal(proxy_rig_call(&rig, i, 1, 0), 0);
        proxy_rig_run(&rig);
    }
    assert_int_equal(rig.refusal, 0);
    assert_true(has_from(0, 2, 1) && has_from(2, 0, 1));
    co_proxy_rank_lost(rig.proxies[0], 1);
    proxy_rig_run(&rig);
    assert_int_not_equal(rig.result[0][0], RIG_PENDING);
    assert_int_not_equal(rig.result[2][0], RIG_PENDING);
}

#define ON_PAIRS(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_pairs, proxy_rig_close_state, &rig)
#define ON_EACH(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_each, proxy_rig_close_state, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_PAIRS(calls_are_exchanges),
        ON_EACH(calls_are_exchanges),
        ON_PAIRS(nothing_comes_before_its_receiver_has_called),
        ON_PAIRS(teams_are_opened_late),
        ON_EACH(teams_are_opened_late),
        ON_PAIRS(teams_are_apart),
        ON_PAIRS(blocks_of_their_own),
        ON_PAIRS(a_call_that_is_refused),
        ON_PAIRS(a_member_that_dies),
        ON_PAIRS(teams_are_closed),
        ON_PAIRS(a_team_that_is_opened_again),
        ON_PAIRS(hostile_ranks),
        ON_PAIRS(hostile_proxies),
    };
    proxy_rig_ends_max = 32;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
