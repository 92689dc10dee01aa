// SPDX-License-Identifier: BSD-3-Clause
//
// Packets for the log: the table of a channel's functions is replaced by a copy in which sending, receiving and
// transfers beside the packets write a line, too. What became of a message that arrived is read from its matcher. Lock
// held, as for the channel. Cold: only with CASTOFF_LOG=trace.
#include "p2p/packet_trace.h"

#include <stdlib.h>

#include "base/log.h"
#include "p2p/channel/packet_describe.h"
#include "p2p/context.h"

struct trace {
    struct co_channel_ops ops; // first: what the channel's table is meanwhile
    const struct co_channel_ops *plain;
};

// Who is to get what poll hands over; `arg` is point-to-point's (co_p2p_on_packet).
struct traced_poll {
    co_channel_handler *handler;
    void *arg;
};

static const struct co_channel_ops *trace_plain(const struct co_channel *channel)
{
    return ((const struct trace *)channel->ops)->plain;
}

static bool trace_send(struct co_channel *channel, int peer, const struct co_packet *packet, const void *first,
                       size_t first_bytes, const void *second, size_t second_bytes)
{
    char text[CO_PACKET_TEXT_BYTES];
    bool has_room = trace_plain(channel)->send(channel, peer, packet, first, first_bytes, second, second_bytes);
    if (has_room) { // what finds none comes again with each turn
        bool is_first = first_bytes > 0;
        co_packet_describe(text, packet, is_first ? first : second, is_first ? first_bytes : second_bytes);
        co_log(CO_LOG_TRACE, CO_SUBSYS_P2P, "to place %d: %s", peer, text);
    }
    return has_room;
}

// Messages of a communicator that wait for a receive.
static uint64_t context_waiting(const struct co_p2p *p2p, const struct co_packet *packet)
{
    struct co_matcher_state state = {0};
    const struct co_p2p_context *context = co_hash_map_get(&p2p->contexts, packet->context);
    if (context != NULL) {
        co_matcher_state(context->matcher, &state);
    }
    return state.messages;
}

static bool packet_is_left_out(const struct co_p2p *p2p, int peer, const struct co_packet *packet)
{
    const struct co_p2p_context *context = co_hash_map_get(&p2p->contexts, packet->context);
    return context == NULL || (context->peers != NULL && !co_p2p_context_has(context, peer, packet->source));
}

static const char *packet_verdict(const struct co_p2p *p2p, int peer, const struct co_packet *packet, uint64_t before)
{
    bool is_message =
        packet->kind == CO_PACKET_EAGER || packet->kind == CO_PACKET_EAGER_SYNC || packet->kind == CO_PACKET_RTS;
    if (!is_message) {
        return "taken";
    }
    return packet_is_left_out(p2p, peer, packet)   ? "left out"
           : p2p->batch != NULL                    ? "to be matched by the lanes"
           : context_waiting(p2p, packet) > before ? "unexpected"
                                                   : "matched";
}

static bool trace_packet(void *arg, int place, const struct co_packet *packet, const unsigned char *payload)
{
    const struct traced_poll *poll = arg;
    const struct co_p2p_route *route = poll->arg;
    const struct co_p2p *p2p = route->p2p;
    const struct co_packet head = *packet;
    char text[CO_PACKET_TEXT_BYTES];
    uint64_t before = context_waiting(p2p, &head);
    co_packet_describe(text, &head, payload, head.kind == CO_PACKET_BROKEN ? 0 : head.bytes);
    bool is_taken = poll->handler(poll->arg, place, packet, payload);
    co_log(CO_LOG_TRACE, CO_SUBSYS_P2P, "from place %d: %s: %s", place, text,
           is_taken ? packet_verdict(p2p, route->peers == NULL ? place : route->peers[place], &head, before)
                    : "left where it is");
    return is_taken;
}

static int trace_poll(struct co_channel *channel, int most, co_channel_handler *handler, void *arg)
{
    struct traced_poll poll = {handler, arg};
    return trace_plain(channel)->poll(channel, most, trace_packet, &poll);
}

static uint32_t trace_expect(struct co_channel *channel, int peer, void *buffer, size_t bytes, void *owner)
{
    uint32_t number = trace_plain(channel)->expect(channel, peer, buffer, bytes, owner);
    if (number != 0) {
        co_log(CO_LOG_TRACE, CO_SUBSYS_P2P, "from place %d: %zu bytes are expected, number %u", peer, bytes, number);
    }
    return number;
}

static bool trace_transfer(struct co_channel *channel, int peer, const void *data, size_t bytes, uint32_t number,
                           void *owner)
{
    bool has_room = trace_plain(channel)->transfer(channel, peer, data, bytes, number, owner);
    if (has_room) {
        co_log(CO_LOG_TRACE, CO_SUBSYS_P2P, "to place %d: %zu bytes beside the packets, number %u", peer, bytes,
               number);
    }
    return has_room;
}

static bool trace_next_end(struct co_channel *channel, struct co_channel_end *end)
{
    bool is_there = trace_plain(channel)->next_end(channel, end);
    if (is_there) {
        co_log(CO_LOG_TRACE, CO_SUBSYS_P2P, "place %d: %s, result %d", end->peer,
               end->owner == NULL  ? "it is lost"
               : end->was_expected ? "what was expected is over"
                                   : "what was transferred is over",
               end->result);
    }
    return is_there;
}

static void trace_close(struct co_channel *channel)
{
    struct trace *trace = (struct trace *)channel->ops;
    channel->ops = trace->plain;
    free(trace);
    channel->ops->close(channel);
}

void co_packet_trace(struct co_channel *channel)
{
    if (channel == NULL || channel->ops->poll == trace_poll) {
        return;
    }
    struct trace *trace = malloc(sizeof *trace);
    if (trace == NULL) {
        co_log(CO_LOG_WARN, CO_SUBSYS_P2P, "no memory to trace packets");
        return;
    }
    *trace = (struct trace){.ops = *channel->ops, .plain = channel->ops};
    trace->ops.send = trace_send;
    trace->ops.poll = trace_poll;
    trace->ops.expect = channel->ops->expect == NULL ? NULL : trace_expect;
    trace->ops.transfer = channel->ops->transfer == NULL ? NULL : trace_transfer;
    trace->ops.next_end = channel->ops->next_end == NULL ? NULL : trace_next_end;
    trace->ops.close = trace_close;
    channel->ops = &trace->ops;
}
