// SPDX-License-Identifier: BSD-3-Clause
//
// What a proxy has of a rank that is connected: its connection, its segment, and the windows into its process, which is
// tried first, for the kernel may forbid it. A rank that has found so comes again with a segment behind which it copies
// its messages itself. The proxy's one thread; once for a rank.
#ifndef CASTOFF_OFFLOAD_PROXY_PROXY_CONNECTED_H
#define CASTOFF_OFFLOAD_PROXY_PROXY_CONNECTED_H

#include "offload/attach_window.h"
#include "offload/copy_window.h"
#include "offload/proxy/proxy_listener.h"
#include "offload/segment.h"
#include "offload/stage_window.h"

struct co_proxy_connected {
    bool is_here;
    int socket; // -1: it is somebody else's again
    int bell;   // the owner's: by which the rank rings; -1: by the socket
    struct co_segment_memory *memory;
    struct co_attach_window attach;
    struct co_stage_window stage;
    struct co_copy_window copy;    // its file is -1 where the rank copies nothing
    struct co_rank_window *window; // the one of the three that is used
};

// Takes the connection if it returns 0; the segment's descriptor stays the caller's, and of copies there is another
// one. `rank` stays where it is from now on. -EPERM: its segment is none, or the kernel lets nobody look into the
// rank's process.
int co_proxy_connected_open(struct co_proxy_connected *rank, const struct co_proxy_arrival *arrival, uint32_t lend,
                            uint64_t staging_bytes);
void co_proxy_connected_close(struct co_proxy_connected *rank);

#endif
