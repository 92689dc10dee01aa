// SPDX-License-Identifier: BSD-3-Clause
//
// A line for each thing to change. Cold.
#ifndef CASTOFF_TOOLS_INFO_ADVICE_H
#define CASTOFF_TOOLS_INFO_ADVICE_H

#include <stdio.h>

struct co_advice {
    FILE *stream;
    int count; // of lines so far
};

void co_advise(struct co_advice *advice, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
