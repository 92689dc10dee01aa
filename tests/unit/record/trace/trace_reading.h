// SPDX-License-Identifier: BSD-3-Clause
//
// Traces read again by the tests of those who write them.
#ifndef CASTOFF_TESTS_TRACE_READING_H
#define CASTOFF_TESTS_TRACE_READING_H

#include "record/trace/trace_file.h"

// Fails the test when it cannot be read. co_trace_file_next has the records, co_trace_file_close ends it.
void trace_reading_open(struct co_trace_file *reading, const char *path);

#endif
