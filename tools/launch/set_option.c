// SPDX-License-Identifier: BSD-3-Clause
//
// Takes --set NAME=VALUE apart and holds it against the table of settings: a typing error here is worth stopping for,
// before any rank runs.
#include "set_option.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/settings.h"
#include "base/settings/settings_print.h"
#include "base/settings/fault_plan.h"

// CO_SETTING_COUNT: there is none.
static enum co_setting_id id_named(const char *name)
{
    int id = 0;
    while (id < CO_SETTING_COUNT && strcmp(co_setting_row((enum co_setting_id)id)->name, name) != 0) {
        id++;
    }
    return (enum co_setting_id)id;
}

static bool is_right(const struct co_command *command, const char *name, const char *value)
{
    enum co_setting_id id = id_named(name);
    int64_t number;
    char range[128], why[120] = "";
    struct co_fault_plan plan;
    if (id == CO_SETTING_COUNT) {
        const char *nearest = co_settings_nearest(name);
        co_command_complain(command, "unknown setting %s%s%s%s", name, nearest ? "; did you mean " : "",
                            nearest ? nearest : "", nearest ? "?" : " (castoff info --settings lists them)");
        return false;
    }
    if (!*value || co_setting_parse(co_setting_row(id), value, &number) == 0) {
        return true;
    }
    if (co_setting_row(id)->type == CO_SETTING_FAULT) {
        co_fault_plan_parse(&plan, value, why, sizeof why);
        co_command_complain(command, "%s cannot be '%s': '%s' is no fault such as drop=0.01", name, value, why);
    } else {
        co_setting_range_print(range, id);
        co_command_complain(command, "%s cannot be '%s': it takes %s", name, value, range);
    }
    return false;
}

const char *co_set_option_take(const struct co_command *command, const char *text, char name[CO_SET_NAME_MAX])
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text) {
        co_command_complain(command, "'%s' is not NAME=VALUE", text);
        return NULL;
    }
    const char *prefix = strncmp(text, "CASTOFF_", 8) == 0 ? "" : "CASTOFF_";
    if (snprintf(name, CO_SET_NAME_MAX, "%s%.*s", prefix, (int)(equals - text), text) >= CO_SET_NAME_MAX) {
        co_command_complain(command, "the name in '%.40s...' is too long", text);
        return NULL;
    }
    return is_right(command, name, equals + 1) ? equals + 1 : NULL;
}
