// SPDX-License-Identifier: BSD-3-Clause
//
// What dumpi2ascii prints of a DUMPI file: for each call a line when it was entered, one for each argument, and a line
// when it returned. One thread. Hot.
#ifndef CASTOFF_TOOLS_TRACE_READ_DUMPI_TEXT_H
#define CASTOFF_TOOLS_TRACE_READ_DUMPI_TEXT_H

#include "tools/trace/read/call.h"
#include "tools/trace/read/note.h"
#include "tools/trace/read/window.h"

struct co_text_lists {
    uint64_t *requests;
    int32_t *indices, *numbers;
    struct co_call_status *statuses;
    uint32_t requests_room, indices_room, numbers_room, statuses_room;
};

struct co_dumpi_text {
    struct co_window window;
    struct co_text_lists lists;
    bool is_over;
    // Of the call whose lines come.
    int64_t count;
    uint32_t type;
    int32_t flag;
    bool has_flag;
};

bool co_dumpi_text_begins(const uint8_t *bytes, size_t size);
void co_dumpi_text_open(struct co_dumpi_text *text, struct co_window window);
void co_dumpi_text_close(struct co_dumpi_text *text);
// False: that was all, or all that can be read.
bool co_dumpi_text_next(struct co_dumpi_text *text, struct co_traced_call *call, struct co_note *note);

// dumpi_text_values.c: an argument's line, `MPI_Comm comm=2 (MPI_COMM_WORLD)`. False: it is none.
bool co_dumpi_text_argument(struct co_dumpi_text *text, struct co_traced_call *call, const char *line, size_t length);

#endif
