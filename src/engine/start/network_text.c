// SPDX-License-Identifier: BSD-3-Clause
//
// The sentence that says what network the job has, or why it has none: each part of the start may put it. Cold.
#include "engine/start/network_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "engine/engine_state.h"

void co_network_say(struct co_engine *engine, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(engine->network, sizeof(engine->network), format, arguments);
    va_end(arguments);
}
