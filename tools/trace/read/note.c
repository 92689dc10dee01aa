// SPDX-License-Identifier: BSD-3-Clause
//
// Words for what is wrong.
#include "tools/trace/read/note.h"

#include <stdarg.h>
#include <stdio.h>

void co_note_add(struct co_note *note, uint64_t offset, const char *format, ...)
{
    if (note->count++ > 0) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(note->why, sizeof note->why, format, arguments);
    va_end(arguments);
    note->offset = offset;
}
