// SPDX-License-Identifier: BSD-3-Clause
//
// Nonblocking collectives that proxies carry: what nonblocking.h is for those of the engine. The call tells this node's
// proxy what is to be moved and returns; whether it is over is one load; buffers and status are finished by the
// completing call. Hot; the thread of the call.
#ifndef CASTOFF_PMPI_COLLECTIVE_OFFLOADED_H
#define CASTOFF_PMPI_COLLECTIVE_OFFLOADED_H

#include "pmpi/collective/nonblocking.h"

#define CO_REQUEST_BY_ENGINE(name, release_by)                                                                         \
    {                                                                                                                  \
        .call = name, .is_done = co_nonblocking_is_done, .settle = co_nonblocking_settle,                              \
        .fill_status = co_nonblocking_fill_status, .release = release_by                                               \
    }

#define CO_REQUEST_BY_PROXIES(name, settle_by, release_by)                                                             \
    {                                                                                                                  \
        .call = name, .is_done = co_offloaded_is_done, .settle = settle_by, .fill_status = co_nonblocking_fill_status, \
        .release = release_by, .describe = co_offloaded_describe, .ends_untold = true                                  \
    }

// Of a kind that either may carry, the call and its persistent form.
#define CO_NONBLOCKING_REQUESTS(name, init_name)                                                                       \
    .once = {CO_REQUEST_BY_ENGINE(name, co_nonblocking_release),                                                       \
             CO_REQUEST_BY_PROXIES(name, co_offloaded_settle, co_nonblocking_let_go)},                                 \
    .persistent = {CO_REQUEST_BY_ENGINE(init_name, co_nonblocking_rest),                                               \
                   CO_REQUEST_BY_PROXIES(init_name, co_offloaded_settle_start, co_nonblocking_rest)}

extern const struct co_nonblocking_backend co_nonblocking_by_proxies;

bool co_offloaded_is_done(const void *operation);
int co_offloaded_settle(void *operation);
int co_offloaded_settle_start(void *operation); // of a persistent one
void co_offloaded_describe(const void *operation, char *text, size_t room);

static inline const struct co_nonblocking_backend *co_nonblocking_backend_of(const struct co_nonblocking *operation)
{
    return operation->is_offloaded ? &co_nonblocking_by_proxies : &co_nonblocking_by_engine;
}

// For `refuse` of an all-to-all, and of an allgather.
int co_offloaded_refuse_exchange(const void *operation);
int co_offloaded_refuse_gather(const void *operation);

#endif
