// SPDX-License-Identifier: BSD-3-Clause
//
// Bounds of a proxy that a rank's client keeps, so that no program is hung up for what it could not know.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rank_rig.h"

static struct co_rank_group *largest_group(void)
{
    struct co_rank_group *group;
    const struct co_offload_operation barrier = {.kind = CO_OFFLOAD_OPERATION_BARRIER};
    assert_int_equal(co_rank_group_start(rank_rig.client, &group), 0);
    for (uint32_t i = 0; i < CO_OFFLOAD_OPERATIONS_MAX; i++) {
        assert_int_equal(co_rank_group_record(group, &barrier), 0);
    }
    assert_int_equal(co_rank_group_record(group, &barrier), -ENOSPC);
    return group;
}

// The proxy keeps so many operations of a rank, of groups that it has forgotten until their calls are over, too: what
// is called longest ago goes first, and only if that gives room.
static void operations_that_are_kept(void **state)
{
    (void)state;
    struct co_rank_group *groups[5];
    uint32_t tickets[5];

    rank_rig_open_again(9, RANK_RIG_ENDS);
    for (int i = 0; i < 5; i++) {
        groups[i] = largest_group();
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(co_rank_group_call(groups[i], &tickets[i]), 0);
        rank_rig_next(CO_OFFLOAD_COMMAND_GROUP);
        rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    }
    assert_int_equal(co_rank_group_call(groups[4], &tickets[4]), -EAGAIN);
    rank_rig_no_more();
    rank_rig_complete(tickets[2], 0);
    co_rank_client_collect(rank_rig.client, tickets[2]);
    assert_int_equal(co_rank_group_call(groups[4], &tickets[4]), 0);
    assert_int_equal(rank_rig_next(CO_OFFLOAD_COMMAND_FORGET).group, 3);
    rank_rig_next(CO_OFFLOAD_COMMAND_GROUP);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    for (int i = 0; i < 5; i++) {
        if (i != 2) {
            rank_rig_complete(tickets[i], 0);
            co_rank_client_collect(rank_rig.client, tickets[i]);
        }
        assert_int_equal(co_rank_group_free(groups[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        rank_rig_next(CO_OFFLOAD_COMMAND_FORGET);
    }
    rank_rig_no_more();
}

static void record(struct co_rank_group *group, uint32_t kind, uint32_t peer, uint32_t tag)
{
    bool sends = kind != CO_OFFLOAD_OPERATION_RECEIVE, receives = kind != CO_OFFLOAD_OPERATION_SEND;
    struct co_offload_operation operation = {.kind = kind,
                                             .to = sends ? peer : 0,
                                             .to_tag = sends ? tag : 0,
                                             .from = receives ? peer : 0,
                                             .from_tag = receives ? tag : 0,
                                             .address = 4096,
                                             .bytes = 10};
    assert_int_equal(co_rank_group_record(group, &operation), 0);
}

// A client of which the proxy lets four ends be under way.
static struct co_rank_group *open_narrow(void)
{
    struct co_rank_group *group;
    rank_rig_open_again(RANK_RIG_GROUPS, 4);
    assert_int_equal(co_rank_group_start(rank_rig.client, &group), 0);
    return group;
}

static void ends_under_way_have_a_bound(void **state)
{
    (void)state;
    struct co_rank_group *group = open_narrow(), *large;
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t tickets[4];

    record(group, CO_OFFLOAD_OPERATION_FORWARD, 1, 0); // two of them
    record(group, CO_OFFLOAD_OPERATION_SEND, 1, 0);
    assert_int_equal(co_rank_group_call(group, &tickets[0]), 0);
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[1]), 0);
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[2]), -EAGAIN);
    rank_rig_next(CO_OFFLOAD_COMMAND_GROUP);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    rank_rig_no_more();
    rank_rig_complete(tickets[0], -EFAULT);
    co_rank_client_collect(rank_rig.client, tickets[0]);
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &tickets[2]), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    assert_int_equal(co_rank_group_call(group, &tickets[0]), -EAGAIN);
    rank_rig_complete(tickets[1], 0);
    co_rank_client_collect(rank_rig.client, tickets[1]);
    assert_int_equal(co_rank_group_call(group, &tickets[0]), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    assert_int_equal(co_rank_group_start(rank_rig.client, &large), 0);
    for (int i = 0; i < 5; i++) {
        record(large, CO_OFFLOAD_OPERATION_SEND, 1, 0);
    }
    assert_int_equal(co_rank_group_call(large, &tickets[3]), -ENOSPC); // whatever is under way
    rank_rig_no_more();
    assert_int_equal(co_rank_group_free(large), 0);
    rank_rig_complete(tickets[0], 0);
    co_rank_client_collect(rank_rig.client, tickets[0]);
    assert_int_equal(co_rank_group_free(group), 0);
}

// Messages of a direction, a rank, a tag and a space are counted, and a proxy keeps so many counts.
static void tags_have_a_bound(void **state)
{
    (void)state;
    struct co_rank_group *group = open_narrow(), *other;
    struct co_offload_operation operation = rank_rig_send_to(1);
    uint32_t ticket;

    record(group, CO_OFFLOAD_OPERATION_SEND, 1, 7);
    record(group, CO_OFFLOAD_OPERATION_SEND, 1, 8);
    record(group, CO_OFFLOAD_OPERATION_SEND, 1, 7);
    rank_rig_call_and_end(group, true);
    operation.to_tag = 7; // basic ones are others
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    rank_rig_complete(ticket, 0);
    co_rank_client_collect(rank_rig.client, ticket);
    assert_int_equal(co_rank_group_start(rank_rig.client, &other), 0);
    record(other, CO_OFFLOAD_OPERATION_RECEIVE, 1, 7);
    record(other, CO_OFFLOAD_OPERATION_RECEIVE, 2, 7);
    assert_int_equal(co_rank_group_call(other, &ticket), -ENOSPC); // a fifth one
    assert_int_equal(co_rank_group_free(other), 0);
    rank_rig_no_more();
    operation.to_tag = 9; // what had no room has taken none
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), 0);
    rank_rig_next(CO_OFFLOAD_COMMAND_SEND);
    operation.to_tag = 10;
    assert_int_equal(co_rank_client_start(rank_rig.client, &operation, &ticket), -ENOSPC);
    rank_rig_call_and_end(group, false);
    assert_int_equal(co_rank_group_free(group), 0);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, rank_rig_open, rank_rig_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(operations_that_are_kept),
        WITH_CLIENT(ends_under_way_have_a_bound),
        WITH_CLIENT(tags_have_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
