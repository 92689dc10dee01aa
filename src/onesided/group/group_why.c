// SPDX-License-Identifier: BSD-3-Clause
//
// What went wrong, as a sentence: of this thread, until the next failure.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "onesided/group/group_state.h"

static _Thread_local char why[CO_ONESIDED_WHY_MAX];

const char *castoff_group_why(void)
{
    return why;
}

int co_onesided_fail(int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    return error != 0 ? error : -EIO;
}
