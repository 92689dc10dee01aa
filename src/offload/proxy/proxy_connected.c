// SPDX-License-Identifier: BSD-3-Clause
//
// Connected ranks; see the header.
#include "offload/proxy/proxy_connected.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "offload/proxy/proxy_bounded_close.h"
#include "offload/segment_memory.h"

// The process's descriptor tells of its end, whoever copies.
static int windows_open(struct co_proxy_connected *rank, const struct co_proxy_arrival *arrival, bool has_copies)
{
    int error = co_attach_window_open(&rank->attach, arrival->process);
    if (error != 0) {
        return error;
    }
    int copies = has_copies ? fcntl(arrival->segment, F_DUPFD_CLOEXEC, 0) : -1;
    if (has_copies) {
        error = copies < 0 ? -errno : 0;
    } else {
        error = co_attach_window_probe(&rank->attach, arrival->hello.probe_address, arrival->hello.probe_word);
    }
    if (error != 0) {
        co_attach_window_close(&rank->attach);
    }
    co_copy_window_open(&rank->copy, copies);
    return error;
}

int co_proxy_connected_open(struct co_proxy_connected *rank, const struct co_proxy_arrival *arrival, uint32_t lend,
                            uint64_t staging_bytes)
{
    *rank = (struct co_proxy_connected){.socket = arrival->socket, .bell = -1};
    bool has_copies;
    int error = co_segment_memory_map(&rank->memory, arrival->segment, &has_copies);
    if (error != 0) {
        return error;
    }
    error = windows_open(rank, arrival, has_copies);
    if (error != 0) {
        co_segment_memory_unmap(rank->memory);
        return error;
    }
    co_stage_window_open(&rank->stage, &rank->attach.window, staging_bytes);
    rank->window = has_copies                      ? &rank->copy.window
                   : lend == CO_OFFLOAD_LEND_STAGE ? &rank->stage.window
                                                   : &rank->attach.window;
    rank->is_here = true;
    return 0;
}

void co_proxy_connected_close(struct co_proxy_connected *rank)
{
    if (rank->socket >= 0) {
        co_proxy_bounded_close(rank->socket);
    }
    if (rank->copy.file >= 0) {
        close(rank->copy.file);
    }
    co_attach_window_close(&rank->attach);
    co_segment_memory_unmap(rank->memory);
    rank->is_here = false;
}
