// SPDX-License-Identifier: BSD-3-Clause
//
// What went wrong, as a sentence: of this thread, until the next failure.
#include <stdarg.h>
#include <stdio.h>

#include "offload/api/offload_world.h"

static _Thread_local char why[CO_OFFLOAD_WHY_BYTES];

const char *castoff_offload_why(void)
{
    return why;
}

int co_offload_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error;
}
