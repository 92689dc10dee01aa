// SPDX-License-Identifier: BSD-3-Clause
//
// Time stands still, but when a test waits, or says what a look at the clock takes.
#include "p2p_streams.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

int reads, read_error;
void (*while_reading)(void);
bool tries_streams, is_crowded;
size_t eager_most = EAGER;
uint64_t look_ns;
static uint64_t clock_ns = 1;

static uint64_t now(void)
{
    clock_ns += look_ns;
    return clock_ns;
}

static int read_or_not(void *arg, int peer, void *local, uint64_t remote, size_t bytes)
{
    (void)arg;
    (void)peer;
    reads++;
    if (while_reading != NULL) {
        while_reading();
    }
    if (read_error == 0) {
        memcpy(local, (const void *)(uintptr_t)remote, bytes);
    }
    return read_error;
}

void open_streams(int size, size_t credit)
{
    struct p2p_world_options options = {.size = size,
                                        .eager_most = eager_most,
                                        .credit = credit,
                                        .stream_most = STREAM_MOST,
                                        .is_crowded = is_crowded,
                                        .tries_streams = tries_streams,
                                        .patience_ns = PATIENCE_NS,
                                        .now_ns = now,
                                        .read = read_or_not,
                                        .matcher = {64, 64, 16}};
    p2p_world_open(&world, &options);
    lay_out_payload();
    reads = read_error = 0;
    while_reading = NULL;
}

void close_streams(bool has_sends)
{
    for (int rank = 0; rank < world.size; rank++) {
        assert_int_equal(co_p2p_context_is_busy(world.contexts[rank]), rank == 0 && has_sends);
    }
    p2p_world_close(&world);
}

void streams_move(int rank)
{
    while (co_p2p_progress(world.ranks[rank]) > 0) {
    }
}

void pass_ns(uint64_t ns)
{
    clock_ns += ns;
}

void wait_for(int rank, uint64_t ns)
{
    streams_move(rank);
    clock_ns += ns;
    streams_move(rank);
    co_p2p_progress(world.ranks[rank]);
}

void wait_in_vain(int rank)
{
    wait_for(rank, 2 * PATIENCE_NS);
}
