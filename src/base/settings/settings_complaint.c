// SPDX-License-Identifier: BSD-3-Clause
//
// Words for wrong settings: what was written, what is allowed, what was probably meant. Pure; at load only.
#include "base/settings/settings_complaint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/settings/fault_plan.h"
#include "base/settings/settings_nearest.h"
#include "base/settings/settings_number.h"

enum { SHOWN_MAX = 64 };

// What a user wrote may be long or hold control characters; the log must survive it.
static void show(char shown[SHOWN_MAX + 1], const char *text, size_t length)
{
    size_t kept = length < SHOWN_MAX ? length : SHOWN_MAX;

    for (size_t i = 0; i < kept; i++) {
        shown[i] = isprint((unsigned char)text[i]) ? text[i] : '?';
    }
    shown[kept] = '\0';
    if (kept < length) {
        memcpy(shown + SHOWN_MAX - 3, "...", 3);
    }
}

static void append(char *sentence, size_t size, const char *text)
{
    size_t used = strlen(sentence);

    snprintf(sentence + used, size - used, "%s", text);
}

// "; did you mean <word>?" where the word is the position-th of the list.
static void suggest(char *sentence, size_t size, const char *list, int position)
{
    char ending[SHOWN_MAX + 32];

    for (; position > 0; position--) {
        list += strcspn(list, "|") + 1;
    }
    snprintf(ending, sizeof ending, "; did you mean %.*s?", (int)strcspn(list, "|"), list);
    append(sentence, size, ending);
}

// A word of the list that is none of the choices; an empty one where it has no word at all.
static void find_unknown(char unknown[SHOWN_MAX + 1], const struct co_setting_row *row, const char *list)
{
    int64_t ignored;

    *unknown = '\0';
    while (*list) {
        size_t length = strcspn(list, ",");
        show(unknown, list, length);
        if (length > 0 && co_setting_parse(row, unknown, &ignored) != 0) {
            return;
        }
        list += length + (list[length] == ',');
    }
}

static void list_choices(char *sentence, size_t size, const char *choices)
{
    for (const char *word = choices; *word;) {
        char item[SHOWN_MAX];
        size_t length = strcspn(word, "|");
        snprintf(item, sizeof item, "%.*s%s", (int)length, word, word[length] ? ", " : "");
        append(sentence, size, item);
        word += length + (word[length] == '|');
    }
}

// "outside 16K to 16M" or "not a size such as 64K from 16K to 16M".
static void say_number(char *sentence, size_t size, const struct co_setting_row *row, bool outside)
{
    static const char *const kinds[] = {
        [CO_SETTING_INT] = "not a whole number",
        [CO_SETTING_SIZE] = "not a size such as 64K",
        [CO_SETTING_TIME] = "not a time such as 200us",
    };
    char low[CO_SETTING_NUMBER_MAX], high[CO_SETTING_NUMBER_MAX], range[3 * CO_SETTING_NUMBER_MAX];

    append(sentence, size, outside ? "outside" : kinds[row->type]);
    if (row->min == 0 && row->max == 0) {
        append(sentence, size, outside ? " what can be represented" : "");
        return;
    }
    co_setting_number_print(low, row->type, row->min);
    co_setting_number_print(high, row->type, row->max);
    snprintf(range, sizeof range, outside ? " %s to %s" : " from %s to %s", low, high);
    append(sentence, size, range);
}

// A bare number where a time is wanted: the unit of the default is the likely one.
static void suggest_unit(char *sentence, size_t size, const struct co_setting_row *row, const char *text)
{
    const char *unit = row->value + strspn(row->value, "0123456789");
    char ending[SHOWN_MAX];
    size_t digits = strspn(text, "0123456789");

    if (row->type == CO_SETTING_TIME && digits > 0 && digits < 10 && text[digits] == '\0' && *unit) {
        snprintf(ending, sizeof ending, "; did you mean %s%s?", text, unit);
        append(sentence, size, ending);
    }
}

// What may be written instead of `text`, and which of it was probably meant.
static void say_words(char *sentence, size_t size, const struct co_setting_row *row, const char *text)
{
    const char *words = row->type == CO_SETTING_BOOL ? "yes|no|on|off|true|false" : row->choices;
    char unknown[SHOWN_MAX + 1];

    if (row->type == CO_SETTING_BOOL) {
        append(sentence, size, "neither yes nor no");
    } else if (row->type == CO_SETTING_CHOICE) {
        append(sentence, size, "not one of ");
        list_choices(sentence, size, words);
    } else {
        find_unknown(unknown, row, text);
        append(sentence, size, unknown);
        append(sentence, size, *unknown ? " is not one of " : "none of ");
        list_choices(sentence, size, words);
        text = unknown;
    }
    int position = co_word_nearest(text, words);
    if (position >= 0) {
        suggest(sentence, size, words, position);
    }
}

// Which word of a plan is none. There is no default to use in its place.
static void say_fault(char *sentence, size_t size, const char *text)
{
    struct co_fault_plan plan;
    char word[SHOWN_MAX + 1] = "", shown[SHOWN_MAX + 1];

    co_fault_plan_parse(&plan, text, word, sizeof word);
    show(shown, word, strlen(word));
    append(sentence, size, "'");
    append(sentence, size, shown);
    append(sentence, size, "' is no fault such as drop=0.01; none is injected");
}

void co_complaint_value(char *sentence, size_t size, const struct co_setting_row *row, const char *text, int error)
{
    char shown[SHOWN_MAX + 1];

    show(shown, text, strlen(text));
    snprintf(sentence, size, "%s=%s: ", row->name, shown);
    if (row->type == CO_SETTING_BOOL || row->choices != NULL) {
        say_words(sentence, size, row, text);
    } else if (row->type == CO_SETTING_GROUPS) {
        append(sentence, size, "not a range of multicast addresses such as 239.192.0.0/16");
    } else if (row->type == CO_SETTING_FAULT) {
        say_fault(sentence, size, text);
        return;
    } else if (row->type == CO_SETTING_FILE) {
        append(sentence, size, "not a path; a file of that name is ./");
        append(sentence, size, shown);
        append(sentence, size, " (using none)");
        return;
    } else if (row->type < CO_SETTING_FILE) {
        say_number(sentence, size, row, error == -ERANGE);
        suggest_unit(sentence, size, row, text);
    }
    append(sentence, size, " (using ");
    append(sentence, size, row->value);
    append(sentence, size, ")");
}

void co_complaint_name(char *sentence, size_t size, const char *name, size_t name_length, const char *nearest)
{
    char shown[SHOWN_MAX + 1];

    show(shown, name, name_length);
    if (nearest) {
        snprintf(sentence, size, "unknown setting %s; did you mean %s?", shown, nearest);
    } else {
        snprintf(sentence, size, "unknown setting %s; castoff info lists the known ones", shown);
    }
}
