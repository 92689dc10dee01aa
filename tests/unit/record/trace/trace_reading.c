// SPDX-License-Identifier: BSD-3-Clause
#include "trace_reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

void trace_reading_open(struct co_trace_file *reading, const char *path)
{
    char why[CO_TRACE_WHY_MAX];
    assert_int_equal(co_trace_file_open(reading, path, why), 0);
}
