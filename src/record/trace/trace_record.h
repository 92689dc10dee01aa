// SPDX-License-Identifier: BSD-3-Clause
//
// From a record to its bytes and back. Pure: no memory, no clock, no I/O. Encoding is hot; decoding takes any bytes.
#ifndef CASTOFF_RECORD_TRACE_RECORD_H
#define CASTOFF_RECORD_TRACE_RECORD_H

#include "record/trace/trace_format.h"

enum { CO_TRACE_SLOTS = 127 }; // slot + 1 is one byte

// What the next record of a block counts from. At the beginning of a block: its base_ns, and 0.
struct co_trace_state {
    uint64_t time_ns;
    uint64_t handle; // the last that was new, turned
    // Handles come again, for MPI keeps its requests: the last one of each slot is told by the slot alone.
    uint64_t recent[CO_TRACE_SLOTS];
};

// Bytes written, and the state moved on; 0: there is no room, and nothing has changed.
size_t co_trace_encode(const struct co_trace_record *record, struct co_trace_state *state, uint8_t *out, size_t room);

// Bytes of the first record in `bytes`, and the state moved on. -EBADMSG: it is none, or not whole, and the state is
// of no use any more. `rows` takes its
// list; its text stays where it is, without an end of string. `stream` and `is_unfinished` are left to the caller.
long co_trace_decode(struct co_trace_record *record, struct co_trace_state *state,
                     int64_t rows[CO_TRACE_ROWS_MAX][CO_TRACE_COLUMNS_MAX], const uint8_t *bytes, size_t size);

#endif
