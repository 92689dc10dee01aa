// SPDX-License-Identifier: BSD-3-Clause
//
// What each call adds to the events.
#include "tools/trace/events/tracker.h"

#include <stdlib.h>

#include "tools/trace/events/tracker_parts.h"

void co_tracker_open(struct co_tracker *tracker, struct co_event_writer *writer)
{
    *tracker = (struct co_tracker){.writer = writer};
    co_hash_map_open(&tracker->requests);
    co_hash_map_open(&tracker->groups);
    co_hash_map_open(&tracker->grids);
    co_hash_map_open(&tracker->made);
}

void co_tracker_close(struct co_tracker *tracker)
{
    co_hash_map_close_free(&tracker->requests);
    co_hash_map_close_free(&tracker->grids);
    co_hash_map_close(&tracker->made);
    co_tracker_groups_close(&tracker->groups);
}

static void complete_some(struct co_tracker *tracker, const struct co_traced_call *call)
{
    for (uint32_t i = 0; i < call->index_count; i++) {
        int32_t index = call->indices[i];
        if (index >= 0 && (uint32_t)index < call->request_count) {
            co_tracker_complete(tracker, call, call->requests[index], co_tracker_status(call, i));
        }
    }
}

// What is complete after a wait or test that found something.
static void add_completion(struct co_tracker *tracker, const struct co_traced_call *call)
{
    if (call->is_in_vain) {
        return;
    }
    switch (call->op) {
    case CO_CALL_WAIT:
    case CO_CALL_TEST:
        co_tracker_complete(tracker, call, call->request, co_tracker_status(call, 0));
        break;
    case CO_CALL_WAITANY:
    case CO_CALL_TESTANY:
        if (call->index >= 0 && (uint32_t)call->index < call->request_count) {
            co_tracker_complete(tracker, call, call->requests[call->index], co_tracker_status(call, 0));
        }
        break;
    case CO_CALL_WAITALL:
    case CO_CALL_TESTALL:
        for (uint32_t i = 0; i < call->request_count; i++) {
            co_tracker_complete(tracker, call, call->requests[i], co_tracker_status(call, i));
        }
        break;
    default:
        complete_some(tracker, call);
        break;
    }
    struct co_event event = co_tracker_event(tracker, call, CO_EVENT_POINT, call->end_ns);
    co_event_writer_add(tracker->writer, &event);
}

static void add_probe(struct co_tracker *tracker, const struct co_traced_call *call, unsigned op)
{
    const struct co_call_status *status = co_tracker_status(call, 0);
    struct co_event event = co_tracker_event(tracker, call, op, call->end_ns);
    if (call->is_in_vain || call->peer < CO_CALL_ANY || co_tracker_is_from_nobody(call->peer, status)) {
        return;
    }
    if (status != NULL && status->source >= 0) {
        event.got_source = status->source;
        event.got_tag = status->tag >= 0 ? status->tag : CO_CALL_NOT_KNOWN;
    }
    tracker->writer->head.from_anybody += call->peer == CO_CALL_ANY;
    co_event_writer_add(tracker->writer, &event);
}

static void add_collective(struct co_tracker *tracker, const struct co_traced_call *call, unsigned op)
{
    struct co_event event = co_tracker_event(tracker, call, op, call->begin_ns);
    event.number = call->root >= 0 ? (uint32_t)call->root : 0;
    co_event_writer_add(tracker->writer, &event);
}

// What MPI says of a communicator, to compare with what is thought of it.
static void add_told(struct co_tracker *tracker, const struct co_traced_call *call)
{
    bool is_rank = call->op == CO_CALL_COMM_RANK;
    struct co_event event = co_tracker_event(tracker, call, is_rank ? CO_EVENT_RANK : CO_EVENT_SIZE, call->end_ns);
    event.number = (uint32_t)call->result;
    if (call->comm >= CO_COMM_FIRST) {
        co_event_writer_add(tracker->writer, &event);
    }
}

static void add_message(struct co_tracker *tracker, const struct co_traced_call *call)
{
    switch (call->op) {
    case CO_CALL_ISEND:
        co_tracker_forget(tracker, call->request); // an old one of this number
        // fall through
    case CO_CALL_SEND:
        co_tracker_add_send(tracker, call, call->peer, call->tag, call->comm, call->bytes);
        break;
    case CO_CALL_SENDRECV:
        co_tracker_add_send(tracker, call, call->peer, call->tag, call->comm, call->bytes);
        co_tracker_add_receive(tracker, call, call->source, call->receive_tag);
        break;
    case CO_CALL_RECEIVE:
        co_tracker_add_receive(tracker, call, call->peer, call->tag);
        break;
    case CO_CALL_IRECEIVE:
        co_tracker_make_receive(tracker, call, false);
        break;
    case CO_CALL_RECEIVE_INIT:
        co_tracker_make_receive(tracker, call, true);
        break;
    case CO_CALL_SEND_INIT:
        co_tracker_make_send(tracker, call);
        break;
    case CO_CALL_START:
        co_tracker_start(tracker, call, call->request);
        break;
    case CO_CALL_STARTALL:
        for (uint32_t i = 0; i < call->request_count; i++) {
            co_tracker_start(tracker, call, call->requests[i]);
        }
        break;
    case CO_CALL_REQUEST_FREE:
        co_tracker_free_request(tracker, call);
        break;
    case CO_CALL_IMRECEIVE:
    case CO_CALL_START_OTHER:
        co_tracker_forget(tracker, call->request);
        break;
    default:
        break;
    }
}

static void note_call(struct co_tracker *tracker, const struct co_traced_call *call)
{
    struct co_event_head *head = &tracker->writer->head;
    if (!tracker->has_begun) {
        tracker->has_begun = true;
        tracker->begin_ns = head->begin_ns = call->begin_ns;
    }
    head->end_ns = call->end_ns > head->end_ns ? call->end_ns : head->end_ns;
    head->calls[call->id] += call->times;
    tracker->has_ended = tracker->has_ended || call->op == CO_CALL_FINALIZE;
}

void co_tracker_add(struct co_tracker *tracker, const struct co_traced_call *call)
{
    struct co_event_head *head = &tracker->writer->head;
    note_call(tracker, call);
    if (call->has_failed) {
        return;
    }
    if (call->op >= CO_CALL_WAIT && call->op <= CO_CALL_TESTSOME) {
        add_completion(tracker, call);
    } else if (call->op >= CO_CALL_PROBE && call->op <= CO_CALL_IMPROBE) {
        bool stays = call->op == CO_CALL_PROBE || call->op == CO_CALL_IPROBE;
        add_probe(tracker, call, stays ? CO_EVENT_PROBE : CO_EVENT_TAKE);
    } else if (call->op >= CO_CALL_TOGETHER && call->op <= CO_CALL_TO_ROOT) {
        add_collective(tracker, call, CO_EVENT_TOGETHER + (unsigned)(call->op - CO_CALL_TOGETHER));
    } else if (call->op == CO_CALL_COMM_SIZE && call->comm == CO_COMM_WORLD) {
        head->size = call->result;
    } else if (call->op == CO_CALL_COMM_RANK && call->comm == CO_COMM_WORLD) {
        head->rank = call->result;
    } else if (call->op == CO_CALL_COMM_SIZE || call->op == CO_CALL_COMM_RANK) {
        add_told(tracker, call);
    } else if (call->op == CO_CALL_CART_SHIFT || call->op == CO_CALL_CART_GET) {
        co_tracker_add_place(tracker, call);
    } else if (call->op >= CO_CALL_COMM_GROUP && call->op <= CO_CALL_GROUP_UNKNOWN) {
        co_tracker_add_group(tracker, call);
    } else if (call->op >= CO_CALL_COMM_DUP && call->op <= CO_CALL_COMM_UNKNOWN) {
        co_tracker_add_communicator(tracker, call);
    } else {
        add_message(tracker, call);
    }
}
