// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking collectives that proxies carry: what nonblocking.h is for those of the engine. The call tells this node's
// proxy what is to be moved and returns; whether it is over is one load; buffers and status are finished by the
// completing call. Hot; the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_CARRIED_H
#define CASTOFF_PMPI_COLLECTIVE_CARRIED_H

#include "pmpi/collective/nonblocking.h"

#define CO_CARRIED_REQUEST(name)                                                                                       \
    {                                                                                                                  \
        .call = name, .is_done = co_carried_is_done, .settle = co_carried_settle,                                      \
        .fill_status = co_nonblocking_fill_status, .release = co_carried_release, .describe = co_carried_describe      \
    }

// What is released is one start of it: nothing is left of that.
#define CO_CARRIED_PERSISTENT_REQUEST(name)                                                                            \
    {                                                                                                                  \
        .call = name, .is_done = co_carried_is_done, .settle = co_carried_settle,                                      \
        .fill_status = co_nonblocking_fill_status, .release = co_carried_rest, .describe = co_carried_describe         \
    }

extern const struct co_nonblocking_carrier co_carried_by_proxies;

bool co_carried_is_done(const void *operation);
int co_carried_settle(void *operation);
void co_carried_release(void *operation);
void co_carried_rest(void *operation);
void co_carried_describe(const void *operation, char *text, size_t room);

// A call that is taken, as co_nonblocking_take.
int co_carried_take(const struct co_nonblocking *operation, MPI_Comm comm, MPI_Request *handle);

// One that either may carry, as its kind says.
static inline int co_nonblocking_or_carried_take(const struct co_nonblocking *operation, MPI_Comm comm,
                                                 MPI_Request *handle)
{
    return __builtin_expect(operation->kind->carrier == &co_carried_by_proxies, 0)
               ? co_carried_take(operation, comm, handle)
               : co_nonblocking_take(operation, comm, handle);
}

// For `submit`: begins it by `begin`. 0 or -errno.
int co_carried_begin(struct co_nonblocking *operation,
                     int (*begin)(struct co_proxied_call **out, const struct co_nonblocking *operation));

// For `refuse` of an all-to-all, and of an allgather.
int co_carried_refuse_exchange(const void *operation, struct co_proxied_team *team);
int co_carried_refuse_gather(const void *operation, struct co_proxied_team *team);

#endif
