// SPDX-License-Identifier: BSD-3-Clause
//
// Connected ranks; see the header.
#include "offload/proxy/proxy_connected.h"

#include <unistd.h>

#include "offload/segment_memory.h"

static int attach_open(struct co_proxy_connected *rank, const struct co_proxy_arrival *arrival)
{
    int error = co_attach_window_open(&rank->attach, arrival->process);
    if (error != 0) {
        return error;
    }
    error = co_attach_window_probe(&rank->attach, arrival->hello.probe_address, arrival->hello.probe_word);
    if (error != 0) {
        co_attach_window_close(&rank->attach);
    }
    return error;
}

int co_proxy_connected_open(struct co_proxy_connected *rank, const struct co_proxy_arrival *arrival, uint32_t lend,
                            uint64_t staging_bytes)
{
    *rank = (struct co_proxy_connected){.socket = arrival->socket};
    int error = co_segment_memory_map(&rank->memory, arrival->segment);
    if (error != 0) {
        return error;
    }
    error = attach_open(rank, arrival);
    if (error != 0) {
        co_segment_memory_unmap(rank->memory);
        return error;
    }
    co_stage_window_open(&rank->stage, &rank->attach.window, staging_bytes);
    rank->window = lend == CO_OFFLOAD_LEND_STAGE ? &rank->stage.window : &rank->attach.window;
    rank->is_here = true;
    return 0;
}

void co_proxy_connected_close(struct co_proxy_connected *rank)
{
    if (rank->socket >= 0) {
        close(rank->socket);
    }
    co_attach_window_close(&rank->attach);
    co_segment_memory_unmap(rank->memory);
    rank->is_here = false;
}
