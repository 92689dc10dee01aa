// SPDX-License-Identifier: BSD-3-Clause
//
// Prints the settings table as a template, as a list of values and as manual text. Called by the tools and the
// tests. Not hot.
#include "base/settings/settings_print.h"

#include <string.h>

#include "base/plain_text.h"

const char *co_setting_value_print(char text[CO_SETTING_NUMBER_MAX], enum co_setting_id id)
{
    const struct co_setting_row *row = co_setting_row(id);

    // Words and texts are already as they should be; numbers in one spelling, so that two reports compare.
    if (row->choices != NULL || co_setting_is_text(row)) {
        return co_setting_text(id);
    }
    if (co_setting_number(id) == -1 && strcmp(row->value, "auto") == 0) {
        return "auto";
    }
    co_setting_number_print(text, row->type, co_setting_number(id));
    return text;
}

// "a|b|c" as "a, b or c", after `head`.
static void print_choices(char range[128], const char *head, const char *choices)
{
    size_t used = (size_t)snprintf(range, 128, "%s", head);

    for (const char *word = choices; *word && used < 128;) {
        size_t length = strcspn(word, "|");
        const char *next = word + length + (word[length] == '|');
        const char *joint = !*next ? "" : strchr(next, '|') ? ", " : " or ";
        used += (size_t)snprintf(range + used, 128 - used, "%.*s%s", (int)length, word, joint);
        word = next;
    }
}

void co_setting_range_print(char range[128], enum co_setting_id id)
{
    static const char *const free_range[] = {
        [CO_SETTING_BOOL] = "yes or no",
        [CO_SETTING_INT] = "a whole number",
        [CO_SETTING_SIZE] = "a size",
        [CO_SETTING_TIME] = "a time",
        [CO_SETTING_TEXT] = "text",
        [CO_SETTING_FILE] = "a path",
        [CO_SETTING_GROUPS] = "multicast addresses",
        [CO_SETTING_FAULT] = "text",
    };
    const struct co_setting_row *row = co_setting_row(id);
    char low[CO_SETTING_NUMBER_MAX], high[CO_SETTING_NUMBER_MAX];

    if (row->choices != NULL) {
        print_choices(range, row->type == CO_SETTING_LIST ? "separated by commas: " : "", row->choices);
    } else if (row->min == 0 && row->max == 0) {
        snprintf(range, 128, "%s", free_range[row->type]);
    } else {
        co_setting_number_print(low, row->type, row->min);
        co_setting_number_print(high, row->type, row->max);
        snprintf(range, 128, "%s%s to %s", strcmp(row->value, "auto") == 0 ? "auto, or " : "", low, high);
    }
}

void co_settings_print_template(FILE *stream)
{
    fputs(
        "# SPDX-License-Identifier: BSD-3-Clause\n"
        "#\n"
        "# Every setting of castoff at its default, to edit and source: take the # from those to change. An empty value\n"
        "# counts as unset. Sizes take K, M or G (powers of 1024), times ns, us, ms or s. Settings marked [same on all ranks]\n"
        "# must be equal everywhere, or castoff stays off. Made by `make env.example` from the settings table.\n",
        stream);
    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        const struct co_setting_row *row = co_setting_row(id);
        char range[128];
        co_setting_range_print(range, id);
        fprintf(stream, "\n# %s\n# %s%s%s\n#export %s=%s\n", row->help, range,
                row->agreed ? " [same on all ranks]" : "", row->tier == CO_SETTING_EXPERT ? " [expert]" : "", row->name,
                row->value);
    }
}

static bool is_shown(enum co_setting_id id, bool all)
{
    return all || co_setting_row(id)->tier == CO_SETTING_USER || !co_setting_is_default(id);
}

void co_settings_print_values(FILE *stream, bool all)
{
    char text[CO_SETTING_NUMBER_MAX];
    int name_width = 0, value_width = 0, default_width = 7;

    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        if (!is_shown(id, all)) {
            continue;
        }
        int name_length = (int)strlen(co_setting_row(id)->name);
        int value_length = (int)co_plain_put(NULL, co_setting_value_print(text, id));
        int default_length = (int)strlen(co_setting_row(id)->value);
        name_width = name_length > name_width ? name_length : name_width;
        value_width = value_length > value_width ? value_length : value_width;
        default_width = default_length > default_width ? default_length : default_width;
    }
    fprintf(stream, "  %-*s  %-*s  %-*s  meaning\n", name_width, "setting", value_width, "value", default_width,
            "default");
    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        const struct co_setting_row *row = co_setting_row(id);
        if (!is_shown(id, all)) {
            continue;
        }
        fprintf(stream, "%c %-*s  ", co_setting_is_default(id) ? ' ' : '*', name_width, row->name);
        int shown = (int)co_plain_put(stream, co_setting_value_print(text, id));
        fprintf(stream, "%*s  %-*s  %s\n", value_width - shown, "", default_width, row->value, row->help);
    }
}

unsigned co_settings_print_changed(FILE *stream, const char *head)
{
    unsigned count = 0;

    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        char text[CO_SETTING_NUMBER_MAX];
        const struct co_setting_row *row = co_setting_row(id);
        if (!co_setting_is_default(id)) {
            fprintf(stream, "%s%s=", head, row->name);
            co_plain_put(stream, co_setting_value_print(text, id));
            fprintf(stream, " (default: %s)\n", *row->value ? row->value : "empty");
            count++;
        }
    }
    return count;
}

// A leading dot or apostrophe would be a macro, a backslash an escape, a hyphen a typographic one.
static void print_man_text(FILE *stream, const char *text)
{
    if (*text == '.' || *text == '\'') {
        fputs("\\&", stream);
    }
    for (; *text; text++) {
        fputs(*text == '\\' ? "\\e" : *text == '-' ? "\\-" : (char[]){*text, '\0'}, stream);
    }
}

void co_settings_print_man(FILE *stream)
{
    for (enum co_setting_id id = 0; id < CO_SETTING_COUNT; id++) {
        const struct co_setting_row *row = co_setting_row(id);
        char range[128];
        co_setting_range_print(range, id);
        fprintf(stream, ".TP\n.B %s\n", row->name);
        print_man_text(stream, row->help);
        fputs(".\nAllowed: ", stream);
        print_man_text(stream, range);
        fputs("; default: ", stream);
        print_man_text(stream, *row->value ? row->value : "empty");
        fputs(row->agreed ? "; the same on all ranks" : "", stream);
        fputs(row->tier == CO_SETTING_EXPERT ? "; expert.\n" : ".\n", stream);
    }
}
