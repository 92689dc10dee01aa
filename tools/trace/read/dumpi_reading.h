// SPDX-License-Identifier: BSD-3-Clause
//
// A record that is being read: what dumpi_record.c and dumpi_lists.c share. Private to them.
#ifndef CASTOFF_TOOLS_TRACE_READ_DUMPI_READING_H
#define CASTOFF_TOOLS_TRACE_READ_DUMPI_READING_H

#include "tools/trace/read/dumpi_file.h"

struct co_dumpi_reading {
    struct co_dumpi *dumpi;
    struct co_traced_call *call;
    bool has_statuses;
    int32_t own_rank, count, flag;
    uint32_t type, unused;
    const char *why;
};

// dumpi_lists.c. False: the file does not hold it, and `why` says so.
// So many bytes are in sight.
bool co_dumpi_has(struct co_dumpi_reading *reading, uint64_t bytes);
// Over what nobody wants to see: bytes, an array, an array of arrays to that depth.
bool co_dumpi_skip(struct co_dumpi_reading *reading, uint64_t bytes);
bool co_dumpi_skip_array(struct co_dumpi_reading *reading, unsigned element_bytes);
bool co_dumpi_skip_nested(struct co_dumpi_reading *reading, int depth, unsigned element_bytes);
bool co_dumpi_take_numbers(struct co_dumpi_reading *reading, int32_t **numbers, uint32_t *room, uint32_t *count);
// An array of arrays, one behind the other, to the call's numbers.
bool co_dumpi_add_numbers(struct co_dumpi_reading *reading);
bool co_dumpi_take_requests(struct co_dumpi_reading *reading);
bool co_dumpi_take_statuses(struct co_dumpi_reading *reading);

#endif
