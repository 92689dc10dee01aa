// SPDX-License-Identifier: BSD-3-Clause
//
// A tune table for those who decide by it, until the next call of either.
#ifndef CASTOFF_TESTS_TUNE_TEXT_H
#define CASTOFF_TESTS_TUNE_TEXT_H

struct co_tune_table;

const struct co_tune_table *tune_text(const char *text); // fails the test when it does not parse
const struct co_tune_table *tune_text_built_in(void);

#endif
