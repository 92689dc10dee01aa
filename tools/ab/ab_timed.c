// SPDX-License-Identifier: BSD-3-Clause
//
// One more run of each side whose calls are recorded: by libcastoff-record.so in front of castoff, which on the side
// without hands every call on (CASTOFF_ENABLE=no). Both sides pay alike for that, so their times are compared with each
// other alone. Cold.
#include "tools/launch/command.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ab.h"
#include "tools/launch/child.h"

enum { SETTINGS_MOST = 128 };

static void drop_output(void *arg, const char *bytes, size_t count)
{
    (void)arg;
    (void)bytes;
    (void)count;
}

static void drop_traces(const char *folder)
{
    char path[PATH_MAX];
    DIR *entries = opendir(folder);
    for (struct dirent *entry = entries ? readdir(entries) : NULL; entry; entry = readdir(entries)) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path); // not the folders . and ..
    }
    if (entries) {
        closedir(entries);
    }
    rmdir(folder);
}

// 0, or the status with which ab ends; `calls` has no trace of the side where there is none.
static int run_side(struct co_ab_calls *calls, enum co_ab_side side, char *const *settings, int argc, char **argv)
{
    struct co_ab_sides sides;
    struct co_child_result result;
    char why[256];
    if (co_ab_sides_make(&sides, settings, argc, argv, why, sizeof why)) {
        co_command_complain(&co_command_ab, "%s", why);
        return TOOL_OK;
    }
    int failed = co_child_run(&result, sides.argv[AB_WITH], drop_output, NULL, NULL);
    co_ab_sides_release(&sides);
    if (failed) {
        co_command_complain(&co_command_ab, "cannot time the calls: %s", strerror(-failed));
        return TOOL_OK;
    }
    if (result.interrupted) {
        return 128 + result.interrupted;
    }
    if (result.status) {
        co_command_complain(&co_command_ab, "the run %s castoff that times calls ended with status %d",
                            co_ab_side_names[side], result.status);
        return result.status;
    }
    calls->elapsed_ns[side] = result.elapsed_ns;
    return TOOL_OK;
}

int co_ab_time_calls(struct co_ab_calls *calls, const char *folder, char *const *settings, int argc, char **argv)
{
    static char *const off[] = {"CASTOFF_ENABLE=no", "CASTOFF_REPORT=", NULL};
    int status = TOOL_OK;
    for (int side = 0; side < AB_SIDES && status == TOOL_OK; side++) {
        char *const *given = side == AB_WITHOUT ? off : settings;
        char *all[SETTINGS_MOST + 2] = {NULL}, record[PATH_MAX];
        int count = 0;
        while (given[count] && count < SETTINGS_MOST) {
            all[count] = given[count];
            count++;
        }
        snprintf(record, sizeof record, "CASTOFF_RECORD=%s/%s", folder, co_ab_side_names[side]);
        all[count] = record;
        status = run_side(calls, (enum co_ab_side)side, all, argc, argv);
        if (status == TOOL_OK) {
            co_ab_calls_read(calls, (enum co_ab_side)side, strchr(record, '=') + 1);
        }
        drop_traces(strchr(record, '=') + 1);
    }
    co_ab_calls_sort(calls);
    return status;
}
