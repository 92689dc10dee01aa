// SPDX-License-Identifier: BSD-3-Clause
//
// What the files of the tracker share. Private to them.
#ifndef CASTOFF_TOOLS_TRACE_EVENTS_TRACKER_PARTS_H
#define CASTOFF_TOOLS_TRACE_EVENTS_TRACKER_PARTS_H

#include "tools/trace/events/tracker.h"

// tracker_requests.c
struct co_event co_tracker_event(const struct co_tracker *tracker, const struct co_traced_call *call, unsigned op,
                                 uint64_t when);
void co_tracker_add_send(struct co_tracker *tracker, const struct co_traced_call *call, int32_t peer, int32_t tag,
                         uint32_t comm, int64_t bytes);
// MPI_Recv, and the receiving half of MPI_Sendrecv.
void co_tracker_add_receive(struct co_tracker *tracker, const struct co_traced_call *call, int32_t peer, int32_t tag);
void co_tracker_make_receive(struct co_tracker *tracker, const struct co_traced_call *call, bool is_persistent);
void co_tracker_make_send(struct co_tracker *tracker, const struct co_traced_call *call); // persistent
void co_tracker_start(struct co_tracker *tracker, const struct co_traced_call *call, uint64_t request);
void co_tracker_complete(struct co_tracker *tracker, const struct co_traced_call *call, uint64_t request,
                         const struct co_call_status *status);
void co_tracker_free_request(struct co_tracker *tracker, const struct co_traced_call *call);
void co_tracker_forget(struct co_tracker *tracker, uint64_t request);
// DUMPI writes MPI_PROC_NULL as it is: where that is -1, only the status tells it from MPI_ANY_SOURCE.
bool co_tracker_is_from_nobody(int32_t peer, const struct co_call_status *status);

static inline const struct co_call_status *co_tracker_status(const struct co_traced_call *call, uint32_t i)
{
    return i < call->status_count ? &call->statuses[i] : NULL;
}

// Of one communicator's ranks a set, which need not know how many there are; otherwise how it was made.
struct co_tracked_group {
    uint32_t comm;             // whose ranks they are; 0: it has none
    bool is_remote;            // those of the other group
    struct co_rank_set *ranks; // NULL: `made` tells
    int32_t *made;             // enum co_event_group
    uint32_t made_count;
};

// tracker_groups.c
void co_tracker_add_group(struct co_tracker *tracker, const struct co_traced_call *call);
// NULL: it is not known.
const struct co_tracked_group *co_tracker_group(struct co_tracker *tracker, uint32_t number);
// How it was made, from the beginning; the caller frees. NULL: no memory.
int32_t *co_tracked_group_made(const struct co_tracked_group *group, uint32_t *count);
// The number stands for another communicator now: groups of the old one are not known any more.
void co_tracker_forget_groups(struct co_tracker *tracker, uint32_t comm);
void co_tracker_groups_close(struct co_hash_map *groups);

// tracker_comms.c
// MPI_Cart_shift and MPI_Cart_get tell the rank where it stands itself.
void co_tracker_add_place(struct co_tracker *tracker, const struct co_traced_call *call);
void co_tracker_add_communicator(struct co_tracker *tracker, const struct co_traced_call *call);

#endif
