// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes of messages, piece by piece: out of a window into a record, and out of a record into a window. A receive is
// over when its last byte is in the rank's memory, a send when the carrier has its last byte. Called by proxy_core.c;
// hot.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory/memory_copy.h"
#include "offload/proxy/proxy_state.h"

// A FORWARD reads what its receive writes, through the same loan.
static int loan_of_send(struct co_proxy *proxy, struct co_proxy_end *end, struct co_rank_window_loan **out)
{
    struct co_rank_window *window = proxy->ranks[end->call->rank].window;
    int error = 0;

    *out = end->twin != NULL ? &end->twin->loan : &end->loan;
    if (end->twin == NULL && !end->has_loan) {
        error = window->ops->open(window, end->address, end->bytes, true, &end->loan);
        end->has_loan = error == 0;
    }
    return error;
}

// What a rank has no room for is in the proxy's own memory.
static int piece_read(const struct co_proxy_end *end, struct co_rank_window_loan *loan, uint8_t *to, uint32_t bytes)
{
    const struct co_proxy_end *receive = end->twin;
    uint32_t inside = bytes;
    int error = 0;

    if (receive != NULL && end->moved + bytes > receive->bytes) {
        inside = receive->bytes > end->moved ? (uint32_t)(receive->bytes - end->moved) : 0;
        co_memory_copy(to + inside, receive->beyond + (end->moved + inside - receive->bytes), bytes - inside);
    }
    if (inside > 0) {
        error = loan->window->ops->read(loan, end->moved, to, inside);
    }
    return error;
}

size_t co_proxy_piece_out(struct co_proxy *proxy, struct co_proxy_end *end)
{
    uint64_t here = end->twin != NULL ? end->twin->moved : end->bytes; // so much could leave
    uint64_t left = here - end->moved;
    uint32_t bytes = left < proxy->config.piece_bytes ? (uint32_t)left : proxy->config.piece_bytes;
    struct co_rank_window_loan *loan;

    assert(here <= end->bytes && here >= end->moved);
    int error = loan_of_send(proxy, end, &loan);
    if (error == 0 && bytes > 0) {
        error = piece_read(end, loan, proxy->record + CO_OFFLOAD_RECORD_DATA_HEAD_BYTES, bytes);
    }
    if (error != 0) {
        co_proxy_end_finish(proxy, end, error, true);
        return 0;
    }
    co_offload_record_encode_data_head(proxy->record, &end->node.key, end->moved, end->bytes, bytes);
    return CO_OFFLOAD_RECORD_DATA_HEAD_BYTES + bytes;
}

void co_proxy_piece_sent(struct co_proxy *proxy, struct co_proxy_end *end, size_t record_bytes)
{
    end->moved += record_bytes - CO_OFFLOAD_RECORD_DATA_HEAD_BYTES;
    proxy->counts.bytes_sent += record_bytes - CO_OFFLOAD_RECORD_DATA_HEAD_BYTES;
    proxy->ranks[end->call->rank].moved += record_bytes - CO_OFFLOAD_RECORD_DATA_HEAD_BYTES;
    if (end->moved == end->bytes) {
        co_proxy_end_finish(proxy, end, 0, false);
    } else {
        co_proxy_end_queue(proxy, end);
    }
}

// In a team's call others may have room for what this rank has none for. Without memory it is passed on to nobody.
static void beyond_take(struct co_proxy *proxy, struct co_proxy_end *end)
{
    uint64_t bytes = end->whole - end->bytes;

    if (end->node.key.space == CO_OFFLOAD_TEAM && bytes <= CO_PROXY_BEYOND_MAX - proxy->beyond_bytes) {
        end->beyond = malloc(bytes);
        proxy->beyond_bytes += end->beyond != NULL ? bytes : 0;
    }
}

// The first piece says how long the message is. What is too long for a FORWARD is passed on to nobody, but in a team.
static void receive_begin(struct co_proxy *proxy, struct co_proxy_end *end, uint64_t whole)
{
    end->has_begun = true;
    end->whole = whole;
    if (end->twin != NULL && whole > end->bytes) {
        beyond_take(proxy, end);
    }
    for (struct co_proxy_end *send = end->twin; send != NULL; send = send->sibling) {
        if (send->state == CO_PROXY_END_OPEN && whole > end->bytes && end->beyond == NULL) {
            co_proxy_end_finish(proxy, send, -EMSGSIZE, true);
        } else if (send->state == CO_PROXY_END_OPEN) {
            send->bytes = whole;
            send->is_length_known = true;
        }
    }
}

static int receive_write(struct co_proxy_end *end, const struct co_offload_record *record)
{
    uint64_t room = end->moved < end->bytes ? end->bytes - end->moved : 0;
    uint64_t bytes = record->data.payload_bytes < room ? record->data.payload_bytes : room;

    if (end->beyond != NULL && bytes < record->data.payload_bytes) {
        co_memory_copy(end->beyond + (end->moved + bytes - end->bytes), record->data.payload + bytes,
                       record->data.payload_bytes - bytes);
    }
    return bytes == 0 ? 0 : end->loan.window->ops->write(&end->loan, end->moved, record->data.payload, bytes);
}

int co_proxy_piece_in(struct co_proxy *proxy, int peer, const struct co_offload_record *record)
{
    struct co_proxy_end *end;
    int error = co_proxy_ends_find(proxy, peer, &record->data.key, &end);

    if (error != 0) {
        return error;
    }
    if (end == NULL) {
        proxy->counts.strays++;
        return 0;
    }
    if (record->data.offset != end->moved || (end->has_begun && record->data.whole != end->whole)) {
        if (end->node.key.space == CO_OFFLOAD_TEAM) { // as in co_proxy_ends_find: of a rank that begins anew
            co_proxy_end_finish(proxy, end, -EPROTO, true);
            return 0;
        }
        return -EPROTO;
    }
    if (!end->has_begun) {
        receive_begin(proxy, end, record->data.whole);
    }
    error = receive_write(end, record);
    if (error == 0) {
        end->moved += record->data.payload_bytes;
        proxy->counts.bytes_received += record->data.payload_bytes;
        proxy->ranks[end->call->rank].moved += record->data.payload_bytes;
    }
    if (error == 0 && end->moved == end->whole) {
        uint64_t bytes = end->whole < end->bytes ? end->whole : end->bytes;
        error = end->loan.window->ops->flush(&end->loan, bytes);
    }
    if (error != 0) {
        co_proxy_end_finish(proxy, end, error, true);
        return 0;
    }
    for (struct co_proxy_end *send = end->twin; send != NULL; send = send->sibling) {
        co_proxy_end_queue(proxy, send);
    }
    if (end->moved == end->whole) {
        co_proxy_end_finish(proxy, end, end->whole > end->bytes ? -EMSGSIZE : 0, false);
    }
    return 0;
}
