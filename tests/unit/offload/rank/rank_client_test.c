// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's client, by the commands that its proxy sees: what is told once and what again, and what a caller may not do.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rank_rig.h"

static void a_cached_call_is_one_command(void **state)
{
    (void)state;
    struct co_rank_group *group = rank_rig_group_of(1);
    struct co_offload_operation operation = rank_rig_send_to(2);
    uint8_t definition[CO_OFFLOAD_OPERATION_BYTES];
    struct co_offload_operation told;
    uint32_t ticket;

    assert_int_equal(co_rank_group_record(group, &operation), 0);
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    struct co_offload_command command = rank_rig_next(CO_OFFLOAD_COMMAND_GROUP);
    assert_int_equal(command.operations, 2);
    assert_int_equal(co_segment_read(&rank_rig.proxy, command.definition + CO_OFFLOAD_OPERATION_BYTES, definition,
                                     sizeof definition),
                     0);
    assert_int_equal(co_offload_operation_decode(&told, definition, RANK_RIG_RANKS), 0);
    assert_int_equal(told.to, 2);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    assert_int_equal(co_rank_group_record(group, &operation), -EBUSY);
    assert_int_equal(co_rank_group_call(group, &ticket), -EBUSY);
    assert_int_equal(co_rank_group_free(group), -EBUSY);
    rank_rig_complete(ticket, -ECONNRESET);
    assert_int_equal(co_rank_client_collect(rank_rig.client, ticket).error, -ECONNRESET);
    for (int i = 0; i < 2000; i++) {
        rank_rig_call_and_end(group, false);
    }
    assert_int_equal(co_rank_client_counts(rank_rig.client)->cached_calls, 2000);
    assert_int_equal(co_rank_client_counts(rank_rig.client)->commands, 2002);
    assert_int_equal(co_rank_group_free(group), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_FORGET);
    rank_rig_no_more();
}

// The one that was called longest ago goes.
static void groups_that_are_kept(void **state)
{
    (void)state;
    struct co_rank_group *groups[3] = {rank_rig_group_of(0), rank_rig_group_of(1), rank_rig_group_of(2)};
    uint32_t ticket;

    rank_rig_call_and_end(groups[0], true);
    rank_rig_call_and_end(groups[1], true);
    rank_rig_call_and_end(groups[0], false);
    assert_int_equal(co_rank_group_call(groups[2], &ticket), 0);
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_FORGET).group, 2); // of groups[1]
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_GROUP).group, 3);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    rank_rig_complete(ticket, 0);
    co_rank_client_collect(rank_rig.client, ticket);
    rank_rig_call_and_end(groups[0], false);
    assert_int_equal(co_rank_group_free(groups[1]), 0); // the proxy does not know it
    rank_rig_no_more();
    assert_int_equal(co_rank_group_free(groups[0]), 0);
    assert_int_equal(co_rank_group_free(groups[2]), 0);
    struct co_rank_group *another = rank_rig_group_of(0);
    rank_rig_next(CO_OFFLOAD_COMMAND_FORGET);
    rank_rig_next(CO_OFFLOAD_COMMAND_FORGET);
    rank_rig_call_and_end(another, true);
    assert_int_equal(co_rank_group_free(another), 0);
}

static void tickets_and_commands_have_an_end(void **state)
{
    (void)state;
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t ticket;
    static bool is_taken[CO_TICKETS];

    for (uint32_t i = 0; i < CO_OFFLOAD_CALLS_MAX; i++) {
        assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
        assert_true(ticket < CO_TICKETS && !is_taken[ticket]);
        is_taken[ticket] = true;
    }
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -EAGAIN);
    assert_int_equal(co_rank_client_bye(rank_rig.client), -EAGAIN); // the ring is full
    for (uint32_t i = 0; i < CO_OFFLOAD_CALLS_MAX; i++) {
        rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -EAGAIN); // no ticket
    rank_rig_complete(77, 0);
    co_rank_client_collect(rank_rig.client, 77);
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    assert_int_equal(ticket, 77);
    assert_int_equal(co_rank_client_bye(rank_rig.client), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    rank_rig_next(CO_OFFLOAD_COMMAND_BYE);
}

// What has no room is not half done: the same call is right when there is some.
static void a_full_ring_changes_nothing(void **state)
{
    (void)state;
    struct co_rank_group *group = rank_rig_group_of(1);
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t ticket;

    for (uint32_t i = 0; i < CO_SEGMENT_COMMANDS - 1; i++) {
        assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    }
    assert_int_equal(co_rank_group_call(group, &ticket), -EAGAIN);     // the definition has gone, the call has not
    assert_int_equal(co_rank_group_record(group, &operation), -EBUSY); // which will run what was told
    for (uint32_t i = 0; i < CO_SEGMENT_COMMANDS - 1; i++) {
        rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    }
    uint64_t number = rank_rig_next(CO_OFFLOAD_COMMAND_GROUP).group;
    rank_rig_no_more();
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_CALL).group, number);
    rank_rig_complete(ticket, 0);
    co_rank_client_collect(rank_rig.client, ticket);
    assert_int_equal(co_rank_group_free(group), 0);
}

static void what_a_caller_may_not_do(void **state)
{
    (void)state;
    struct co_rank_group *group = rank_rig_group_of(1);
    struct co_offload_operation operation = rank_rig_send_to(RANK_RIG_RANKS);
    uint32_t ticket;

    assert_int_equal(co_rank_group_record(group, &operation), -EINVAL);
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -EINVAL);
    operation = rank_rig_send_to(1);
    operation.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -EINVAL);
    operation = (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_BARRIER};
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -EINVAL);
    rank_rig_no_more();
    assert_int_equal(co_rank_group_free(group), 0);
    assert_int_equal(co_rank_client_open(&rank_rig.client, rank_rig.memory,
                                         &(struct co_rank_client_config){.ranks = 1, .groups_max = 1}),
                     -EINVAL);
    assert_int_equal(co_rank_client_open(&rank_rig.client, rank_rig.memory,
                                         &(struct co_rank_client_config){.ranks = 1, .ends_max = 1}),
                     -EINVAL);
}

// A ticket is collected once, when its call is over: else a later call would share it with another one.
static void a_ticket_is_collected_once(void **state)
{
    (void)state;
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t tickets[3];

    assert_int_equal(co_rank_client_collect(rank_rig.client, 5).error, -EINVAL); // of no call
    for (int i = 0; i < 2; i++) {
        assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[i]), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_collect(rank_rig.client, tickets[0]).error, -EINVAL); // not over
    rank_rig_complete(tickets[0], 0);
    assert_int_equal(co_rank_client_collect(rank_rig.client, tickets[0]).error, 0);
    assert_int_equal(co_rank_client_collect(rank_rig.client, tickets[0]).error, -EINVAL); // once more
    assert_int_equal(co_rank_client_collect(rank_rig.client, CO_TICKETS).error, -EINVAL);
    for (int i = 0; i < CO_OFFLOAD_CALLS_MAX - 1; i++) {
        assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[2]), 0);
        assert_int_not_equal(tickets[2], tickets[1]);
        rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[2]), -EAGAIN);
}

static void a_proxy_that_sleeps_is_rung(void **state)
{
    (void)state;
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t ticket;

    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    assert_int_equal(rank_rig.rings, 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    assert_true(co_segment_proxy_sleeps(&rank_rig.proxy));
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    assert_int_equal(rank_rig.rings, 1);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, rank_rig_open, rank_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(a_cached_call_is_one_command),     WITH_CLIENT(groups_that_are_kept),
        WITH_CLIENT(tickets_and_commands_have_an_end), WITH_CLIENT(a_full_ring_changes_nothing),
        WITH_CLIENT(a_ticket_is_collected_once),

        WITH_CLIENT(what_a_caller_may_not_do),         WITH_CLIENT(a_proxy_that_sleeps_is_rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
