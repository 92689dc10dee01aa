// SPDX-License-Identifier: BSD-3-Clause
//
// Messages and groups of a world: what a program says becomes commands to its proxy, and whether something is over is
// one load. Hot; one thread at a time for a world.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "offload/api/offload_world.h"
#include "offload/segment_memory.h"

enum { LOOKS_A_TEST = 64 }; // a test that finds nothing looks so seldom whether the proxy is there

struct castoff_offload_request {
    struct castoff_offload_world *world;
    uint32_t ticket;
    unsigned tests;
    struct co_rank_range range; // what is copied of it, where that has to be
    struct co_rank_ranges ranges;
};

struct castoff_offload_group {
    struct castoff_offload_world *world;
    struct co_rank_group *group;
    uint32_t ticket;
    unsigned tests;
    bool has_end, is_out;
    struct co_rank_ranges ranges;
};

static int error_say(int error)
{
    switch (error) {
    case 0:
        return 0;
    case -ECHILD:
        return co_offload_fail(error, "this process is a child of the one that opened the world");
    case -ECONNRESET:
        return co_offload_fail(error, "the proxy of this host has ended, or did not move for CASTOFF_DEADLINE_S");
    case -EAGAIN:
        return co_offload_fail(error, "as much is under way as may be: wait for some of it");
    case -EINVAL:
        return co_offload_fail(error, "there is no such rank, or no such range of memory");
    case -ENOSPC:
        return co_offload_fail(error, "too many operations in a group, or too many pairs of rank and tag in the world");
    case -EMSGSIZE:
        return co_offload_fail(error, "a message was longer than its receive");
    case -EFAULT:
        return co_offload_fail(error, "there is no such memory any more");
    default:
        return co_offload_fail(error, "%s", strerror(-error));
    }
}

static int world_check(struct castoff_offload_world *world)
{
    return world->is_forked ? -ECHILD : co_rank_connection_look(world->connection) ? 0 : -ECONNRESET;
}

// Of a call that is over: who was needed, for people have to know which host to look at.
static int completion_say(const struct castoff_offload_world *world, const struct co_offload_completion *completion)
{
    uint32_t with = completion->with - 1;
    return completion->error == -ECONNRESET && with < (uint32_t)world->size
               ? co_offload_fail(-ECONNRESET, "rank %u on host %s has ended, or could not do its part of this", with,
                                 world->hosts[with])
               : error_say(completion->error);
}

static int ranges_begin(struct castoff_offload_world *world, struct co_rank_ranges *ranges)
{
    struct co_rank_copies *copies = co_rank_connection_copies(world->connection);
    return copies == NULL ? 0 : co_rank_copies_in(copies, ranges);
}

static int ranges_end(struct castoff_offload_world *world, struct co_rank_ranges *ranges, bool is_back)
{
    struct co_rank_copies *copies = co_rank_connection_copies(world->connection);
    return copies == NULL ? 0 : co_rank_copies_out(copies, ranges, is_back);
}

// A range that is none is an error of the operation, of which its other end hears: the proxy will find none there.
static int request_copy(struct castoff_offload_request *request, struct co_offload_operation *operation)
{
    request->range =
        (struct co_rank_range){operation->address, operation->bytes, operation->kind == CO_OFFLOAD_OPERATION_RECEIVE};
    request->ranges = (struct co_rank_ranges){.at = &request->range, .count = 1, .room = 1};
    int error = ranges_begin(request->world, &request->ranges);
    if (error == -EFAULT) {
        operation->address = CO_SEGMENT_COPIES_BYTES;
        error = 0;
    }
    return error;
}

static int operation_start(struct castoff_offload_world *world, struct co_offload_operation *operation,
                           struct castoff_offload_request **out)
{
    int error = world_check(world);
    if (error != 0) {
        return error_say(error);
    }
    struct castoff_offload_request *request = calloc(1, sizeof *request);
    if (request == NULL) {
        return error_say(-ENOMEM);
    }
    request->world = world;
    error = request_copy(request, operation);
    if (error == 0) {
        error = co_rank_client_start(co_rank_connection_client(world->connection), operation, &request->ticket);
    }
    if (error != 0) {
        (void)ranges_end(world, &request->ranges, false);
        free(request);
        return error_say(error);
    }
    world->requests++;
    co_offload_count(CASTOFF_OFFLOAD_CALLS, 1);
    *out = request;
    return 0;
}

// No rank is below 0, and so far above are none either.
static uint32_t rank_of(int peer)
{
    return peer < 0 ? UINT32_MAX : (uint32_t)peer;
}

static struct co_offload_operation send_make(const void *address, size_t bytes, int peer, uint32_t tag)
{
    return (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_SEND,
                                         .to = rank_of(peer),
                                         .to_tag = tag,
                                         .address = (uint64_t)(uintptr_t)address,
                                         .bytes = bytes};
}

static struct co_offload_operation receive_make(void *address, size_t bytes, int peer, uint32_t tag)
{
    return (struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_RECEIVE,
                                         .from = rank_of(peer),
                                         .from_tag = tag,
                                         .address = (uint64_t)(uintptr_t)address,
                                         .bytes = bytes};
}

int castoff_offload_send(struct castoff_offload_world *world, const void *address, size_t bytes, int peer, uint32_t tag,
                         struct castoff_offload_request **request)
{
    struct co_offload_operation operation = send_make(address, bytes, peer, tag);
    return operation_start(world, &operation, request);
}

int castoff_offload_receive(struct castoff_offload_world *world, void *address, size_t bytes, int peer, uint32_t tag,
                            struct castoff_offload_request **request)
{
    struct co_offload_operation operation = receive_make(address, bytes, peer, tag);
    return operation_start(world, &operation, request);
}

static int ticket_test(struct castoff_offload_world *world, uint32_t ticket, struct co_rank_ranges *ranges,
                       unsigned *tests, int *is_done)
{
    if (world->is_forked) {
        return error_say(-ECHILD);
    }
    bool is_over = co_rank_client_is_done(co_rank_connection_client(world->connection), ticket);
    if (is_over) {
        (void)ranges_end(world, ranges, true); // waiting says what came of it
    } else if (++*tests % LOOKS_A_TEST == 0) {
        is_over = !co_rank_connection_look(world->connection); // then waiting finds the error
    }
    *is_done = is_over;
    return 0;
}

static int ticket_wait(struct castoff_offload_world *world, uint32_t ticket, struct co_rank_ranges *ranges,
                       size_t *received)
{
    bool is_over = co_rank_connection_wait(world->connection, ticket);
    int error = ranges_end(world, ranges, is_over);
    if (!is_over) {
        co_offload_count(CASTOFF_OFFLOAD_FAILED, 1);
        return co_offload_fail(-ECONNRESET, "the proxy of host %s has ended, or did not move for CASTOFF_DEADLINE_S",
                               world->hosts[world->rank]);
    }
    struct co_offload_completion completion =
        co_rank_client_collect(co_rank_connection_client(world->connection), ticket);
    if (received != NULL) {
        *received = completion.bytes;
    }
    co_offload_count(CASTOFF_OFFLOAD_FAILED, completion.error != 0);
    co_offload_count(CASTOFF_OFFLOAD_BYTES_RECEIVED, completion.bytes);
    co_offload_count(CASTOFF_OFFLOAD_BYTES_COPIED,
                     co_rank_connection_is_copying(world->connection) ? completion.bytes : 0);
    return completion.error != 0 ? completion_say(world, &completion) : error_say(error);
}

int castoff_offload_test(struct castoff_offload_request *request, int *is_done)
{
    return ticket_test(request->world, request->ticket, &request->ranges, &request->tests, is_done);
}

int castoff_offload_wait(struct castoff_offload_request *request, size_t *received)
{
    struct castoff_offload_world *world = request->world;
    if (world->is_forked) {
        return error_say(-ECHILD);
    }
    int error = ticket_wait(world, request->ticket, &request->ranges, received);

    free(request);
    world->requests--;
    return error;
}

int castoff_offload_group_start(struct castoff_offload_world *world, struct castoff_offload_group **out)
{
    int error = world_check(world);
    struct castoff_offload_group *group = error == 0 ? calloc(1, sizeof *group) : NULL;

    if (error == 0) {
        error =
            group == NULL ? -ENOMEM : co_rank_group_start(co_rank_connection_client(world->connection), &group->group);
    }
    if (error != 0) {
        free(group);
        return error_say(error);
    }
    group->world = world;
    world->groups++;
    *out = group;
    return 0;
}

static int operation_record(struct castoff_offload_group *group, const struct co_offload_operation *operation)
{
    if (group->has_end) {
        return co_offload_fail(-EBUSY, "the record of this group is complete");
    }
    if (group->world->is_forked) {
        return error_say(-ECHILD);
    }
    uint32_t count = group->ranges.count;
    int error = 0;
    if (co_rank_connection_copies(group->world->connection) != NULL) {
        error = co_rank_ranges_add(&group->ranges, operation);
    }
    if (error == 0) {
        error = co_rank_group_record(group->group, operation);
        group->ranges.count = error == 0 ? group->ranges.count : count;
    }
    return error_say(error);
}

int castoff_offload_group_send(struct castoff_offload_group *group, const void *address, size_t bytes, int peer,
                               uint32_t tag)
{
    struct co_offload_operation operation = send_make(address, bytes, peer, tag);
    return operation_record(group, &operation);
}

int castoff_offload_group_receive(struct castoff_offload_group *group, void *address, size_t bytes, int peer,
                                  uint32_t tag)
{
    struct co_offload_operation operation = receive_make(address, bytes, peer, tag);
    return operation_record(group, &operation);
}

int castoff_offload_group_barrier(struct castoff_offload_group *group)
{
    return operation_record(group, &(struct co_offload_operation){.kind = CO_OFFLOAD_OPERATION_BARRIER});
}

int castoff_offload_group_forward(struct castoff_offload_group *group, void *address, size_t bytes, int from,
                                  uint32_t from_tag, int to, uint32_t to_tag)
{
    struct co_offload_operation operation = receive_make(address, bytes, from, from_tag);
    operation.kind = CO_OFFLOAD_OPERATION_FORWARD;
    operation.to = rank_of(to);
    operation.to_tag = to_tag;
    return operation_record(group, &operation);
}

int castoff_offload_group_end(struct castoff_offload_group *group)
{
    group->has_end = true;
    return 0;
}

int castoff_offload_group_call(struct castoff_offload_group *group)
{
    if (!group->has_end) {
        return co_offload_fail(-EINVAL, "the record of this group is not complete");
    }
    if (group->is_out) {
        return co_offload_fail(-EBUSY, "the last call of this group has not been waited for");
    }
    const struct co_rank_client *client = co_rank_connection_client(group->world->connection);
    uint64_t cached = co_rank_client_counts(client)->cached_calls;
    int error = world_check(group->world);
    if (error == 0) {
        error = ranges_begin(group->world, &group->ranges);
    }
    if (error == 0) {
        error = co_rank_group_call(group->group, &group->ticket);
        if (error != 0) {
            (void)ranges_end(group->world, &group->ranges, false);
        }
    }
    group->is_out = error == 0;
    co_offload_count(CASTOFF_OFFLOAD_CALLS, group->is_out);
    co_offload_count(CASTOFF_OFFLOAD_CACHED, co_rank_client_counts(client)->cached_calls - cached);
    return error_say(error);
}

int castoff_offload_group_test(struct castoff_offload_group *group, int *is_done)
{
    if (!group->is_out) {
        *is_done = 1;
        return 0;
    }
    return ticket_test(group->world, group->ticket, &group->ranges, &group->tests, is_done);
}

int castoff_offload_group_wait(struct castoff_offload_group *group, size_t *received)
{
    if (received != NULL) {
        *received = 0;
    }
    if (group->world->is_forked) {
        return error_say(-ECHILD);
    }
    if (!group->is_out) {
        return 0;
    }
    int error = ticket_wait(group->world, group->ticket, &group->ranges, received);
    group->is_out = false;
    return error;
}

int castoff_offload_group_free(struct castoff_offload_group *group)
{
    if (group == NULL) {
        return 0;
    }
    if (group->is_out) {
        return co_offload_fail(-EBUSY, "the last call of this group has not been waited for");
    }
    if (group->world->is_forked) {
        return error_say(-ECHILD);
    }
    (void)co_rank_connection_look(group->world->connection); // without a proxy nothing has to be told
    int error = co_rank_group_free(group->group);
    if (error == 0) {
        group->world->groups--;
        free(group->ranges.at);
        free(group);
    }
    return error_say(error);
}
