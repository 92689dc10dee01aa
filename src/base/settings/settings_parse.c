// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of setting values: text of a user to number. Pure; called at load, by the tools and by the fuzzer.
// Any thread; not hot.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/group_range.h"
#include "base/settings.h"
#include "base/settings/fault_plan.h"

struct unit {
    const char *name;
    int64_t factor;
};

static const struct unit size_units[] = {
    {"", 1}, {"K", INT64_C(1) << 10}, {"M", INT64_C(1) << 20}, {"G", INT64_C(1) << 30}, {NULL, 0}};
static const struct unit time_units[] = {
    {"ns", 1}, {"us", INT64_C(1000)}, {"ms", INT64_C(1000000)}, {"s", INT64_C(1000000000)}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

static int parse_bool(const char *text, int64_t *number)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true", "0", "1"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(text, words[i]) == 0) {
            *number = (int64_t)(i % 2);
            return 0;
        }
    }
    return -EINVAL;
}

static int find_choice(const char *choices, const char *text, size_t length, int64_t *number)
{
    int64_t position = 0;

    for (const char *word = choices; *word; position++) {
        size_t word_length = strcspn(word, "|");
        if (length > 0 && word_length == length && strncasecmp(word, text, length) == 0) {
            *number = position;
            return 0;
        }
        word += word_length + (word[word_length] == '|');
    }
    return -EINVAL;
}

static int parse_list(const char *choices, const char *text, int64_t *number)
{
    int64_t bits = 0, position;

    while (*text) {
        size_t length = strcspn(text, ",");
        if (length > 0) {
            if (find_choice(choices, text, length, &position) != 0) {
                return -EINVAL;
            }
            bits |= INT64_C(1) << position;
        }
        text += length + (text[length] == ',');
    }
    if (bits == 0) {
        return -EINVAL;
    }
    *number = bits;
    return 0;
}

static int find_unit(const struct unit *units, const char *name, int64_t *factor)
{
    for (; units->name; units++) {
        if (strcasecmp(name, units->name) == 0) {
            *factor = units->factor;
            return 0;
        }
    }
    return -EINVAL;
}

// Digits and a unit. A zero needs no unit: it is the same in all of them.
static int parse_quantity(const char *text, const struct unit *units, int64_t *number)
{
    const char *digits = *text == '-' ? text + 1 : text;
    char *rest = NULL;
    int64_t factor = 1, value, product;

    if (!isdigit((unsigned char)*digits)) {
        return -EINVAL; // strtoll would take blanks and a plus sign
    }
    errno = 0;
    value = strtoll(text, &rest, 10);
    int overflow = errno == ERANGE;
    if (find_unit(units, rest, &factor) != 0 && !(value == 0 && *rest == '\0')) {
        return -EINVAL;
    }
    if (overflow || __builtin_mul_overflow(value, factor, &product)) {
        return -ERANGE;
    }
    *number = product;
    return 0;
}

static bool in_range(const struct co_setting_row *row, int64_t number)
{
    return (row->min == 0 && row->max == 0) || (number >= row->min && number <= row->max);
}

static int parse_number(const struct co_setting_row *row, const char *text, int64_t *number)
{
    const struct unit *units = row->type == CO_SETTING_SIZE   ? size_units
                               : row->type == CO_SETTING_TIME ? time_units
                                                              : no_units;
    int64_t value;

    if (strcmp(row->value, "auto") == 0 && strcasecmp(text, "auto") == 0) {
        *number = -1;
        return 0;
    }
    int result = parse_quantity(text, units, &value);
    if (result == 0 && row->type != CO_SETTING_INT && value < 0) {
        result = -ERANGE;
    }
    if (result == 0 && !in_range(row, value)) {
        result = -ERANGE;
    }
    if (result == 0) {
        *number = value;
    }
    return result;
}

int co_setting_parse(const struct co_setting_row *row, const char *text, int64_t *number)
{
    int saved_errno = errno, result = -EINVAL;
    struct co_group_range range;
    struct co_fault_plan plan;

    switch (row->type) {
    case CO_SETTING_BOOL:
        result = parse_bool(text, number);
        break;
    case CO_SETTING_CHOICE:
        result = find_choice(row->choices, text, strlen(text), number);
        break;
    case CO_SETTING_LIST:
        result = parse_list(row->choices, text, number);
        break;
    case CO_SETTING_GROUPS:
        result = co_group_range_parse(text, &range);
        *number = result == 0 ? 0 : *number;
        break;
    case CO_SETTING_FAULT:
        result = co_fault_plan_parse(&plan, text, NULL, 0);
        *number = result == 0 ? 0 : *number;
        break;
    case CO_SETTING_INT:
    case CO_SETTING_SIZE:
    case CO_SETTING_TIME:
        result = parse_number(row, text, number);
        break;
    case CO_SETTING_TEXT:
        *number = 0;
        result = 0;
        break;
    }
    errno = saved_errno;
    return result;
}
