// SPDX-License-Identifier: BSD-3-Clause
//
// Lists and ranges of numbers.
#include "number_list.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static int add(struct co_number_list *list, uint32_t number)
{
    size_t at = 0;
    while (at < list->count && list->numbers[at] < number) {
        at++;
    }
    if (at < list->count && list->numbers[at] == number) {
        return 0;
    }
    if (list->count == CO_NUMBER_LIST_MAX) {
        return -E2BIG;
    }
    for (size_t i = list->count++; i > at; i--) {
        list->numbers[i] = list->numbers[i - 1];
    }
    list->numbers[at] = number;
    return 0;
}

static int take_number(const char **text, uint32_t most, uint32_t *number)
{
    char *end;
    if (!isdigit((unsigned char)**text)) {
        return -EINVAL;
    }
    unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *number = (uint32_t)value;
    return value < 1 || value > most ? -ERANGE : 0;
}

// From `first` on: doubled, and the last one too, or `step` further each time.
static int add_range(struct co_number_list *list, uint32_t first, uint32_t last, uint32_t step)
{
    int error = last < first ? -EINVAL : 0;
    for (uint64_t number = first; error == 0 && number <= last; number = step == 0 ? 2 * number : number + step) {
        error = add(list, (uint32_t)number);
    }
    return error == 0 && step == 0 ? add(list, last) : error;
}

static int take_part(struct co_number_list *list, const char **text, uint32_t most)
{
    uint32_t first, last, step = 0;
    int error = take_number(text, most, &first);
    last = first;
    if (error == 0 && **text == '-') {
        ++*text;
        error = take_number(text, most, &last);
        if (error == 0 && **text == '/') {
            ++*text;
            error = take_number(text, most, &step);
        }
    }
    return error != 0 ? error : add_range(list, first, last, step);
}

int co_number_list_parse(struct co_number_list *list, const char *text, uint32_t most)
{
    list->count = 0;
    for (;;) {
        int error = take_part(list, &text, most);
        if (error != 0 || *text == '\0') {
            return error;
        }
        if (*text++ != ',') {
            return -EINVAL;
        }
    }
}
