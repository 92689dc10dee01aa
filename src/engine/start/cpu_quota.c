// SPDX-License-Identifier: BSD-3-Clause
//
// Two kinds of cgroups, and a host may have both. /proc/self/cgroup says in which group a process is and
// /proc/self/mountinfo where its folder is to be seen. In a container the folder that is mounted may be the group
// itself or one above it, and its path begins there, or at the root that only the host sees: then the mounted folder is
// the one.
#define _GNU_SOURCE // getline
#include "engine/start/cpu_quota.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024, NAME_BYTES = 32 };
#define PERIOD_MOST 1000000000LL // microseconds; the kernel takes a second at most

// Of one kind of cgroups.
struct hierarchy {
    bool is_unified;              // the second kind
    char group[PATH_BYTES];       // of this process; "": it is in none
    char mount_root[PATH_BYTES];  // the group that is mounted
    char mount_point[PATH_BYTES]; // "": it is not mounted
};

// "cpu" in "rw,cpu,cpuacct".
static bool list_has(const char *list, const char *word)
{
    for (size_t length = strlen(word); *list != '\0'; list += strcspn(list, ",") + (list[strcspn(list, ",")] != '\0')) {
        if (strcspn(list, ",") == length && memcmp(list, word, length) == 0) {
            return true;
        }
    }
    return false;
}

static FILE *file_open(const char *root, const char *folder, const char *name)
{
    char path[4 * PATH_BYTES];
    int length = snprintf(path, sizeof path, "%s%s/%s", root, folder, name);
    return length < (int)sizeof path ? fopen(path, "re") : NULL;
}

// "0::/path", or "4:cpu,cpuacct:/path".
static void group_take(struct hierarchy *hierarchy, char *line)
{
    char *controllers = strchr(line, ':'), *path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (path == NULL) {
        return;
    }
    *path++ = '\0';
    bool is_ours = hierarchy->is_unified ? controllers[1] == '\0' : list_has(controllers + 1, "cpu");
    if (is_ours && strlen(path) < PATH_BYTES) {
        memcpy(hierarchy->group, path, strlen(path) + 1);
    }
}

// "41 31 0:38 ROOT POINT options fields - type source options"; there may be any number of fields.
static void mount_take(struct hierarchy *hierarchy, const char *line)
{
    char root[PATH_BYTES], point[PATH_BYTES], type[NAME_BYTES], options[PATH_BYTES];
    const char *rest = strstr(line, " - ");
    if (hierarchy->mount_point[0] != '\0' || rest == NULL ||
        sscanf(line, "%*d %*d %*s %1023s %1023s", root, point) != 2 ||
        sscanf(rest, " - %31s %*s %1023s", type, options) != 2) {
        return;
    }
    bool is_ours =
        hierarchy->is_unified ? strcmp(type, "cgroup2") == 0 : strcmp(type, "cgroup") == 0 && list_has(options, "cpu");
    if (is_ours) {
        memcpy(hierarchy->mount_root, root, sizeof root);
        memcpy(hierarchy->mount_point, point, sizeof point);
    }
}

static void hierarchy_find(struct hierarchy *hierarchy, const char *root)
{
    char *line = NULL;
    size_t room = 0;
    FILE *groups = file_open(root, "/proc/self", "cgroup"), *mounts = file_open(root, "/proc/self", "mountinfo");
    while (groups != NULL && getline(&line, &room, groups) > 0) {
        line[strcspn(line, "\n")] = '\0';
        group_take(hierarchy, line);
    }
    while (mounts != NULL && getline(&line, &room, mounts) > 0) {
        mount_take(hierarchy, line);
    }
    free(line);
    if (groups != NULL) {
        fclose(groups);
    }
    if (mounts != NULL) {
        fclose(mounts);
    }
}

// 0: there is no limit.
static uint32_t hundredths_of(long long quota, long long period)
{
    if (quota <= 0 || period <= 0 || period > PERIOD_MOST || quota > INT32_MAX * period / 100) {
        return 0;
    }
    return quota * 100 / period > 0 ? (uint32_t)(quota * 100 / period) : 1;
}

static long long number_read(const char *root, const char *folder, const char *name)
{
    long long number = -1;
    FILE *file = file_open(root, folder, name);
    if (file != NULL && fscanf(file, "%lld", &number) != 1) {
        number = -1;
    }
    if (file != NULL) {
        fclose(file);
    }
    return number;
}

// "150000 100000"; "max 100000": none.
static uint32_t limit_read(const char *root, const char *folder, bool is_unified)
{
    long long quota = -1, period = -1;
    if (!is_unified) {
        return hundredths_of(number_read(root, folder, "cpu.cfs_quota_us"),
                             number_read(root, folder, "cpu.cfs_period_us"));
    }
    FILE *file = file_open(root, folder, "cpu.max");
    bool is_limit = file != NULL && fscanf(file, "%lld %lld", &quota, &period) == 2;
    if (file != NULL) {
        fclose(file);
    }
    return is_limit ? hundredths_of(quota, period) : 0;
}

static uint64_t number_of(const char *root, const char *folder)
{
    char path[4 * PATH_BYTES];
    struct stat state;
    if (snprintf(path, sizeof path, "%s%s", root, folder) >= (int)sizeof path || stat(path, &state) != 0) {
        return 0;
    }
    return (uint64_t)state.st_dev << 48 ^ (uint64_t)state.st_ino;
}

// The part of the group's path below what is mounted; "": the mounted folder itself.
static const char *path_below(const struct hierarchy *hierarchy)
{
    size_t above = strcmp(hierarchy->mount_root, "/") == 0 ? 0 : strlen(hierarchy->mount_root);
    const char *path = hierarchy->group;
    bool is_below = strncmp(path, hierarchy->mount_root, above) == 0 && (path[above] == '/' || path[above] == '\0');
    return !is_below || strcmp(path + above, "/") == 0 || strstr(path, "/..") != NULL ? "" : path + above;
}

// Those of groups come from the innermost outwards. Of equal limits the outer one is told, for ranks of several groups
// may share it.
static void limit_note(struct co_cores_quota *quota, uint32_t hundredths, uint64_t group)
{
    if (quota->hundredths == 0 || hundredths <= quota->hundredths) {
        *quota = (struct co_cores_quota){.hundredths = hundredths, .group = group};
    } else if (quota->above_hundredths == 0 || hundredths <= quota->above_hundredths) {
        quota->above_hundredths = hundredths;
        quota->above_group = group;
    }
}

// The group and all that are above it, as far as they are to be seen.
static struct co_cores_quota hierarchy_look(const struct hierarchy *hierarchy, const char *root)
{
    struct co_cores_quota quota = {.hundredths = 0};
    char folder[2 * PATH_BYTES];
    size_t top = strlen(hierarchy->mount_point);
    snprintf(folder, sizeof folder, "%s%s", hierarchy->mount_point, path_below(hierarchy));
    for (;;) {
        uint32_t hundredths = limit_read(root, folder, hierarchy->is_unified);
        if (hundredths > 0) {
            limit_note(&quota, hundredths, number_of(root, folder));
        }
        char *slash = strrchr(folder, '/');
        if (slash == NULL || (size_t)(slash - folder) < top) {
            return quota;
        }
        *slash = '\0';
    }
}

void co_cores_quota_read(struct co_cores_quota *quota, const char *root)
{
    *quota = (struct co_cores_quota){.hundredths = 0};
    for (int is_unified = 0; is_unified < 2; is_unified++) {
        struct hierarchy hierarchy = {.is_unified = is_unified};
        hierarchy_find(&hierarchy, root);
        if (hierarchy.group[0] != '\0' && hierarchy.mount_point[0] != '\0') {
            struct co_cores_quota found = hierarchy_look(&hierarchy, root);
            if (found.hundredths > 0 && (quota->hundredths == 0 || found.hundredths <= quota->hundredths)) {
                *quota = found;
            }
        }
    }
}
