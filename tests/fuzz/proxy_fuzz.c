// SPDX-License-Identifier: BSD-3-Clause
//
// A core between a neighbour and ranks that say anything: windows are reached only inside of their loans and while
// their rank has a call, records that it sends are good ones on the right connection, a call is over once, and all
// loans are given back. Whether the receive that is written has begun is the simulation's to see. Each step of the
// input is a byte that says what, a byte of length, and that many bytes; numbers in it are small, so that they meet.
#include <stdlib.h>
#include <string.h>

#include "offload/offload_record.h"
#include "offload/proxy/proxy_core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { RANKS = 4, MEMORY = 256, BASE = 4096, STEPS = 200 };

// Ranks 0 and 1 are of proxy 0, which is tried; 2 and 3 of proxy 1, which is the input.
static const int proxy_of_rank[RANKS] = {0, 0, 1, 1};
static uint8_t memory[2][MEMORY];
static int loans, calls[2];
static bool is_out[2][CO_TICKETS];

static int loan_open(struct co_rank_window *window, uint64_t address, uint64_t bytes, bool is_for_read,
                     struct co_rank_window_loan *loan)
{
    loans++;
    *loan = (struct co_rank_window_loan){window, address, bytes, is_for_read, NULL};
    return 0;
}

static struct co_rank_window windows[2];

static uint8_t *find(struct co_rank_window_loan *loan, uint64_t offset, uint64_t bytes)
{
    int rank = loan->window == &windows[1];
    if (offset > loan->bytes || bytes > loan->bytes - offset || calls[rank] == 0) {
        abort();
    }
    uint64_t at = loan->address + offset - BASE;
    return loan->address + offset >= BASE && at <= MEMORY && bytes <= MEMORY - at ? memory[rank] + at : NULL;
}

static int loan_read(struct co_rank_window_loan *loan, uint64_t offset, void *into, uint64_t bytes)
{
    uint8_t *at = find(loan, offset, bytes);
    if (at != NULL) {
        memcpy(into, at, bytes);
    }
    return at != NULL ? 0 : -14;
}

static int loan_write(struct co_rank_window_loan *loan, uint64_t offset, const void *from, uint64_t bytes)
{
    uint8_t *at = find(loan, offset, bytes);
    if (at != NULL) {
        memcpy(at, from, bytes);
    }
    return at != NULL ? 0 : -14;
}

static int loan_flush(struct co_rank_window_loan *loan, uint64_t bytes)
{
    if (bytes > loan->bytes) {
        abort();
    }
    return 0;
}

static void loan_close(struct co_rank_window_loan *loan)
{
    (void)loan;
    loans--;
}

static const struct co_rank_window_ops window_ops = {"fuzz", loan_open, loan_read, loan_write, loan_flush, loan_close};

static void control(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct co_offload_record decoded;
    (void)carrier;
    if (peer != 1 || co_offload_record_decode(&decoded, record, bytes) != 0 ||
        co_offload_record_is_data(decoded.kind)) {
        abort();
    }
}

static bool has_room(struct co_carrier *carrier, int peer)
{
    (void)carrier;
    (void)peer;
    return true;
}

static void bulk(struct co_carrier *carrier, int peer, const void *record, size_t bytes)
{
    struct co_offload_record decoded;
    (void)carrier;
    if (peer != 1 || co_offload_record_decode(&decoded, record, bytes) != 0 ||
        (!co_offload_record_is_data(decoded.kind) && decoded.kind != CO_OFFLOAD_RECORD_GONE)) {
        abort();
    }
}

static const struct co_carrier_ops carrier_ops = {"fuzz", control, has_room, bulk};

static void complete(void *context, int rank, uint32_t ticket, const struct co_offload_completion *completion)
{
    (void)context;
    if (rank > 1 || ticket >= CO_TICKETS || !is_out[rank][ticket] || completion->error > 0) {
        abort();
    }
    is_out[rank][ticket] = false;
    calls[rank]--;
}

static void lose(struct co_proxy *proxy, int rank)
{
    co_proxy_rank_lost(proxy, rank);
    calls[rank] = 0;
    memset(is_out[rank], 0, sizeof is_out[rank]);
}

// A command, with the rest of the step as a definition.
static void command(struct co_proxy *proxy, int rank, const uint8_t *step, size_t bytes)
{
    uint8_t encoded[CO_OFFLOAD_COMMAND_BYTES] = {0};
    struct co_offload_command decoded;
    size_t head = bytes < CO_OFFLOAD_COMMAND_BYTES ? bytes : CO_OFFLOAD_COMMAND_BYTES;

    memcpy(encoded, step, head);
    if (co_offload_command_decode(&decoded, encoded, RANKS) != 0) {
        return;
    }
    bool is_call = decoded.kind == CO_OFFLOAD_COMMAND_CALL || decoded.kind == CO_OFFLOAD_COMMAND_SEND ||
                   decoded.kind == CO_OFFLOAD_COMMAND_RECEIVE || decoded.kind == CO_OFFLOAD_COMMAND_REFUSE;
    int error = co_proxy_command(proxy, rank, &decoded, step + head, bytes - head);
    if (error == 0 && is_call) {
        calls[rank]++;
        is_out[rank][decoded.ticket] = true;
    } else if (error != 0) {
        lose(proxy, rank);
    }
}

static void one_step(struct co_proxy *proxy, uint8_t what, const uint8_t *step, size_t bytes)
{
    switch (what % 8) {
    case 0:
    case 1:
        command(proxy, what % 8, step, bytes);
        break;
    case 2:
    case 3:
        if (co_proxy_take(proxy, 1, what % 8 == 2 ? CO_CARRIER_CONTROL : CO_CARRIER_BULK, step, bytes) != 0) {
            co_proxy_peer_lost(proxy, 1);
        }
        break;
    case 4:
        lose(proxy, step[0] & 1);
        break;
    default:
        co_proxy_progress(proxy);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct co_carrier carrier = {&carrier_ops};
    struct co_proxy_config config = {.proxies = 2,
                                     .ranks = RANKS,
                                     .proxy_of_rank = proxy_of_rank,
                                     .piece_bytes = 16,
                                     .groups_max = 4,
                                     .ends_max = 32,
                                     .sources = 1};
    struct co_proxy_output output = {NULL, complete};
    struct co_proxy *proxy;

    if (co_proxy_open(&proxy, &config, &carrier, &output) != 0) {
        abort();
    }
    for (int rank = 0; rank < 2; rank++) {
        windows[rank].ops = &window_ops;
        calls[rank] = 0;
        memset(is_out[rank], 0, sizeof is_out[rank]);
        co_proxy_rank_join(proxy, rank, &windows[rank]);
    }
    for (int steps = 0; steps < STEPS && bytes > 2; steps++) {
        size_t length = data[1] < bytes - 2 ? data[1] : bytes - 2;
        uint8_t *copy = calloc(1, length + 1);
        memcpy(copy, data + 2, length);
        one_step(proxy, data[0], copy, length);
        free(copy);
        data += 2 + length;
        bytes -= 2 + length;
    }
    co_proxy_progress(proxy);
    co_proxy_close(proxy);
    if (loans != 0) {
        abort();
    }
    return 0;
}
