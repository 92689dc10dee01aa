// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers as options take them: `1,16,32`; `1-256` doubles from 1 to 256; `2-10/4` is 2, 6, 10. Cold.
#ifndef CASTOFF_TOOLS_TRACE_NUMBER_LIST_H
#define CASTOFF_TOOLS_TRACE_NUMBER_LIST_H

#include <stddef.h>
#include <stdint.h>

enum { CO_NUMBER_LIST_MAX = 64 };

struct co_number_list {
    uint32_t numbers[CO_NUMBER_LIST_MAX]; // ascending, each once
    size_t count;
};

// Numbers from 1 to `most`. 0; -EINVAL: that is no list; -ERANGE: a number is out of bounds; -E2BIG: there are too
// many.
int co_number_list_parse(struct co_number_list *list, const char *text, uint32_t most);

#endif
