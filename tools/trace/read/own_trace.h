// SPDX-License-Identifier: BSD-3-Clause
//
// castoff's own recordings (record/trace/trace_file.h) as calls. One thread.
#ifndef CASTOFF_TOOLS_TRACE_READ_OWN_TRACE_H
#define CASTOFF_TOOLS_TRACE_READ_OWN_TRACE_H

#include "tools/trace/read/call.h"
#include "tools/trace/read/note.h"
#include "record/trace/trace_file.h"
#include "record/trace/trace_links.h"

// A call with room of its own, since lists go on in further records.
struct co_own_call {
    struct co_traced_call call;
    bool is_there;
    uint64_t *requests;
    int32_t *indices, *numbers;
    struct co_call_status *statuses;
    uint32_t room, numbers_room;
};

struct co_own_trace {
    struct co_trace_file file;
    struct co_trace_links links;
    struct co_hash_map types; // number to bytes plus one
    struct co_own_call calls[2];
    unsigned current; // that is being filled
    uint32_t world;   // its number
    bool is_over;
};

bool co_own_trace_begins(const uint8_t *bytes, size_t size);
// 0; or -errno, and noted: nothing can be read.
int co_own_trace_open(struct co_own_trace *trace, const char *path, struct co_note *note);
// `bytes` stay the caller's.
int co_own_trace_open_bytes(struct co_own_trace *trace, const uint8_t *bytes, size_t size, struct co_note *note);
void co_own_trace_close(struct co_own_trace *trace);
bool co_own_trace_next(struct co_own_trace *trace, struct co_traced_call *call, struct co_note *note);

#endif
