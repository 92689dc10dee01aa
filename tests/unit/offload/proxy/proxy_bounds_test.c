// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank may have of teams and their calls: one call of each team has always room, and others count; a team that
// was closed goes on with the number that its rank says; and two ranks that agree to fill their proxy with words of
// what never comes have to go, and nobody else.
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

enum { ENDS_MAX = 24, TEAM = 70, BLOCK = 10, GROUP = 1, BAD_GROUP = 2, RECEIVE = 512 };

static int say(int rank, struct co_offload_command command, const uint8_t *definition)
{
    return co_proxy_command(rig.proxies[rig.proxy_of_rank[rank]], rank, &command, definition,
                            co_offload_command_definition_bytes(&command));
}

// Of the first `count` ranks.
static int team_open(int rank, uint64_t team, uint32_t count, uint64_t begun)
{
    uint8_t definition[RIG_RANKS * CO_OFFLOAD_MEMBER_BYTES];
    for (uint32_t i = 0; i < count; i++) {
        co_little_endian_put(definition + i * CO_OFFLOAD_MEMBER_BYTES, i, 4);
    }
    return say(rank,
               (struct co_offload_command){
                   .kind = CO_OFFLOAD_COMMAND_TEAM_OPEN, .team = team, .operations = count, .begun = begun},
               definition);
}

static int alltoall(int rank, uint64_t group, uint64_t team, uint64_t address)
{
    return say(rank,
               (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_ALLTOALL,
                                           .group = group,
                                           .team = team,
                                           .send = address,
                                           .receive = address + RECEIVE,
                                           .bytes = BLOCK},
               NULL);
}

static int refuse(int rank, uint64_t team, uint32_t ticket)
{
    rig.result[rank][ticket] = RIG_PENDING;
    return say(rank, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_REFUSE, .team = team, .ticket = ticket},
               NULL);
}

static void team_close(int rank, uint64_t team)
{
    assert_int_equal(proxy_rig_say(&rig, rank, CO_OFFLOAD_COMMAND_FORGET, GROUP), 0);
    assert_int_equal(say(rank, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = team}, NULL),
                     0);
}

// Of four members; each call counts as twelve ends, but one.
static void one_call_of_each_team_has_room(void **state)
{
    (void)state;
    for (uint64_t team = TEAM; team < TEAM + 3; team++) {
        assert_int_equal(team_open(0, team, RIG_RANKS, 0), 0);
    }
    assert_int_equal(alltoall(0, GROUP, TEAM, RIG_BASE), 0);
    for (uint32_t ticket = 0; ticket < 3; ticket++) {
        assert_int_equal(proxy_rig_call(&rig, 0, GROUP, ticket), 0);
    }
    assert_int_equal(alltoall(0, GROUP + 1, TEAM + 1, RIG_BASE), 0);
    assert_int_equal(alltoall(0, GROUP + 2, TEAM + 2, RIG_BASE), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, GROUP + 1, 3), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, GROUP + 2, 4), 0);
    assert_int_equal(proxy_rig_call(&rig, 0, GROUP + 2, 5), -ENOSPC);
    assert_int_equal(proxy_rig_call(&rig, 0, GROUP, 5), -ENOSPC);
    assert_int_equal(proxy_rig_send(&rig, 0, 5, 1, 0, 1), -ENOSPC); // they count for all else, too
}

static void what_is_over_gives_room(void **state)
{
    (void)state;
    for (int rank = 0; rank < RIG_RANKS; rank++) {
        assert_int_equal(team_open(rank, TEAM, RIG_RANKS, 0), 0);
        assert_int_equal(alltoall(rank, GROUP, TEAM, RIG_BASE), 0);
    }
    for (int round = 0; round < 5; round++) {
        for (uint32_t ticket = 0; ticket < 3; ticket++) {
            for (int rank = 0; rank < RIG_RANKS; rank++) {
                assert_int_equal(proxy_rig_call(&rig, rank, GROUP, ticket), 0);
            }
        }
        proxy_rig_run(&rig);
        for (int i = 0; i < 3 * RIG_RANKS; i++) {
            assert_int_equal(rig.result[i % RIG_RANKS][i / RIG_RANKS], 0);
        }
    }
    assert_int_equal(refuse(0, TEAM, 0), 0);
    assert_int_equal(proxy_rig_send(&rig, 0, 1, 1, 0, 1), 0);
}

// Each closes it while it is idle, in turn, and opens it again where it was.
static void a_team_goes_on_where_it_was(void **state)
{
    (void)state;
    for (int rank = 0; rank < 3; rank++) {
        assert_int_equal(team_open(rank, TEAM, 3, 0), 0);
        assert_int_equal(alltoall(rank, GROUP, TEAM, RIG_BASE), 0);
    }
    for (uint64_t call = 0; call < 6; call++) {
        for (int rank = 0; rank < 3; rank++) {
            memset(rig.memory[rank], (int)(10 * call) + rank, RECEIVE);
            assert_int_equal(proxy_rig_call(&rig, rank, GROUP, 0), 0);
            proxy_rig_run(&rig); // and the last one is late
        }
        for (int rank = 0; rank < 3; rank++) {
            int other = (rank + 1) % 3;
            assert_int_equal(rig.result[rank][0], 0);
            assert_true(proxy_rig_has(&rig, rank, RECEIVE + (uint32_t)other * BLOCK, BLOCK,
                                      (unsigned char)(10 * call + (unsigned)other)));
        }
        for (int rank = 0; rank < 3; rank++) {
            if (call == 4 || (int)call % 3 == rank) {
                team_close(rank, TEAM);
                assert_int_equal(team_open(rank, TEAM, 3, call + 1), 0);
                assert_int_equal(alltoall(rank, GROUP, TEAM, RIG_BASE), 0);
            }
        }
        proxy_rig_run(&rig);
    }
    assert_int_equal(rig.refusal, 0);
}

// Of a call that is over, and of one to come, while the team is closed: the first one is never asked for again.
static void late_words_are_not_kept(void **state)
{
    (void)state;
    uint8_t record[CO_OFFLOAD_RECORD_HEAD_BYTES + CO_OFFLOAD_RECORD_ENTRY_BYTES];
    for (uint64_t number = 0; number < 2; number++) {
        const struct co_offload_key key = {2, 0, TEAM, CO_OFFLOAD_TEAM, number};
        size_t bytes = co_offload_record_encode_entries(record, CO_OFFLOAD_RECORD_TEAM_SEND_FAILED, &key, 1);
        assert_int_equal(proxy_rig_take(&rig, 1, CO_CARRIER_CONTROL, record, bytes), 0);
        assert_int_equal(team_open(0, TEAM, 3, 1), 0);
        assert_true(co_proxy_is_idle(rig.proxies[0]) == (number == 0));
        assert_int_equal(say(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = TEAM}, NULL),
                         0);
    }
}

static int call(int rank, uint64_t group, uint32_t ticket)
{
    return say(rank, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_CALL, .group = group, .ticket = ticket},
               NULL);
}

// All call it once, and then open it anew one by one: who has it open keeps what is known of all, so the first call is
// taken for one that all have begun.
static void team_confuse(uint64_t team, uint32_t members)
{
    for (int rank = 0; rank < (int)members; rank++) {
        assert_int_equal(team_open(rank, team, members, 0), 0);
        assert_int_equal(alltoall(rank, GROUP, team, RIG_BASE), 0);
        assert_int_equal(proxy_rig_call(&rig, rank, GROUP, 0), 0);
    }
    proxy_rig_run(&rig);
    for (int rank = 0; rank < (int)members; rank++) {
        assert_int_equal(rig.result[rank][0], 0);
        team_close(rank, team);
        assert_int_equal(team_open(rank, team, members, 0), 0);
    }
}

// Sends of rank 0 fail, of calls that the others never make, so that words of them are kept; and nobody counts them,
// for the others seemed to have begun.
static void who_agree_to_fail_lose_themselves(void **state)
{
    (void)state;
    enum { TEAMS = 30, MEMBERS = 3 };
    for (uint32_t i = 0; i < TEAMS && !co_proxy_rank_is_condemned(rig.proxies[0], 0); i++) {
        team_confuse(TEAM + i, MEMBERS);
        assert_int_equal(alltoall(0, BAD_GROUP, TEAM + i, UINT64_C(1) << 40), 0); // no such memory
        assert_int_equal(call(0, BAD_GROUP, 1 + i), 0);
        assert_int_equal(proxy_rig_say(&rig, 0, CO_OFFLOAD_COMMAND_FORGET, BAD_GROUP), 0);
        proxy_rig_run(&rig);
    }
    assert_true(co_proxy_rank_is_condemned(rig.proxies[0], 0));
    assert_false(co_proxy_rank_is_condemned(rig.proxies[0], 1) || co_proxy_rank_is_condemned(rig.proxies[0], 2));
    co_proxy_rank_lost(rig.proxies[0], 0);
    assert_false(co_proxy_rank_is_condemned(rig.proxies[0], 0));
    assert_int_equal(proxy_rig_send(&rig, 1, 0, 2, 0, 8), 0);
    assert_int_equal(proxy_rig_receive(&rig, 2, 0, 1, 64, 8), 0);
    proxy_rig_run(&rig);
    assert_true(rig.result[1][0] == 0 && rig.result[2][0] == 0);
}

struct co_proxy_table;
struct co_proxy_node;
static unsigned walks; // of a table

void __real_co_proxy_table_visit(struct co_proxy_table *table,
                                 void (*visit)(void *context, struct co_proxy_table *table, struct co_proxy_node *node),
                                 void *context);
void __wrap_co_proxy_table_visit(struct co_proxy_table *table,
                                 void (*visit)(void *context, struct co_proxy_table *table, struct co_proxy_node *node),
                                 void *context);

void __wrap_co_proxy_table_visit(struct co_proxy_table *table,
                                 void (*visit)(void *context, struct co_proxy_table *table, struct co_proxy_node *node),
                                 void *context)
{
    walks++;
    __real_co_proxy_table_visit(table, visit, context);
}

// A program with more communicators than may be open has each opened anew by nearly every call.
static void a_team_is_opened_anew_without_a_walk(void **state)
{
    (void)state;
    walks = 0;
    for (uint64_t begun = 0; begun < 3; begun++) {
        assert_int_equal(team_open(0, TEAM, 2, begun), 0);
        assert_int_equal(say(0, (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_TEAM_CLOSE, .team = TEAM}, NULL),
                         0);
    }
    assert_int_equal(walks, 0); // nobody has said anything
}

static int open_three_and_one(void **state)
{
    proxy_rig_open(*state, 2, (const int[RIG_RANKS]){0, 0, 0, 1});
    return 0;
}

#define ON_PAIRS(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_pairs, proxy_rig_close_state, &rig)
#define ON_EACH(test) cmocka_unit_test_prestate_setup_teardown(test, proxy_rig_open_each, proxy_rig_close_state, &rig)
#define ON_THREE(test) cmocka_unit_test_prestate_setup_teardown(test, open_three_and_one, proxy_rig_close_state, &rig)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_PAIRS(a_team_is_opened_anew_without_a_walk),
        ON_PAIRS(one_call_of_each_team_has_room),
        ON_PAIRS(what_is_over_gives_room),
        ON_PAIRS(a_team_goes_on_where_it_was),
        ON_EACH(a_team_goes_on_where_it_was),
        ON_PAIRS(late_words_are_not_kept),
        ON_THREE(who_agree_to_fail_lose_themselves),
    };
    proxy_rig_ends_max = ENDS_MAX;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
