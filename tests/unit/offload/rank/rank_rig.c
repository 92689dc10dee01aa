// SPDX-License-Identifier: BSD-3-Clause
//
// A client by the commands that its proxy sees; see the header.
#include "rank_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct rank_rig rank_rig;

static void ring(void *context)
{
    assert_ptr_equal(context, &rank_rig.rings);
    rank_rig.rings++;
}

static int client_open(uint32_t groups_max, uint32_t ends_max)
{
    struct co_rank_client_config config = {.ranks = RANK_RIG_RANKS,
                                           .groups_max = groups_max,
                                           .ends_max = ends_max,
                                           .context = &rank_rig.rings,
                                           .ring = ring};
    memset(rank_rig.memory, 0, sizeof *rank_rig.memory);
    assert_int_equal(co_rank_client_open(&rank_rig.client, rank_rig.memory, &config), 0);
    return co_segment_proxy_open(&rank_rig.proxy, rank_rig.memory);
}

int rank_rig_open(void **state)
{
    (void)state;
    rank_rig.memory = aligned_alloc(CO_LINE_PAIR, sizeof *rank_rig.memory);
    rank_rig.rings = 0;
    return client_open(RANK_RIG_GROUPS, RANK_RIG_ENDS);
}

void rank_rig_open_again(uint32_t groups_max, uint32_t ends_max)
{
    co_rank_client_close(rank_rig.client);
    assert_int_equal(client_open(groups_max, ends_max), 0);
}

int rank_rig_close(void **state)
{
    (void)state;
    co_rank_client_close(rank_rig.client);
    free(rank_rig.memory);
    return 0;
}

// The next command, which has to be of that kind.
struct co_offload_command rank_rig_next(uint32_t kind)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    struct co_offload_command command;
    assert_int_equal(co_segment_take(&rank_rig.proxy, bytes), 1);
    assert_int_equal(co_offload_command_decode(&command, bytes, RANK_RIG_RANKS), 0);
    assert_int_equal(command.kind, kind);
    co_segment_taken(&rank_rig.proxy);
    return command;
}

void rank_rig_no_more(void)
{
    uint8_t bytes[CO_OFFLOAD_COMMAND_BYTES];
    assert_int_equal(co_segment_take(&rank_rig.proxy, bytes), 0);
}

void rank_rig_complete(uint32_t ticket, int error)
{
    co_segment_complete(
        &rank_rig.proxy, ticket,
        &(struct co_offload_completion){.state = CO_OFFLOAD_COMPLETION_DONE, .error = error, .bytes = 9});
}

struct co_offload_operation rank_rig_send_to(uint32_t to)
{
    return (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_SEND, .to = to, .address = 4096, .bytes = 10};
}

struct co_rank_group *rank_rig_group_of(uint32_t to)
{
    struct co_rank_group *group;
    struct co_offload_operation operation = rank_rig_send_to(to);
    assert_int_equal(co_rank_group_start(rank_rig.client, &group), 0);
    assert_int_equal(co_rank_group_record(group, &operation), 0);
    return group;
}

void rank_rig_call_and_end(struct co_rank_group *group, bool is_told)
{
    uint32_t ticket;
    assert_int_equal(co_rank_group_call(group, &ticket), 0);
    uint64_t number = is_told ? rank_rig_next(CO_OFFLOAD_COMMAND_GROUP).group : 0;
    struct co_offload_command call = rank_rig_next(CO_OFFLOAD_COMMAND_CALL);
    assert_true(!is_told || call.group == number);
    assert_int_equal(call.ticket, ticket);
    rank_rig_no_more();
    assert_false(co_rank_client_is_done(rank_rig.client, ticket));
    rank_rig_complete(ticket, 0);
    assert_true(co_rank_client_is_done(rank_rig.client, ticket));
    assert_int_equal(co_rank_client_collect(rank_rig.client, ticket).bytes, 9);
}
