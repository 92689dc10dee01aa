// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as the cached events of two ranks: analyzed to the end, and all matchers pair alike.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/trace/analyze/analysis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

// Behind a head, as co_event_writer would.
static int make_file(const uint8_t *data, size_t bytes, char path[64])
{
    static const struct co_event_head head;
    int file = memfd_create("events", 0);
    if (file < 0 || write(file, &head, sizeof head) != (ssize_t)sizeof head || write(file, data, bytes) < 0) {
        abort();
    }
    snprintf(path, 64, "/proc/self/fd/%d", file);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const uint32_t bins[] = {1, 16}, lanes[] = {1, 3, 64};
    char paths[2][64];
    size_t half = bytes / 2 / sizeof(struct co_event) * sizeof(struct co_event);
    int files[] = {make_file(data, half, paths[0]), make_file(data + half, bytes - half, paths[1])};
    struct co_application_rank ranks[2] = {{.rank = 0, .is_there = true}, {.rank = 1, .is_there = true}};
    struct co_application application = {.directory = -1, .ranks = ranks, .rank_count = 2, .size = 3, .missing = 1};
    for (int i = 0; i < 2; i++) {
        ranks[i].events = paths[i];
        ranks[i].head.events = (i == 0 ? half : bytes - half) / sizeof(struct co_event);
        ranks[i].head.from_anybody = bytes % 2;
    }
    const struct co_analysis_config config = {.bins = bins, .bins_count = 2, .lanes = lanes, .lanes_count = 3};
    struct co_analysis analysis;
    if (co_analysis_run(&analysis, &application, &config) != 0 || !analysis.is_alike) {
        abort();
    }
    co_analysis_close(&analysis);
    close(files[0]);
    close(files[1]);
    return 0;
}
