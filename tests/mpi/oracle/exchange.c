// SPDX-License-Identifier: BSD-3-Clause
// All-to-alls and what they have to deliver. Not hot.
#include "oracle/exchange.h"

#ifdef OPEN_MPI
#include <mpi-ext.h> // MPIX_..._init
#endif
#include <stdlib.h>
#include <string.h>

#include "oracle/verdict.h"

#define MARK 0xEE

static int count_of(const struct co_exchange *exchange, int from, int to)
{
    if (!exchange->is_uneven) {
        return (int)exchange->bytes;
    }
    // In place each sends as much as it receives. Some blocks are of no bytes, but no rank sends nothing at all while
    // others do, nor receives nothing: Open MPI 4.1.4 takes such a call for none, and the next one for this. And in
    // place, among more than three, it brings wrong bytes beside blocks of none.
    int turn = exchange->number + (exchange->is_in_place ? from + to : 3 * from + 5 * to);
    bool has_none = !exchange->is_in_place || exchange->size <= 3 || exchange->is_native_spared;
    return (int)exchange->bytes * (has_none ? turn % 4 : 1 + turn % 3);
}

// Of the block from one member to another, in the call that was filled last.
static uint64_t seed_of(const struct co_exchange *exchange, int from, int to)
{
    int operation = exchange->number * 1000 + exchange->fills;
    return co_test_seed(from * 256 + to, operation, (size_t)count_of(exchange, from, to));
}

// Places of blocks of these lengths, with gaps; from the last one on if `is_reversed`. How many bytes that takes.
static size_t lay_out(const struct co_exchange *exchange, const int *counts, int *places, bool is_reversed)
{
    int at = 0, gap = exchange->is_uneven ? exchange->number % 3 * 7 : 0;
    for (int turn = 0; turn < exchange->size; turn++) {
        int of = is_reversed ? exchange->size - 1 - turn : turn;
        places[of] = at;
        at += counts[of] + gap;
    }
    return (size_t)at;
}

void co_exchange_open(struct co_exchange *exchange)
{
    MPI_Comm_rank(exchange->comm, &exchange->rank);
    MPI_Comm_size(exchange->comm, &exchange->size);
    size_t size = (size_t)exchange->size;
    int *arrays = malloc(4 * size * sizeof(int));
    exchange->send_counts = arrays;
    exchange->send_places = arrays + size;
    exchange->counts = arrays + 2 * size;
    exchange->places = arrays + 3 * size;
    for (int of = 0; of < exchange->size; of++) {
        exchange->send_counts[of] = count_of(exchange, exchange->rank, of);
        exchange->counts[of] = count_of(exchange, of, exchange->rank);
    }
    bool is_reversed = exchange->is_uneven && exchange->number % 2 == 1;
    exchange->send_room = lay_out(exchange, exchange->send_counts, exchange->send_places, false);
    exchange->room = lay_out(exchange, exchange->counts, exchange->places, is_reversed);
    exchange->send = malloc(exchange->send_room + 1);
    exchange->receive = malloc(exchange->room + 1);
    exchange->request = MPI_REQUEST_NULL;
    exchange->fills = 0;
}

void co_exchange_fill(struct co_exchange *exchange)
{
    exchange->fills++;
    memset(exchange->send, MARK, exchange->send_room);
    memset(exchange->receive, MARK, exchange->room);
    for (int of = 0; of < exchange->size; of++) {
        uint64_t seed = seed_of(exchange, exchange->rank, of);
        unsigned char *block = exchange->is_in_place ? exchange->receive + exchange->places[of]
                                                     : exchange->send + exchange->send_places[of];
        co_test_pattern_fill(block, (size_t)exchange->send_counts[of], seed);
    }
}

void co_exchange_start(struct co_exchange *exchange)
{
    const void *send = exchange->is_in_place ? MPI_IN_PLACE : exchange->send;
    int count = (int)exchange->bytes;
    if (exchange->is_uneven) {
        MPI_Ialltoallv(send, exchange->send_counts, exchange->send_places, MPI_BYTE, exchange->receive,
                       exchange->counts, exchange->places, MPI_BYTE, exchange->comm, &exchange->request);
    } else {
        MPI_Ialltoall(send, count, MPI_BYTE, exchange->receive, count, MPI_BYTE, exchange->comm, &exchange->request);
    }
}

void co_exchange_plan(struct co_exchange *exchange)
{
    const void *send = exchange->is_in_place ? MPI_IN_PLACE : exchange->send;
    int count = (int)exchange->bytes;
    if (exchange->is_uneven) {
        MPIX_Alltoallv_init(send, exchange->send_counts, exchange->send_places, MPI_BYTE, exchange->receive,
                            exchange->counts, exchange->places, MPI_BYTE, exchange->comm, MPI_INFO_NULL,
                            &exchange->request);
    } else {
        MPIX_Alltoall_init(send, count, MPI_BYTE, exchange->receive, count, MPI_BYTE, exchange->comm, MPI_INFO_NULL,
                           &exchange->request);
    }
}

static size_t marks_missing(const unsigned char *bytes, size_t count)
{
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        missing += bytes[i] != MARK;
    }
    return missing;
}

// Behind each block up to the next one, whichever that is.
static size_t gaps_written(const struct co_exchange *exchange)
{
    size_t written = 0;
    for (int of = 0; of < exchange->size; of++) {
        size_t from = (size_t)exchange->places[of] + (size_t)exchange->counts[of], to = exchange->room;
        for (int other = 0; other < exchange->size; other++) {
            size_t place = (size_t)exchange->places[other];
            to = place >= from && place < to ? place : to;
        }
        written += marks_missing(exchange->receive + from, to - from);
    }
    return written;
}

size_t co_exchange_wrong(const struct co_exchange *exchange)
{
    size_t wrong = gaps_written(exchange);
    for (int of = 0; of < exchange->size; of++) {
        size_t count = (size_t)exchange->counts[of];
        wrong += count - co_test_pattern_mismatch(exchange->receive + exchange->places[of], count,
                                                  seed_of(exchange, of, exchange->rank));
    }
    return wrong;
}

void co_exchange_check(const struct co_exchange *exchange, const char *what)
{
    for (int of = 0; of < exchange->size; of++) {
        co_test_received(exchange->receive + exchange->places[of], (size_t)exchange->counts[of],
                         seed_of(exchange, of, exchange->rank), "%s: exchange %d of %zu bytes, block %d", what,
                         exchange->number, exchange->bytes, of);
        if (!exchange->is_in_place) {
            size_t count = (size_t)exchange->send_counts[of];
            co_test_expect(co_test_pattern_mismatch(exchange->send + exchange->send_places[of], count,
                                                    seed_of(exchange, exchange->rank, of)) == count,
                           "%s: exchange %d: what was sent to %d has changed", what, exchange->number, of);
        }
    }
    size_t written = gaps_written(exchange);
    co_test_expect(written == 0, "%s: exchange %d: %zu bytes between the blocks are written", what, exchange->number,
                   written);
}

bool co_exchange_is_untouched(const struct co_exchange *exchange)
{
    return marks_missing(exchange->receive, exchange->room) == 0;
}

void co_exchange_close(struct co_exchange *exchange)
{
    free(exchange->send);
    free(exchange->receive);
    free(exchange->send_counts);
}
