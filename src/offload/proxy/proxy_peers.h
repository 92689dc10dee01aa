// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy's connections with those of the other nodes: the TCP carrier, and what comes by it, to the core. A job of one
// node has none, and all of this does nothing then. The proxy's one thread; hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_PEERS_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_PEERS_H

#include "offload/carrier/tcp_carrier.h"
#include "offload/offload_job.h"
#include "offload/proxy/proxy_service.h"

struct co_proxy_peers {
    struct co_carrier_tcp *tcp;       // NULL: a job of one node
    struct co_proxy_service *service; // the owner's: whose carrier this is
    uint32_t lost;                    // other than by leaving
    int error;                        // of the first that has another one than -ECONNRESET, else of the first,
    char why[CO_CARRIER_WHY_MAX];     // in words
};

// Opens, by a listener of co_carrier_tcp_listen, which is taken, and waits until all connections stand. `peers`: of all
// proxies of the job. On an error `why` is a sentence that names a host, and nothing is open.
int co_proxy_peers_open(struct co_proxy_peers *peers, const struct co_offload_job *job,
                        const struct co_offload_peer *list, int listener, uint64_t most_ns);
// What is still to be said is said, and heard, within ten seconds.
void co_proxy_peers_close(struct co_proxy_peers *peers);

struct co_carrier *co_proxy_peers_carrier(struct co_proxy_peers *peers);
// Readable when a turn has something to do; -1: never.
int co_proxy_peers_descriptor(const struct co_proxy_peers *peers);
uint64_t co_proxy_peers_due_ns(const struct co_proxy_peers *peers);
// True: the core may have something to do.
bool co_proxy_peers_turn(struct co_proxy_peers *peers, uint64_t now_ns);

#endif
