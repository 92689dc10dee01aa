// SPDX-License-Identifier: BSD-3-Clause
//
// Requests of a rank: which receive each of them stands for. A number that is made again stands for the new request,
// whatever became of the old one.
#include "tools/trace/events/tracker_parts.h"

#include <stdlib.h>

struct tracked {
    uint32_t number;   // of the receive under way
    uint64_t position; // of its CO_EVENT_POST
    bool is_receive, is_persistent, is_under_way;
    int32_t peer, tag;
    uint32_t comm;
    int64_t bytes;
};

struct co_event co_tracker_event(const struct co_tracker *tracker, const struct co_traced_call *call, unsigned op,
                                 uint64_t when)
{
    return (struct co_event){
        .op = (uint8_t)op,
        .call = call->id,
        .comm = call->comm,
        .peer = call->peer,
        .tag = call->tag,
        .got_source = CO_CALL_NOT_KNOWN,
        .got_tag = CO_CALL_NOT_KNOWN,
        .time_ns = when > tracker->begin_ns ? when - tracker->begin_ns : 0,
    };
}

void co_tracker_add_send(struct co_tracker *tracker, const struct co_traced_call *call, int32_t peer, int32_t tag,
                         uint32_t comm, int64_t bytes)
{
    struct co_event event = co_tracker_event(tracker, call, CO_EVENT_SEND, call->begin_ns);
    event.peer = peer;
    event.tag = tag;
    event.comm = comm;
    event.bytes = bytes > 0 ? (uint64_t)bytes : 0;
    if (peer >= 0) { // not MPI_PROC_NULL, whatever its number is
        co_event_writer_add(tracker->writer, &event);
    }
}

// A receive's own number. From MPI_PROC_NULL: UINT32_MAX, and no event.
static uint32_t add_post(struct co_tracker *tracker, const struct co_traced_call *call, int32_t peer, int32_t tag,
                         uint32_t comm, unsigned flags, uint64_t *position)
{
    struct co_event event = co_tracker_event(tracker, call, CO_EVENT_POST, call->begin_ns);
    event.peer = peer;
    event.tag = tag;
    event.comm = comm;
    event.flags = (uint8_t)flags;
    event.number = tracker->writer->head.receives;
    if (peer < CO_CALL_ANY) {
        return UINT32_MAX;
    }
    tracker->writer->head.from_anybody += peer == CO_CALL_ANY;
    *position = co_event_writer_add(tracker->writer, &event);
    return tracker->writer->head.receives++;
}

// DUMPI writes MPI_PROC_NULL as it is: where that is -1, only the status tells it from MPI_ANY_SOURCE.
bool co_tracker_is_from_nobody(int32_t peer, const struct co_call_status *status)
{
    return peer == CO_CALL_ANY && status != NULL && !status->is_cancelled && status->source < 0 &&
           status->source != CO_CALL_NOT_KNOWN;
}

static void add_done(struct co_tracker *tracker, const struct co_traced_call *call, uint32_t number, uint64_t position,
                     int32_t peer, const struct co_call_status *status)
{
    bool is_cancelled = status != NULL && status->is_cancelled;
    struct co_event event =
        co_tracker_event(tracker, call, is_cancelled ? CO_EVENT_CANCEL : CO_EVENT_DONE, call->end_ns);
    if (number == UINT32_MAX) {
        return;
    }
    event.number = number;
    if (co_tracker_is_from_nobody(peer, status)) {
        co_event_writer_patch(tracker->writer, position, CO_EVENT_NOTHING, CO_CALL_NOT_KNOWN, CO_CALL_NOT_KNOWN);
        return;
    }
    if (status != NULL && !is_cancelled && status->source >= 0) {
        event.got_source = status->source;
        event.got_tag = status->tag >= 0 ? status->tag : CO_CALL_NOT_KNOWN;
        co_event_writer_patch(tracker->writer, position, CO_EVENT_POST, event.got_source, event.got_tag);
    }
    co_event_writer_add(tracker->writer, &event);
}

// MPI_Recv, and the receiving half of MPI_Sendrecv.
void co_tracker_add_receive(struct co_tracker *tracker, const struct co_traced_call *call, int32_t peer, int32_t tag)
{
    uint64_t position = 0;
    uint32_t number = add_post(tracker, call, peer, tag, call->comm, 0, &position);
    add_done(tracker, call, number, position, peer, co_tracker_status(call, 0));
}

static struct tracked *make_request(struct co_tracker *tracker, const struct co_traced_call *call)
{
    struct tracked *tracked = call->request < CO_REQUEST_FIRST ? NULL : calloc(1, sizeof *tracked);
    free(co_hash_map_remove(&tracker->requests, call->request));
    if (tracked == NULL) {
        return NULL;
    }
    *tracked = (struct tracked){.peer = call->peer, .tag = call->tag, .comm = call->comm, .bytes = call->bytes};
    if (co_hash_map_put(&tracker->requests, call->request, tracked) != 0) {
        tracker->is_out_of_memory = true;
        free(tracked);
        return NULL;
    }
    return tracked;
}

void co_tracker_start(struct co_tracker *tracker, const struct co_traced_call *call, uint64_t request)
{
    struct tracked *tracked = co_hash_map_get(&tracker->requests, request);
    if (tracked == NULL) {
        return;
    }
    if (tracked->is_receive) {
        tracked->number = add_post(tracker, call, tracked->peer, tracked->tag, tracked->comm, CO_EVENT_NONBLOCKING,
                                   &tracked->position);
        tracked->is_under_way = true;
    } else if (tracked->is_persistent) {
        co_tracker_add_send(tracker, call, tracked->peer, tracked->tag, tracked->comm, tracked->bytes);
    }
}

void co_tracker_make_receive(struct co_tracker *tracker, const struct co_traced_call *call, bool is_persistent)
{
    struct tracked *tracked = make_request(tracker, call);
    if (tracked != NULL) {
        tracked->is_receive = true;
        tracked->is_persistent = is_persistent;
        if (!is_persistent) {
            co_tracker_start(tracker, call, call->request);
        }
    } else if (!is_persistent) {
        uint64_t position;
        add_post(tracker, call, call->peer, call->tag, call->comm, CO_EVENT_NONBLOCKING, &position);
    }
}

void co_tracker_complete(struct co_tracker *tracker, const struct co_traced_call *call, uint64_t request,
                         const struct co_call_status *status)
{
    struct tracked *tracked = co_hash_map_get(&tracker->requests, request);
    if (tracked == NULL || !tracked->is_receive) {
        return;
    }
    if (tracked->is_under_way) {
        add_done(tracker, call, tracked->number, tracked->position, tracked->peer, status);
        tracked->is_under_way = false;
    }
    if (!tracked->is_persistent) {
        free(co_hash_map_remove(&tracker->requests, request));
    }
}

void co_tracker_free_request(struct co_tracker *tracker, const struct co_traced_call *call)
{
    struct tracked *tracked = co_hash_map_remove(&tracker->requests, call->request);
    if (tracked != NULL && tracked->is_under_way && tracked->number != UINT32_MAX) {
        struct co_event event = co_tracker_event(tracker, call, CO_EVENT_FREE, call->end_ns);
        event.number = tracked->number;
        co_event_writer_add(tracker->writer, &event);
    }
    free(tracked);
}

void co_tracker_make_send(struct co_tracker *tracker, const struct co_traced_call *call)
{
    struct tracked *tracked = make_request(tracker, call);
    if (tracked != NULL) {
        tracked->is_persistent = true;
    }
}

void co_tracker_forget(struct co_tracker *tracker, uint64_t request)
{
    free(co_hash_map_remove(&tracker->requests, request));
}
