// SPDX-License-Identifier: BSD-3-Clause
//
// The manners of verbs on the loopback transport: reading of a neighbour's memory. It is read at the last moment, so
// whoever changes it while it is lent, or takes it back while somebody reads, shows here. One thread, tests only.
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/loopback/loopback_state.h"

struct co_loan {
    struct co_loan *next;
    uintptr_t start;
    size_t bytes;
    uint32_t key;
};

static struct co_loopback_reads *of(struct co_reads *reads)
{
    return (struct co_loopback_reads *)reads;
}

static bool is_connected(const struct co_reads *reads, int peer)
{
    const struct co_loopback_reads *mine = (const struct co_loopback_reads *)reads;
    return !mine->endpoint->is_broken && (mine->failed >> peer & 1) == 0;
}

static int lend(struct co_reads *reads, struct co_loan **out, const void *start, size_t bytes, bool may_change,
                uint32_t *key)
{
    static uint32_t last_key;
    struct co_loopback_reads *mine = of(reads);
    unsigned most = mine->endpoint->hub->config.loans_max;
    if (most > 0 && mine->loan_count == most) {
        return -EAGAIN;
    }
    struct co_loan *loan = malloc(sizeof *loan);
    if (!loan) {
        return -ENOMEM;
    }
    if (may_change) {
        *(volatile uint8_t *)(uintptr_t)start = *(const uint8_t *)start; // what cannot be written to faults here
    }
    *loan = (struct co_loan){.next = mine->loans, .start = (uintptr_t)start, .bytes = bytes, .key = ++last_key};
    mine->loans = loan;
    mine->loan_count++;
    *key = loan->key;
    *out = loan;
    return 0;
}

static void take_back(struct co_reads *reads, struct co_loan *loan)
{
    struct co_loopback_reads *mine = of(reads);
    struct co_loan **link = &mine->loans;
    while (*link != loan) {
        link = &(*link)->next; // not ours: a fault, which is what the caller has earned
    }
    *link = loan->next;
    mine->loan_count--;
    free(loan);
}

static struct co_loopback_read *find(struct co_loopback_reads *mine, uint64_t number)
{
    for (unsigned i = 0; i < CO_LOOPBACK_READS; i++) {
        if (mine->under_way[i].number == number) {
            return &mine->under_way[i];
        }
    }
    return NULL;
}

static int start(struct co_reads *reads, const struct co_read *read, uint64_t *number)
{
    struct co_loopback_reads *mine = of(reads);
    const struct co_loopback_hub *hub = mine->endpoint->hub;
    struct co_loopback_read *place = find(mine, 0);
    size_t bytes = (size_t)read->head_bytes + read->bytes + read->tail_bytes;
    if (!is_connected(reads, read->peer)) {
        return -ENOTCONN;
    }
    if (bytes > mine->endpoint->transport.max_datagram_bytes) {
        return -EMSGSIZE;
    }
    struct co_loopback_parcel *parcel = place ? malloc(sizeof *parcel + bytes) : NULL;
    if (!parcel) {
        return -EAGAIN;
    }
    *parcel = (struct co_loopback_parcel){.references = 1, .bytes = bytes, .payload_at = read->head_bytes};
    memcpy(parcel->data, read->head, read->head_bytes);
    memcpy(parcel->data + read->head_bytes + read->bytes, read->tail, read->tail_bytes);
    *place = (struct co_loopback_read){.number = ++mine->started,
                                       .due_ns = hub->now_ns + 2 * hub->config.latency_ns + read->bytes,
                                       .address = read->address,
                                       .key = read->key,
                                       .bytes = read->bytes,
                                       .peer = read->peer,
                                       .parcel = parcel};
    *number = place->number;
    return 0;
}

static bool is_under_way(const struct co_reads *reads, uint64_t number)
{
    struct co_loopback_reads *mine = of((struct co_reads *)reads);
    if (mine->endpoint->is_broken) {
        return false;
    }
    for (size_t i = 0; i < mine->endpoint->queue_count; i++) {
        if (co_loopback_queue_at(mine->endpoint, i)->read_number == number) {
            return true;
        }
    }
    return find(mine, number) != NULL;
}

static const struct co_loan *find_loan(const struct co_loopback_reads *peer, const struct co_loopback_read *read)
{
    const struct co_loan *loan = peer->loans;
    while (loan && loan->key != read->key) {
        loan = loan->next;
    }
    size_t at = loan ? read->address - loan->start : 0;
    return loan && at <= loan->bytes && read->bytes <= loan->bytes - at ? loan : NULL;
}

static void end(struct co_loopback_endpoint *endpoint, struct co_loopback_read *read)
{
    struct co_loopback_hub *hub = endpoint->hub;
    const struct co_loopback_endpoint *peer = &hub->endpoints[read->peer];
    struct co_loopback_parcel *parcel = read->parcel;
    uint8_t *place = parcel->data + parcel->payload_at;
    bool is_up = (endpoint->reads.failed >> read->peer & 1) == 0 && peer->open;
    if (is_up && find_loan(&peer->reads, read)) {
        memcpy(place, (const void *)(uintptr_t)read->address, read->bytes);
        place[0] ^= hub->damages_reads;
        hub->read_counts.done++;
        parcel->read_number = read->number;
        co_loopback_queue_push(endpoint, parcel);
    } else {
        hub->read_counts.refused += is_up;
        endpoint->reads.failed |= UINT64_C(1) << read->peer;
    }
    co_loopback_parcel_drop(parcel);
    read->number = 0;
}

void co_loopback_reads_end(struct co_loopback_endpoint *endpoint)
{
    struct co_loopback_reads *mine = &endpoint->reads;
    bool has_ended = endpoint->open;
    while (has_ended) {
        struct co_loopback_read *next = NULL;
        for (unsigned i = 0; i < CO_LOOPBACK_READS; i++) {
            struct co_loopback_read *read = &mine->under_way[i];
            bool is_due = read->number > 0 && read->due_ns <= endpoint->hub->now_ns;
            next = is_due && (!next || read->number < next->number) ? read : next;
        }
        has_ended = next != NULL;
        if (has_ended) {
            end(endpoint, next);
        }
    }
}

uint64_t co_loopback_reads_next_ns(const struct co_loopback_endpoint *endpoint)
{
    uint64_t next_ns = 0;
    for (unsigned i = 0; i < CO_LOOPBACK_READS; i++) {
        const struct co_loopback_read *read = &endpoint->reads.under_way[i];
        if (read->number > 0 && (next_ns == 0 || read->due_ns < next_ns)) {
            next_ns = read->due_ns;
        }
    }
    return next_ns;
}

void co_loopback_reads_stop(struct co_loopback_endpoint *endpoint)
{
    for (unsigned i = 0; i < CO_LOOPBACK_READS; i++) {
        struct co_loopback_read *read = &endpoint->reads.under_way[i];
        if (read->number > 0) {
            co_loopback_parcel_drop(read->parcel);
            read->number = 0;
        }
    }
}

void co_loopback_reads_open(struct co_loopback_endpoint *endpoint)
{
    static const struct co_reads_ops ops = {.is_connected = is_connected,
                                            .lend = lend,
                                            .take_back = take_back,
                                            .read = start,
                                            .is_under_way = is_under_way};
    assert(endpoint->hub->config.endpoints <= 64);
    endpoint->reads = (struct co_loopback_reads){.reads = {&ops}, .endpoint = endpoint};
    endpoint->transport.reads = &endpoint->reads.reads;
}

struct co_loopback_read_counts co_loopback_read_counts(const struct co_loopback_hub *hub)
{
    return hub->read_counts;
}

void co_loopback_cut_reads(struct co_loopback_hub *hub, int rank, int peer)
{
    hub->endpoints[rank].reads.failed |= UINT64_C(1) << peer;
    hub->endpoints[peer].reads.failed |= UINT64_C(1) << rank;
}

void co_loopback_damage_reads(struct co_loopback_hub *hub)
{
    hub->damages_reads = true;
}
