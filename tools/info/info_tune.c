// SPDX-License-Identifier: BSD-3-Clause
//
// The part of castoff info about decisions: the tune table that a job of these settings would use. Cold.
#include "info_tune.h"

#include <errno.h>
#include <stdlib.h>

#include "base/plain_text.h"
#include "base/settings.h"
#include "engine/decide/tune_table.h"

int co_info_tune_load(struct co_tune_table *table, char *why, size_t why_room)
{
    const char *path = co_setting_text(CO_SET_TUNE);
    if (*path) {
        return co_tune_table_load(table, path, why, why_room);
    }
    co_tune_table_built_in(table);
    return 0;
}

int co_info_tune_check(char *why, size_t why_room)
{
    struct co_tune_table *table = calloc(1, sizeof *table);
    int failed = table ? co_info_tune_load(table, why, why_room) : 0;
    free(table);
    return failed;
}

int co_info_tune_print(FILE *stream)
{
    enum { ROOM = CO_TUNE_ROWS_MAX * CO_TUNE_ROW_TEXT_MAX + 1 };
    struct co_tune_table *table = calloc(1, sizeof *table);
    char *text = malloc(ROOM), why[512];
    int failed = table && text ? co_info_tune_load(table, why, sizeof why) : -ENOMEM;
    if (!failed) {
        const char *path = co_setting_text(CO_SET_TUNE);
        co_tune_table_print(table, text, ROOM);
        fputs("# The table of ", stream);
        co_plain_put(stream, *path ? path : "this release");
        fprintf(stream, "\n%s%s", co_tune_table_head, text);
    }
    free(text);
    free(table);
    return failed;
}
