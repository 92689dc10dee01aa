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

#include "offload/rank/rank_client.h"

enum { RANKS = 3, GROUPS = 2 };

static struct co_segment_memory *memory;
static struct co_segment_proxy proxy;
static struct co_rank_client *client;
static int rings;

static void ring(void *context)
{
    assert_ptr_equal(context, &rings);
    rings++;
}

static int open_client(void **state)
{
    (void)state;
    memory = aligned_alloc(CO_LINE_PAIR, sizeof *memory);
    memset(memory, 0, sizeof *memory);
    rings = 0;
    struct co_rank_client_config config = {.ranks = RANKS, .groups_max = GROUPS, .context = &rings, .ring = ring};
    assert_int_equal(co_rank_client_open(&client, memory, &config), 0);
    return co_segment_proxy_open(&proxy, memory);
}

static int close_client(void **state)
{
    (void)state;
    co_rank_client_close(client);
    free(memory);
    return 0;
}

// The next command, which has to be of that kind.
static struct co_offload_command next(uint32_t kind)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    struct co_offload_command command;
    assert_int_equal(co_segment_take(&proxy, bytes), 1);
    assert_int_equal(co_offload_command_decode(&command, bytes, RANKS), 0);
    assert_int_equal(command.kind, kind);
    co_segment_taken(&proxy);
    return command;
}

static void no_more(void)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    assert_int_equal(co_segment_take(&proxy, bytes), 0);
}

static void complete(uint32_t ticket, int error)
{
    co_segment_complete(
        &proxy, ticket,
        &(struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = error, .bytes = 9});
}

static struct co_offload_operation send_to(uint32_t to)
{
    return (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_SEND, .to = to, .address = 4096, .bytes = 10};
}

static struct co_rank_group *group_of(uint32_t to)
{
    struct co_rank_group *group;
    struct co_offload_operation operation = send_to(to);
    assert_int_equal(co_rank_group_start(client, &group), 0);
    assert_int_equal(co_rank_group_record(group, &operation), 0);
    return group;
}

static void call_and_end(struct co_rank_group *group, bool is_told)
{
    uint32_t ticket;
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    uint64_t number = is_told ? next(CO_OFFLOAD_COMMAND_GROUP).group : 0;
    struct co_offload_command call = next(CO_OFFLOAD_COMMAND_CALL);
    assert_true(!is_told || call.group == number);
    assert_int_equal(call.ticket, ticket);
    no_more();
    assert_false(co_rank_client_is_done(client, ticket));
    complete(ticket, 0);
    assert_true(co_rank_client_is_done(client, ticket));
    assert_int_equal(co_rank_client_collect(client, ticket).bytes, 9);
}

static void a_cached_call_is_one_command(void **state)
{
    (void)state;
    struct co_rank_group *group = group_of(1);
    struct co_offload_operation operation = send_to(2);
    uint8_t definition[CO_OFFLOAD_OPERATION_BYTES];
    struct co_offload_operation told;
    uint32_t ticket;

    assert_int_equal(co_rank_group_record(group, &operation), 0);
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    struct co_offload_command command = next(CO_OFFLOAD_COMMAND_GROUP);
    assert_int_equal(command.operations, 2);
    assert_int_equal(
        co_segment_read(&proxy, command.definition + CO_OFFLOAD_OPERATION_BYTES, definition, sizeof definition), 0);
    assert_int_equal(co_offload_operation_decode(&told, definition, RANKS), 0);
    assert_int_equal(told.to, 2);
    next(CO_OFFLOAD_COMMAND_CALL);
    assert_int_equal(co_rank_group_record(group, &operation), -EBUSY);
    assert_int_equal(co_rank_group_call(group, &ticket), -EBUSY);
    assert_int_equal(co_rank_group_free(group), -EBUSY);
    complete(ticket, -ECONNRESET);
    assert_int_equal(co_rank_client_collect(client, ticket).error, -ECONNRESET);
    for (int i = 0; i < 2000; i++) {
        call_and_end(group, false);
    }
    assert_int_equal(co_rank_client_counts(client)->cached_calls, 2000);
    assert_int_equal(co_rank_client_counts(client)->commands, 2002);
    assert_int_equal(co_rank_group_free(group), 0);
    next(CO_OFFLOAD_COMMAND_FORGET);
    no_more();
}

// The one that was called longest ago goes.
static void groups_that_are_kept(void **state)
{
    (void)state;
    struct co_rank_group *groups[3] = {group_of(0), group_of(1), group_of(2)};
    uint32_t ticket;

    call_and_end(groups[0], true);
    call_and_end(groups[1], true);
    call_and_end(groups[0], false);
    assert_int_equal(co_rank_group_call(groups[2], &ticket), 0);
    assert_int_equal(next(CO_OFFLOAD_COMMAND_FORGET).group, 2); // of groups[1]
    assert_int_equal(next(CO_OFFLOAD_COMMAND_GROUP).group, 3);
    next(CO_OFFLOAD_COMMAND_CALL);
    complete(ticket, 0);
    co_rank_client_collect(client, ticket);
    call_and_end(groups[0], false);
    assert_int_equal(co_rank_group_free(groups[1]), 0); // the proxy does not know it
    no_more();
    assert_int_equal(co_rank_group_free(groups[0]), 0);
    assert_int_equal(co_rank_group_free(groups[2]), 0);
    struct co_rank_group *another = group_of(0);
    next(CO_OFFLOAD_COMMAND_FORGET);
    next(CO_OFFLOAD_COMMAND_FORGET);
    call_and_end(another, true);
    assert_int_equal(co_rank_group_free(another), 0);
}

static void tickets_and_commands_have_an_end(void **state)
{
    (void)state;
    struct co_offload_operation operation = send_to(1);
    uint32_t ticket;
    static bool is_taken[CO_TICKETS];

    for (uint32_t i = 0; i < CO_TICKETS; i++) {
        assert_int_equal(co_rank_client_start(client, &operation, &ticket), 0);
        assert_true(ticket < CO_TICKETS && !is_taken[ticket]);
        is_taken[ticket] = true;
    }
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), -EAGAIN);
    assert_int_equal(co_rank_client_bye(client), -EAGAIN); // the ring is full
    for (uint32_t i = 0; i < CO_TICKETS; i++) {
        next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), -EAGAIN); // no ticket
    complete(77, 0);
    co_rank_client_collect(client, 77);
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), 0);
    assert_int_equal(ticket, 77);
    assert_int_equal(co_rank_client_bye(client), 0);
    next(CO_OFFLOAD_COMMAND_SEND);
    next(CO_OFFLOAD_COMMAND_BYE);
}

// What has no room is not half done: the same call is right when there is some.
static void a_full_ring_changes_nothing(void **state)
{
    (void)state;
    struct co_rank_group *group = group_of(1);
    struct co_offload_operation operation = send_to(1);
    uint32_t ticket;

    for (uint32_t i = 0; i < CO_SEGMENT_COMMANDS - 1; i++) {
        assert_int_equal(co_rank_client_start(client, &operation, &ticket), 0);
    }
    assert_int_equal(co_rank_group_call(group, &ticket), -EAGAIN);     // the definition has gone, the call has not
    assert_int_equal(co_rank_group_record(group, &operation), -EBUSY); // which will run what was told
    for (uint32_t i = 0; i < CO_SEGMENT_COMMANDS - 1; i++) {
        next(CO_OFFLOAD_COMMAND_SEND);
    }
    uint64_t number = next(CO_OFFLOAD_COMMAND_GROUP).group;
    no_more();
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    assert_int_equal(next(CO_OFFLOAD_COMMAND_CALL).group, number);
    complete(ticket, 0);
    co_rank_client_collect(client, ticket);
    assert_int_equal(co_rank_group_free(group), 0);
}

static void what_a_caller_may_not_do(void **state)
{
    (void)state;
    struct co_rank_group *group = group_of(1);
    struct co_offload_operation operation = send_to(RANKS);
    uint32_t ticket;

    assert_int_equal(co_rank_group_record(group, &operation), -EINVAL);
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), -EINVAL);
    operation = send_to(1);
    operation.bytes = CO_OFFLOAD_BYTES_MAX + 1;
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), -EINVAL);
    operation = (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_BARRIER};
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), -EINVAL);
    no_more();
    assert_int_equal(co_rank_group_free(group), 0);
    assert_int_equal(co_rank_client_open(&client, memory, &(struct co_rank_client_config){.ranks = 1}), -EINVAL);
}

// A ticket is collected once, when its call is over: else a later call would share it with another one.
static void a_ticket_is_collected_once(void **state)
{
    (void)state;
    struct co_offload_operation operation = send_to(1);
    uint32_t tickets[3];

    assert_int_equal(co_rank_client_collect(client, 5).error, -EINVAL); // of no call
    for (int i = 0; i < 2; i++) {
        assert_int_equal(co_rank_client_start(client, &operation, &tickets[i]), 0);
        next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_collect(client, tickets[0]).error, -EINVAL); // not over
    complete(tickets[0], 0);
    assert_int_equal(co_rank_client_collect(client, tickets[0]).error, 0);
    assert_int_equal(co_rank_client_collect(client, tickets[0]).error, -EINVAL); // once more
    assert_int_equal(co_rank_client_collect(client, CO_TICKETS).error, -EINVAL);
    for (int i = 0; i < CO_TICKETS - 1; i++) {
        assert_int_equal(co_rank_client_start(client, &operation, &tickets[2]), 0);
        assert_int_not_equal(tickets[2], tickets[1]);
        next(CO_OFFLOAD_COMMAND_SEND);
    }
    assert_int_equal(co_rank_client_start(client, &operation, &tickets[2]), -EAGAIN);
}

static struct co_rank_group *largest_group(void)
{
    struct co_rank_group *group;
    const struct co_offload_operation barrier = {.kind = CO_OFFLOAD_OPERATION_BARRIER};
    assert_int_equal(co_rank_group_start(client, &group), 0);
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

    co_rank_client_close(client);
    memset(memory, 0, sizeof *memory);
    struct co_rank_client_config config = {.ranks = RANKS, .groups_max = 9, .context = &rings, .ring = ring};
    assert_int_equal(co_rank_client_open(&client, memory, &config), 0);
    assert_int_equal(co_segment_proxy_open(&proxy, memory), 0);
    for (int i = 0; i < 5; i++) {
        groups[i] = largest_group();
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(co_rank_group_call(groups[i], &tickets[i]), 0);
        next(CO_OFFLOAD_COMMAND_GROUP);
        next(CO_OFFLOAD_COMMAND_CALL);
    }
    assert_int_equal(co_rank_group_call(groups[4], &tickets[4]), -EAGAIN);
    no_more();
    complete(tickets[2], 0);
    co_rank_client_collect(client, tickets[2]);
    assert_int_equal(co_rank_group_call(groups[4], &tickets[4]), 0);
    assert_int_equal(next(CO_OFFLOAD_COMMAND_FORGET).group, 3);
    next(CO_OFFLOAD_COMMAND_GROUP);
    next(CO_OFFLOAD_COMMAND_CALL);
    for (int i = 0; i < 5; i++) {
        if (i != 2) {
            complete(tickets[i], 0);
            co_rank_client_collect(client, tickets[i]);
        }
        assert_int_equal(co_rank_group_free(groups[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        next(CO_OFFLOAD_COMMAND_FORGET);
    }
    no_more();
}

static void a_proxy_that_sleeps_is_rung(void **state)
{
    (void)state;
    struct co_offload_operation operation = send_to(1);
    uint32_t ticket;

    assert_int_equal(co_rank_client_start(client, &operation, &ticket), 0);
    assert_int_equal(rings, 0);
    next(CO_OFFLOAD_COMMAND_SEND);
    assert_true(co_segment_proxy_sleeps(&proxy));
    assert_int_equal(co_rank_client_start(client, &operation, &ticket), 0);
    assert_int_equal(rings, 1);
}

#define WITH_CLIENT(test) cmocka_unit_test_setup_teardown(test, open_client, close_client)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CLIENT(a_cached_call_is_one_command),     WITH_CLIENT(groups_that_are_kept),
        WITH_CLIENT(tickets_and_commands_have_an_end), WITH_CLIENT(a_full_ring_changes_nothing),
        WITH_CLIENT(a_ticket_is_collected_once),       WITH_CLIENT(operations_that_are_kept),
        WITH_CLIENT(what_a_caller_may_not_do),         WITH_CLIENT(a_proxy_that_sleeps_is_rung),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
