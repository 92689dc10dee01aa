// SPDX-License-Identifier: BSD-3-Clause
//
// The log of a test, in a file of its own, and its lines. One at a time.
#ifndef CASTOFF_TESTS_LOG_LINES_H
#define CASTOFF_TESTS_LOG_LINES_H

enum { LOG_LINE_BYTES = 600 };

void log_lines_open(const char *level, const char *subsystem);
// A teardown of cmocka's; nothing where none is open.
int log_lines_close(void **state);

// How many end with `end`.
int log_lines_count(const char *end);
// All but what is said for debugging, without the word trace, with the other levels'; at most so many.
int log_lines_read(char lines[][LOG_LINE_BYTES], int most);

#endif
