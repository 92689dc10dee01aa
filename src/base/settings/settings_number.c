// SPDX-License-Identifier: BSD-3-Clause
//
// Digits and a unit, see settings_number.h. Any thread; not hot.
#include "base/settings/settings_number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    int64_t factor;
};

// The largest first: a number is written with the first one that divides it.
static const struct unit size_units[] = {
    {"G", INT64_C(1) << 30}, {"M", INT64_C(1) << 20}, {"K", INT64_C(1) << 10}, {"", 1}, {NULL, 0}};
static const struct unit time_units[] = {
    {"s", INT64_C(1000000000)}, {"ms", INT64_C(1000000)}, {"us", INT64_C(1000)}, {"ns", 1}, {NULL, 0}};
static const struct unit no_units[] = {{"", 1}, {NULL, 0}};

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

static const struct unit *units_of(enum co_setting_type type)
{
    return type == CO_SETTING_SIZE ? size_units : type == CO_SETTING_TIME ? time_units : no_units;
}

int co_setting_number_parse(const struct co_setting_row *row, const char *text, int64_t *number)
{
    int64_t value;

    if (strcmp(row->value, "auto") == 0 && strcasecmp(text, "auto") == 0) {
        *number = -1;
        return 0;
    }
    int result = parse_quantity(text, units_of(row->type), &value);
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

void co_setting_number_print(char text[CO_SETTING_NUMBER_MAX], enum co_setting_type type, int64_t number)
{
    const struct unit *unit = number > 0 ? units_of(type) : no_units;

    if (type == CO_SETTING_BOOL) {
        snprintf(text, CO_SETTING_NUMBER_MAX, "%s", number ? "yes" : "no");
        return;
    }
    while (number % unit->factor != 0) {
        unit++;
    }
    snprintf(text, CO_SETTING_NUMBER_MAX, "%" PRId64 "%s", number / unit->factor, unit->name);
}
