// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams for the log: the table of a transport's functions is replaced by a copy in which sending and receiving
// write a line, too. What became of one that arrived is read from what moved meanwhile: a counter of what was dropped
// or kept, or the bytes that were placed. Any thread that sends, and whoever polls. Cold: only with CASTOFF_LOG=trace.
#include "mcast/wire/datagram_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/counters.h"
#include "base/log.h"
#include "mcast/state/endpoint.h"
#include "mcast/wire/wire_describe.h"

struct trace {
    struct co_transport_ops ops; // first: what the transport's table is meanwhile
    const struct co_transport_ops *plain;
    size_t tag_bytes;
};

// Who is to get what poll delivers.
struct traced_poll {
    const struct trace *trace;
    co_deliver_fn deliver;
    void *arg;
};

static const struct {
    enum co_counter_id counter;
    const char *verdict;
} verdicts[] = {
    {CO_COUNT_DATA_DUPLICATE, "duplicate"},          {CO_COUNT_DATA_STALE, "stale"},
    {CO_COUNT_DATA_EARLY, "early, in staging"},      {CO_COUNT_STAGING_FULL, "dropped: staging is full"},
    {CO_COUNT_DROP_FORGED, "dropped: forged"},       {CO_COUNT_DROP_MALFORMED, "dropped: malformed"},
    {CO_COUNT_DROP_FOREIGN, "dropped: foreign"},     {CO_COUNT_DROP_REPLAYED, "dropped: replayed"},
    {CO_COUNT_DROP_STRAY, "dropped: stray"},         {CO_COUNT_DROP_OWN, "dropped: own"},
    {CO_COUNT_DROP_NO_MEMORY, "dropped: no memory"},
};
enum { VERDICTS = sizeof verdicts / sizeof verdicts[0] };

static const struct trace *trace_of(const struct co_transport *transport)
{
    return (const struct trace *)transport->ops;
}

static void describe(const struct trace *trace, char text[CO_WIRE_TEXT_BYTES], const uint8_t *data, size_t bytes)
{
    co_wire_describe(text, data, bytes > trace->tag_bytes ? bytes - trace->tag_bytes : 0);
}

// Its pieces are put together: the line wants head and body.
static void trace_sent(const struct trace *trace, struct co_destination to, const struct co_tx_datagram *datagram)
{
    char text[CO_WIRE_TEXT_BYTES];
    size_t head = datagram->head_bytes, payload = datagram->payload_bytes, tail = datagram->tail_bytes;
    uint8_t *whole = malloc(head + payload + tail + 1);
    if (whole == NULL) {
        return;
    }
    memcpy(whole, datagram->head, head);
    if (payload > 0) {
        memcpy(whole + head, datagram->payload, payload);
    }
    describe(trace, text, whole, head + payload + tail);
    co_log(CO_LOG_TRACE, CO_SUBSYS_MCAST, "to %s %u: %s", to.kind == CO_TO_GROUP ? "group" : "rank", to.index, text);
    free(whole);
}

static int trace_send(struct co_transport *transport, struct co_destination to, const struct co_tx_datagram *batch,
                      unsigned count)
{
    const struct trace *trace = trace_of(transport);
    int sent = trace->plain->send(transport, to, batch, count);
    for (int i = 0; i < sent; i++) {
        trace_sent(trace, to, &batch[i]);
    }
    if (sent < (int)count) {
        co_log(CO_LOG_TRACE, CO_SUBSYS_MCAST, "%d of %u datagrams left: %s", sent < 0 ? 0 : sent, count,
               sent < 0 ? strerror(-sent) : "the queue is full");
    }
    return sent;
}

static const char *trace_verdict(const struct co_mcast *mcast, const uint64_t before[VERDICTS], uint64_t advances,
                                 bool is_control)
{
    for (int i = 0; i < VERDICTS; i++) {
        if (co_counter_read(verdicts[i].counter) != before[i]) {
            return verdicts[i].verdict;
        }
    }
    return !is_control && mcast->advances != advances ? "placed" : "taken";
}

static void trace_deliver(void *arg, const struct co_arrival *arrivals, unsigned count)
{
    const struct traced_poll *poll = arg;
    const struct co_mcast *mcast = poll->arg;
    for (unsigned i = 0; i < count; i++) {
        char text[CO_WIRE_TEXT_BYTES];
        uint64_t before[VERDICTS], advances = mcast->advances;
        for (int j = 0; j < VERDICTS; j++) {
            before[j] = co_counter_read(verdicts[j].counter);
        }
        describe(poll->trace, text, arrivals[i].data, arrivals[i].bytes);
        bool is_control = co_wire_kind(arrivals[i].data, arrivals[i].bytes) == CO_WIRE_CONTROL;
        poll->deliver(poll->arg, &arrivals[i], 1);
        co_log(CO_LOG_TRACE, CO_SUBSYS_MCAST, "came: %s: %s", text, trace_verdict(mcast, before, advances, is_control));
    }
}

static int trace_poll(struct co_transport *transport, unsigned budget, co_deliver_fn deliver, void *arg)
{
    const struct trace *trace = trace_of(transport);
    struct traced_poll poll = {trace, deliver, arg};
    return trace->plain->poll(transport, budget, trace_deliver, &poll);
}

static void trace_close(struct co_transport *transport)
{
    struct trace *trace = (struct trace *)transport->ops;
    transport->ops = trace->plain;
    free(trace);
    transport->ops->close(transport);
}

void co_datagram_trace(struct co_transport *transport, size_t tag_bytes)
{
    if (transport->ops->poll == trace_poll) {
        return;
    }
    struct trace *trace = malloc(sizeof *trace);
    if (trace == NULL) {
        co_log(CO_LOG_WARN, CO_SUBSYS_MCAST, "no memory to trace datagrams");
        return;
    }
    *trace = (struct trace){.ops = *transport->ops, .plain = transport->ops, .tag_bytes = tag_bytes};
    trace->ops.send = trace_send;
    trace->ops.poll = trace_poll;
    trace->ops.land = NULL;
    trace->ops.lane_open = NULL;
    trace->ops.close = trace_close;
    transport->ops = &trace->ops;
}
