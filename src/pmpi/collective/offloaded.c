// SPDX-License-Identifier: BSD-3-Clause
//
// What of a nonblocking collective is the proxies'. All members have decided alike that they carry it, so a
// member on which something fails has its proxy tell the others.
#include "pmpi/collective/offloaded.h"

#include "base/log.h"
#include "pmpi/communicator/communicator_follow.h"
#include "pmpi/communicator/communicator_proxies.h"
#include "pmpi/life/proxies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int open_team(struct co_proxied_team **team, uint64_t id, const int *members, int size, int rank)
{
    return members == NULL ? -ENOMEM : co_proxied_team_open(team, co_proxies_world(), id, members, size, rank);
}

// What has just begun may have no room at the proxy yet: then whatever moves the engine sees to it.
static void look_for_room(void)
{
    if (__builtin_expect(co_proxied_is_crowded(co_proxies_world()), 0)) {
        co_store_relaxed(co_proxies.is_crowded, true); // relaxed: who moves takes the world's lock
    }
}

static int make_team(const struct co_communicator *entry, struct co_proxied_team **team)
{
    int size = entry->seed.facts.ranks, rank = entry->seed.rank;
    int *members = co_communicator_members(entry->comm, size);
    int error = open_team(team, entry->seed.id, members, size, rank);
    free(members);
    if (error == 0) {
        error = co_communicator_keep_proxies(entry, *team);
        if (error != 0) {
            co_proxied_team_close(*team);
        }
    }
    return error;
}

static int need_team(struct co_nonblocking *operation)
{
    operation->proxied_team = co_communicator_find_proxies(operation->communicator);
    if (__builtin_expect(operation->proxied_team != NULL, 1)) {
        return 0;
    }
    int error = make_team(operation->communicator, &operation->proxied_team);
    if (error != 0) {
        co_proxied_break(co_proxies_world()); // or the others would wait for this one
    }
    return error;
}

static int open_own(void *arg, uint64_t id, const int *members, int size, int rank)
{
    struct co_proxied_team **team = arg;
    int error = open_team(team, id, members, size, rank);
    *team = error == 0 ? *team : NULL;
    return error;
}

static enum co_reason open_own_team(struct co_nonblocking *operation, enum co_reason reason)
{
    struct co_proxied_team *own = NULL;
    int *members;
    reason = co_communicator_agree_on_team(operation->communicator, reason, &members, open_own, &own);
    free(members);
    if (reason == CO_TAKE) {
        operation->proxied_team = own;
    } else if (own != NULL) {
        co_proxied_team_close(own);
    }
    return reason;
}

int co_offloaded_refuse_exchange(const void *operation)
{
    return co_proxied_refuse(((const struct co_nonblocking *)operation)->proxied_team);
}

int co_offloaded_refuse_gather(const void *operation)
{
    return co_proxied_refuse_allgather(((const struct co_nonblocking *)operation)->proxied_team);
}

static void close_team(const struct co_nonblocking *operation)
{
    co_proxied_team_close(operation->proxied_team);
}

static void give_up(const struct co_nonblocking *operation, int error)
{
    (void)error;
    if (operation->kind->refuse(operation) != 0) {
        co_proxied_break(co_proxies_world()); // or the others would wait for this one
    }
    look_for_room();
}

static void forget(const struct co_nonblocking *operation)
{
    (void)operation; // it has ended with its result
}

static int begin(void *operation)
{
    struct co_nonblocking *nonblocking = operation;
    int error = nonblocking->kind->submit(&nonblocking->proxied, operation);
    if (error == 0) {
        co_add_relaxed(&co_proxies.under_way, 1); // relaxed: who waits is told of the call otherwise
        look_for_room();
    }
    return error;
}

const struct co_nonblocking_backend co_nonblocking_by_proxies = {.need_team = need_team,
                                                                 .begin = begin,
                                                                 .open_own_team = open_own_team,
                                                                 .close_team = close_team,
                                                                 .give_up = give_up,
                                                                 .forget = forget};

bool co_offloaded_is_done(const void *operation)
{
    return co_proxied_is_done(((const struct co_nonblocking *)operation)->proxied);
}

// What native says by its own errors, too, is told by the code alone.
static void tell(const struct co_proxied_result *result, const char *call)
{
    char why[CO_PROXIED_WHY_BYTES];
    if (result->error != 0 && result->error != -EMSGSIZE && result->error != -EFAULT) {
        co_proxied_describe(co_proxies_world(), result, why);
        co_log(CO_LOG_ERROR, CO_SUBSYS_PMPI, "%s: %s", call, why);
    }
}

int co_offloaded_settle(void *operation)
{
    struct co_nonblocking *nonblocking = operation;
    struct co_proxied_result result;
    co_proxied_end(nonblocking->proxied, &result);
    nonblocking->proxied = NULL;
    co_sub_relaxed(&co_proxies.under_way, 1); // relaxed: likewise
    tell(&result, co_call_text(nonblocking->ticket.call));
    return co_nonblocking_end(nonblocking, result.error, result.bytes);
}

// A request that has failed is gone when it is completed: it is not started again, whether or not it ever is completed.
// Who has not noticed what this start ended with may start it again, and must not wait for this member.
int co_offloaded_settle_start(void *operation)
{
    int error = co_offloaded_settle(operation);
    if (error != 0) {
        give_up(operation, error);
    }
    return error;
}

void co_offloaded_describe(const void *operation, char *text, size_t room)
{
    const struct co_nonblocking *nonblocking = operation;
    snprintf(text, room, "%s of %zu bytes by proxies: some member has not called it yet, or is not reached",
             co_call_text(nonblocking->ticket.call), nonblocking->bytes);
}
