// SPDX-License-Identifier: BSD-3-Clause
//
// Calls: one run of a group, or of one operation. All messages of a call get their numbers when it begins, in the order
// in which they were recorded, so that both ends count alike whatever happens in between. A call then goes as far as it
// can: a BARRIER with something open before it ends the turn, and the call is looked at again when the last of that is
// over. Those of a pattern begin together (proxy_patterns.c). Nothing waits here: one proxy serves several ranks, and
// they may wait for each other. Called by proxy_core.c; hot.
#include <errno.h>
#include <stdlib.h>

#include "offload/proxy/proxy_state.h"

static uint32_t ends_of(const struct co_offload_operation *operation)
{
    return operation->kind == CO_OFFLOAD_OPERATION_FORWARD ? 2 : operation->kind != CO_OFFLOAD_OPERATION_BARRIER;
}

static int operation_call(struct co_proxy *proxy, struct co_proxy_call *call,
                          const struct co_offload_operation *operation)
{
    struct co_proxy_end *first = &call->ends[call->end_count];
    int error = 0;

    for (uint32_t i = 0; i < ends_of(operation) && error == 0; i++) {
        first[i].call = call;
        first[i].is_send = operation->kind == CO_OFFLOAD_OPERATION_SEND || i == 1; // a FORWARD's receive comes first
        first[i].twin = operation->kind == CO_OFFLOAD_OPERATION_FORWARD ? &first[1 - i] : NULL;
        co_proxy_link_init(&first[i].outgoing);
        error = co_proxy_end_call(proxy, &first[i], operation);
        call->end_count += error == 0;
    }
    return error;
}

// What it counts against ends_max. Of a team's calls under way all but one do, by three times its members, whatever
// they are: so the sum follows from how many there are, and a rank, which hears later that one is over, never has a
// smaller one.
static uint32_t ends_counted(const struct co_proxy_team *team, uint32_t ends)
{
    return team == NULL ? ends : team->call_count > 0 ? CO_OFFLOAD_ENDS_A_MEMBER * team->count : 0;
}

int co_proxy_call_begin(struct co_proxy *proxy, int rank, uint32_t ticket, struct co_proxy_group *group,
                        const struct co_offload_operation *basic)
{
    struct co_proxy_rank *caller = &proxy->ranks[rank];
    struct co_proxy_team *team = group != NULL ? group->team : NULL;
    uint32_t ends = group != NULL ? group->ends : 1, counted = ends_counted(team, ends);
    int error = 0;

    if (caller->calls[ticket] != NULL) {
        return -EPROTO;
    }
    if (counted > proxy->config.ends_max - caller->end_count || caller->failed_count >= proxy->config.ends_max) {
        return -ENOSPC;
    }
    struct co_proxy_call *call = calloc(1, sizeof *call + ends * sizeof(struct co_proxy_end));
    if (call == NULL) {
        return -ENOMEM;
    }
    call->rank = rank;
    call->ticket = ticket;
    call->group = group;
    if (group != NULL) {
        group->uses++;
        call->operations = group->operations;
        call->count = group->team == NULL ? group->count : 0;
    } else {
        call->basic = *basic;
        call->operations = &call->basic;
        call->count = 1;
    }
    proxy->counts.operations += team != NULL ? ends : call->count;
    caller->calls[ticket] = call;
    caller->ticket_end = ticket < caller->ticket_end ? caller->ticket_end : ticket + 1;
    caller->call_count++;
    caller->end_count += counted;
    if (team != NULL) {
        team->call_count++;
    }
    call->is_runnable = true;
    co_proxy_link_join_last(&proxy->runnable, &call->runnable);
    for (uint32_t i = 0; i < call->count && error == 0; i++) {
        error = operation_call(proxy, call, &call->operations[i]);
    }
    if (team != NULL) {
        error = co_proxy_pattern_call(proxy, call);
    }
    call->error = error; // the caller's connection ends, and the call with it
    return error;
}

static void operation_begin(struct co_proxy *proxy, struct co_proxy_call *call,
                            const struct co_offload_operation *operation)
{
    struct co_proxy_end *first = &call->ends[call->end_position];
    uint32_t count = ends_of(operation);

    call->end_position += count;
    call->open += count;
    for (uint32_t i = 0; i < count; i++) {
        first[i].state = CO_PROXY_END_OPEN;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (first[i].state == CO_PROXY_END_OPEN) { // a receive that fails takes the send behind it along
            co_proxy_end_open(proxy, &first[i]);
        }
    }
}

// After an error what has not begun does not begin, so that nobody gets bytes that are not what they should be.
static void call_abandon(struct co_proxy *proxy, struct co_proxy_call *call)
{
    for (; call->end_position < call->end_count; call->end_position++) {
        co_proxy_end_abandon(proxy, &call->ends[call->end_position]);
    }
    call->position = call->count;
}

bool co_proxy_call_advance(struct co_proxy *proxy, struct co_proxy_call *call)
{
    // Of a pattern nothing has begun yet, or all.
    if (call->count == 0 && call->error == 0 && call->end_position < call->end_count) {
        co_proxy_pattern_open(proxy, call);
    }
    while (call->position < call->count && call->error == 0) {
        const struct co_offload_operation *operation = &call->operations[call->position];
        if (operation->kind == CO_OFFLOAD_OPERATION_BARRIER && call->open > 0) {
            return false;
        }
        call->position++;
        operation_begin(proxy, call, operation);
    }
    if (call->error != 0) {
        call_abandon(proxy, call);
    }
    return call->open == 0;
}

void co_proxy_call_free(struct co_proxy *proxy, struct co_proxy_call *call)
{
    struct co_proxy_rank *caller = &proxy->ranks[call->rank];
    struct co_proxy_team *team = call->group != NULL ? call->group->team : NULL;

    if (team != NULL) {
        team->call_count--;
    }
    caller->end_count -= ends_counted(team, call->group != NULL ? call->group->ends : 1);
    caller->calls[call->ticket] = NULL;
    caller->call_count--;
    if (call->is_runnable) {
        co_proxy_link_leave(&call->runnable);
    }
    if (call->group != NULL) {
        co_proxy_group_release(proxy, caller, call->group);
    }
    free(call);
}

void co_proxy_call_drop(struct co_proxy *proxy, struct co_proxy_call *call)
{
    for (uint32_t i = 0; i < call->end_count; i++) {
        co_proxy_end_drop(proxy, &call->ends[i]);
    }
    co_proxy_call_free(proxy, call);
}
