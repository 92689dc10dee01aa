// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of setting values: text of a user to number. Pure; called at load, by the tools and by the fuzzer.
// Any thread; not hot.
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/multicast_range.h"
#include "base/settings.h"
#include "base/settings/fault_plan.h"
#include "base/settings/settings_number.h"

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

// 1: a path, 0: none. Who answers yes where a path is asked for means something else than a file of that name.
static int parse_file(const char *text, int64_t *number)
{
    int64_t is_yes = 0;
    bool is_answer = parse_bool(text, &is_yes) == 0;
    *number = !is_answer && *text != '\0';
    return is_yes ? -EINVAL : 0;
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

int co_setting_parse(const struct co_setting_row *row, const char *text, int64_t *number)
{
    int saved_errno = errno, result = -EINVAL;
    struct co_multicast_range range;
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
        result = co_multicast_range_parse(text, &range);
        *number = result == 0 ? 0 : *number;
        break;
    case CO_SETTING_FAULT:
        result = co_fault_plan_parse(&plan, text, NULL, 0);
        *number = result == 0 ? 0 : *number;
        break;
    case CO_SETTING_INT:
    case CO_SETTING_SIZE:
    case CO_SETTING_TIME:
        result = co_setting_number_parse(row, text, number);
        break;
    case CO_SETTING_FILE:
        result = parse_file(text, number);
        break;
    case CO_SETTING_TEXT:
        *number = 0;
        result = 0;
        break;
    }
    errno = saved_errno;
    return result;
}
