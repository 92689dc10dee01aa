// SPDX-License-Identifier: BSD-3-Clause
//
// castoff info --json. Keys once given keep their meaning. Cold.
#include "info_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "base/plain_json.h"
#include "base/settings.h"
#include "base/settings/settings_print.h"
#include "tools/launch/version.h"
#include "info_families.h"
#include "info_groups.h"
#include "info_transports.h"

static json_t *json_families(const char *mpirun)
{
    json_t *rows = json_array();
    struct co_family_found *found = calloc(CO_FAMILIES_MAX, sizeof *found);
    int count = found != NULL ? co_families_find(found, mpirun) : 0;
    for (int i = 0; i < count; i++) {
        const struct co_family *family = found[i].family;
        json_array_append_new(rows, json_pack("{s:o, s:s, s:b, s:o}", "version", co_plain_json(found[i].text), "family",
                                              family != NULL ? family->name : "unknown", "served",
                                              co_family_is_served(family), "path", co_plain_json(found[i].path)));
    }
    free(found);
    return rows;
}

static json_t *json_groups(void)
{
    struct co_groups_joined joined[CO_GROUPS_INTERFACES];
    json_t *rows = json_array();
    int count = co_groups_find(joined, CO_GROUPS_INTERFACES);
    for (int i = 0; i < count; i++) {
        uint32_t ip = joined[i].first_ip;
        char text[16];
        snprintf(text, sizeof text, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
        json_array_append_new(rows, json_pack("{s:o, s:s, s:i}", "interface", co_plain_json(joined[i].interface),
                                              "first", text, "joined", joined[i].count));
    }
    return rows;
}

static json_t *json_settings(void)
{
    json_t *rows = json_array();
    for (int id = 0; id < CO_SETTING_COUNT; id++) {
        const struct co_setting_row *row = co_setting_row((enum co_setting_id)id);
        char number[CO_SETTING_NUMBER_MAX], range[128];
        co_setting_range_print(range, (enum co_setting_id)id);
        json_t *entry = json_pack("{s:s, s:o, s:s, s:b, s:s, s:s, s:s}", "name", row->name, "value",
                                  co_plain_json(co_setting_value_print(number, (enum co_setting_id)id)), "default",
                                  row->value, "is_default", co_setting_is_default((enum co_setting_id)id), "tier",
                                  row->tier == CO_SETTING_USER ? "user" : "expert", "range", range, "help", row->help);
        json_array_append_new(rows, entry);
    }
    return rows;
}

int co_info_json_print(const char *library, const char *mpirun, const char *(*warning)(size_t))
{
    struct co_transport_state states[CO_TRANSPORTS];
    json_t *transports = json_array(), *complaints = json_array();
    co_transports_probe(states);
    for (int i = 0; i < CO_TRANSPORTS; i++) {
        json_array_append_new(transports, json_pack("{s:s, s:b, s:o}", "name", states[i].name, "usable",
                                                    states[i].is_usable, "detail", co_plain_json(states[i].detail)));
    }
    for (size_t i = 0; warning(i); i++) {
        json_array_append_new(complaints, co_plain_json(warning(i)));
    }
    json_t *root =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", co_version_number(), "commit",
                  co_version_commit(), "compiler", co_version_compiler(), "built_for", co_version_mpi(), "library",
                  co_plain_json(library), "mpirun", co_plain_json(mpirun), "transports", transports, "groups",
                  json_groups(), "mpi", json_families(mpirun), "settings", json_settings(), "warnings", complaints);
    if (!root || json_dumpf(root, stdout, JSON_INDENT(1))) {
        return -EIO;
    }
    putchar('\n');
    json_decref(root);
    return 0;
}
