// SPDX-License-Identifier: BSD-3-Clause
//
// Names in it come from hosts: they may not write on a terminal what they like. Cold.
#include "advice.h"

#include <stdarg.h>

#include "base/plain_text.h"

void co_advise(struct co_advice *advice, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fputs("to change   ", advice->stream);
    co_plain_put(advice->stream, text);
    fputc('\n', advice->stream);
    advice->count++;
}
