// SPDX-License-Identifier: BSD-3-Clause
//
// A proxy's ranks and its core together: commands out of their segments into the core, completions back. Still without
// sockets, clock or descriptors: who owns this waits, rings, and moves the carrier. A rank whose commands make no sense
// is hung up, and nobody else notices. One thread; hot.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_SERVICE_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_SERVICE_H

#include "offload/proxy/proxy_core.h"
#include "offload/segment.h"

struct co_proxy_service;

struct co_proxy_service_output {
    void *context;
    void (*ring)(void *context, int rank);               // it sleeps, and a call of its own is over
    void (*hang_up)(void *context, int rank, int error); // its connection is to be closed; it is lost already
};

int co_proxy_service_open(struct co_proxy_service **out, const struct co_proxy_config *config,
                          struct co_carrier *carrier, const struct co_proxy_service_output *output);
void co_proxy_service_close(struct co_proxy_service *service);

// For records and peers: co_proxy_take, co_proxy_peer_lost. Commands and ranks are the service's.
struct co_proxy *co_proxy_service_core(struct co_proxy_service *service);

// -EINVAL, -ENOMEM; -EPROTO: a segment of another version.
int co_proxy_service_join(struct co_proxy_service *service, int rank, struct co_segment_memory *memory,
                          struct co_rank_window *window);
// Its connection has ended. If BYE is the last thing in its ring it has left properly, seen before or not. Segment and
// window are not used any more.
void co_proxy_service_lost(struct co_proxy_service *service, int rank);

// One turn. True: there is more that could be done at once.
bool co_proxy_service_progress(struct co_proxy_service *service);
// True: nothing is to be done before a rank rings or the carrier has something. False: look again.
bool co_proxy_service_sleeps(struct co_proxy_service *service);
void co_proxy_service_wakes(struct co_proxy_service *service);

#endif
