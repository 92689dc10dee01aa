// SPDX-License-Identifier: BSD-3-Clause
//
// A map from handles to numbers; it is as large as there were handles at a time.
#include "record/trace/trace_links.h"

void co_trace_links_open(struct co_trace_links *links)
{
    co_hash_map_open(&links->map);
    links->last = 0;
}

void co_trace_links_close(struct co_trace_links *links)
{
    co_hash_map_close(&links->map);
}

// A kind takes a byte beside the number.
_Static_assert(CO_TRACE_KIND_COUNT <= 256, "numbers begin above the kind");

uint64_t co_trace_links_make(struct co_trace_links *links, uint64_t handle, enum co_trace_kind kind)
{
    if (handle == 0) {
        return 0;
    }
    if (handle == CO_TRACE_COMPLETE) {
        return ++links->last;
    }
    co_hash_map_remove(&links->map, handle);
    uint64_t number = links->last + 1;
    if (co_hash_map_put(&links->map, handle, (void *)(uintptr_t)(number << 8 | (uint64_t)kind)) != 0) {
        return 0;
    }
    links->last = number;
    return number;
}

struct co_trace_link co_trace_links_find(const struct co_trace_links *links, uint64_t handle)
{
    uint64_t entry = handle == 0 ? 0 : (uint64_t)(uintptr_t)co_hash_map_get(&links->map, handle);
    return (struct co_trace_link){.number = entry >> 8, .kind = (enum co_trace_kind)(entry & 255)};
}
