// SPDX-License-Identifier: BSD-3-Clause
//
// Patterns and teams of a rank, by the commands that its proxy sees; recorded groups are in rank_client_test.c.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/offload_pattern.h"
#include "rank_rig.h"

enum { TEAM = 5, MEMBERS = 3 };

static const struct co_offload_command equal = {.kind = CO_OFFLOAD_COMMAND_ALLTOALL,
                                                .team = TEAM,
                                                .has_own = true,
                                                .send = 4096,
                                                .receive = 8192,
                                                .bytes = 16},
                                       lengths = {.kind = CO_OFFLOAD_COMMAND_ALLTOALLV,
                                                  .team = TEAM,
                                                  .operations = MEMBERS},
                                       refusal = {.kind = CO_OFFLOAD_COMMAND_REFUSE, .team = TEAM};

static void call_and_end(struct co_rank_group *group, uint32_t told)
{
    uint32_t ticket;
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    uint64_t number = told != 0 ? rank_rig_next(told).group : 0;
    struct co_offload_command call = rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    assert_true(told == 0 || call.group == number);
    rank_rig_complete(ticket, 0);
    (void)co_rank_client_collect(rank_rig.client, ticket);
}

static void a_pattern_is_told_once(void **state)
{
    (void)state;
    struct co_rank_group *group;
    struct co_offload_operation operation = rank_rig_send_to(1);

    assert_int_equal(co_rank_group_pattern(rank_rig.client, &equal, NULL, MEMBERS, &group), 0);
    assert_int_equal(co_rank_group_record(group, &operation), -EBUSY); // it is complete
    call_and_end(group, CO_OFFLOAD_COMMAND_ALLTOALL);
    call_and_end(group, 0);
    assert_int_equal(co_rank_client_counts(rank_rig.client)->cached_calls, 1);
    assert_int_equal(co_rank_group_free(group), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_FORGET);
    rank_rig_no_more();
}

static void blocks_stand_in_the_area(void **state)
{
    (void)state;
    uint8_t definition[MEMBERS * CO_OFFLOAD_BLOCKS_BYTES], told[sizeof definition];
    struct co_rank_group *group;
    uint32_t ticket;

    memset(definition, 7, sizeof definition);
    assert_int_equal(co_rank_group_pattern(rank_rig.client, &lengths, definition, MEMBERS, &group), 0);
    memset(definition, 0, sizeof definition); // it was read
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    struct co_offload_command command = rank_rig_next(CO_OFFLOAD_COMMAND_ALLTOALLV);
    assert_int_equal(command.operations, MEMBERS);
    assert_int_equal(co_segment_read(&rank_rig.proxy, command.definition, told, sizeof told), 0);
    memset(definition, 7, sizeof definition);
    assert_memory_equal(told, definition, sizeof told);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    rank_rig_complete(ticket, 0);
    (void)co_rank_client_collect(rank_rig.client, ticket);
    assert_int_equal(co_rank_group_free(group), 0);
}

// Each member has two ends in a call, and a rank only so many, beside one call of each team.
static void ends_of_calls_have_an_end(void **state)
{
    (void)state;
    struct co_rank_team team = {.members = MEMBERS};
    struct co_rank_group *groups[3];
    uint32_t tickets[3], other;

    rank_rig_open_again(3, 3 * MEMBERS + 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(co_rank_group_pattern(rank_rig.client, &equal, NULL, MEMBERS, &groups[i]), 0);
        co_rank_group_join(groups[i], &team);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(co_rank_group_call(groups[i], &tickets[i]), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_ALLTOALL);
        rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    }
    assert_int_equal(co_rank_group_call(groups[2], &tickets[2]), -EAGAIN);
    assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &team, &other), -EAGAIN);
    rank_rig_complete(tickets[0], 0);
    (void)co_rank_client_collect(rank_rig.client, tickets[0]);
    assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &team, &other), 0);
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_REFUSE).ticket, other);
    rank_rig_complete(other, -ECANCELED);
    assert_int_equal(co_rank_client_collect(rank_rig.client, other).error, -ECANCELED);
    rank_rig_complete(tickets[1], 0);
    (void)co_rank_client_collect(rank_rig.client, tickets[1]);
    assert_int_equal(team.call_count, 0);
    call_and_end(groups[2], CO_OFFLOAD_COMMAND_ALLTOALL);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(co_rank_group_free(groups[i]), 0);
    }
    rank_rig_open_again(2, 5);
    assert_int_equal(co_rank_group_pattern(rank_rig.client, &equal, NULL, MEMBERS, &groups[0]), 0);
    assert_int_equal(co_rank_group_call(groups[0], &other), -ENOSPC); // of no team
    assert_int_equal(co_rank_group_free(groups[0]), 0);
}

// As many calls as a rank may have of one team leave each other team its one call, and a ticket for it.
static void one_call_of_each_team_has_room(void **state)
{
    (void)state;
    enum { TEAMS = 3000 };
    static struct co_rank_team teams[TEAMS];
    uint32_t ticket;

    rank_rig_open_again(1, 3 * MEMBERS * CO_OFFLOAD_CALLS_MAX);
    for (int i = 0; i < TEAMS; i++) {
        teams[i].members = MEMBERS;
    }
    for (int i = 0; i < 1 + CO_OFFLOAD_CALLS_MAX; i++) {
        assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &teams[0], &ticket), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_REFUSE);
    }
    assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &teams[0], &ticket), -EAGAIN);
    for (int i = 1; i < TEAMS; i++) {
        assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &teams[i], &ticket), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_REFUSE);
        assert_int_equal(co_rank_client_refuse(rank_rig.client, &refusal, &teams[i], &ticket), -EAGAIN);
    }
}

// Where the proxy takes nothing any more: also one whose call is not collected.
static void groups_are_abandoned(void **state)
{
    (void)state;
    struct co_rank_team team = {.members = MEMBERS};
    struct co_rank_group *groups[2];
    uint32_t ticket;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(co_rank_group_pattern(rank_rig.client, &equal, NULL, MEMBERS, &groups[i]), 0);
        co_rank_group_join(groups[i], &team);
    }
    assert_int_equal(co_rank_group_call(groups[0], &ticket), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_ALLTOALL);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    co_rank_group_abandon(groups[0]);
    co_rank_group_abandon(groups[1]);
    rank_rig_no_more();
    rank_rig_complete(ticket, 0);
    assert_int_equal(co_rank_client_collect(rank_rig.client, ticket).error, 0);
}

// What the proxy will count at most, of each kind, and of a refused one.
static void trees_have_ends(void **state)
{
    (void)state;
    struct co_offload_command command = {.kind = CO_OFFLOAD_COMMAND_BCAST, .team = TEAM};
    assert_int_equal(co_offload_command_ends(&command, 100), 3);
    command.kind = CO_OFFLOAD_COMMAND_ALLGATHERV;
    assert_int_equal(co_offload_command_ends(&command, 100), 300);
    command.kind = CO_OFFLOAD_COMMAND_ALLGATHER;
    command.has_own = true;
    assert_int_equal(co_offload_command_ends(&command, 100), 302);
    command = (struct co_offload_command){.kind = CO_OFFLOAD_COMMAND_REFUSE, .team = TEAM};
    assert_int_equal(co_offload_command_ends(&command, 100), 198);
    command.refused = CO_OFFLOAD_COMMAND_ALLGATHER;
    assert_int_equal(co_offload_command_ends(&command, 100), 300);
}

static void what_is_no_pattern(void **state)
{
    (void)state;
    struct co_offload_command wrong = equal;
    struct co_rank_group *group;

    wrong.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(co_rank_group_pattern(rank_rig.client, &wrong, NULL, MEMBERS, &group), -EINVAL);
    wrong = lengths;
    wrong.operations = 0;
    assert_int_equal(co_rank_group_pattern(rank_rig.client, &wrong, NULL, MEMBERS, &group), -EINVAL);
}

static void teams_are_told(void **state)
{
    (void)state;
    uint8_t members[MEMBERS * CO_OFFLOAD_MEMBER_BYTES] = {0, 0, 0, 0, 1, 0, 0, 0, 2}, told[sizeof members];

    assert_int_equal(co_rank_client_open_team(rank_rig.client, TEAM, members, MEMBERS, 9), 0);
    struct co_offload_command command = rank_rig_next(CO_OFFLOAD_COMMAND_TEAM_OPEN);
    assert_true(command.team == TEAM && command.operations == MEMBERS && command.begun == 9);
    assert_int_equal(co_segment_read(&rank_rig.proxy, command.definition, told, sizeof told), 0);
    assert_memory_equal(told, members, sizeof told);
    assert_int_equal(co_rank_client_close_team(rank_rig.client, TEAM, MEMBERS), 0);
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_TEAM_CLOSE).team, TEAM);
    for (uint32_t i = 0; i < CO_OFFLOAD_TEAMS_MAX; i++) {
        assert_int_equal(co_rank_client_open_team(rank_rig.client, i, members, MEMBERS, 0), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_TEAM_OPEN);
    }
    assert_int_equal(co_rank_client_open_team(rank_rig.client, 1 << 20, members, MEMBERS, 0), -ENOSPC);
    assert_int_equal(co_rank_client_close_team(rank_rig.client, 3, MEMBERS), 0);
    assert_int_equal(co_rank_client_open_team(rank_rig.client, 1 << 20, members, CO_OFFLOAD_MEMBERS_KEPT, 0), -ENOSPC);
    assert_int_equal(co_rank_client_open_team(rank_rig.client, 1 << 20, members, MEMBERS, 0), 0);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, rank_rig_open, rank_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(a_pattern_is_told_once),
        WITH_CLIENT(blocks_stand_in_the_area),
        WITH_CLIENT(ends_of_calls_have_an_end),
        WITH_CLIENT(one_call_of_each_team_has_room),
        WITH_CLIENT(groups_are_abandoned),
        WITH_CLIENT(what_is_no_pattern),
        WITH_CLIENT(teams_are_told),
        WITH_CLIENT(trees_have_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
