// SPDX-License-Identifier: BSD-3-Clause
//
// tar unpacks; it keeps away from places outside its directory by itself. An archive's own folders are gone through to
// the first that holds more than one thing.
#include "trace_archive.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "command.h"
#include "scratch.h"

static bool is_archive(const char *path)
{
    static const char *const ends[] = {".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2", ".tar.zst"};
    struct stat state;
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t wanted = strlen(ends[i]);
        if (length > wanted && strcmp(path + length - wanted, ends[i]) == 0) {
            return stat(path, &state) == 0 && S_ISREG(state.st_mode);
        }
    }
    return false;
}

static char *join(const char *directory, const char *name)
{
    size_t room = strlen(directory) + strlen(name) + 2;
    char *path = malloc(room);
    if (path != NULL) {
        snprintf(path, room, "%s/%s", directory, name);
    }
    return path;
}

static void drop_output(void *arg, const char *bytes, size_t count)
{
    (void)arg;
    (void)bytes;
    (void)count;
}

static int unpack(const char *archive, const char *directory)
{
    char *argv[] = {"tar", "-x", "-f", (char *)(uintptr_t)archive, "-C", (char *)(uintptr_t)directory, NULL};
    struct co_child_result result = {.status = 0};
    int error = mkdir(directory, 0700) != 0 ? -errno : co_child_run(&result, argv, drop_output, NULL, NULL);
    if (error != 0 || result.status != 0) {
        co_command_complain(&co_command_trace, "%s cannot be unpacked%s%s", archive, error != 0 ? ": " : "",
                            error != 0 ? strerror(-error) : ", as tar said");
        return error != 0 ? error : -EINVAL;
    }
    return 0;
}

// The only thing in a directory, if it is a directory; the caller frees.
static char *only_directory(const char *path)
{
    DIR *directory = opendir(path);
    struct dirent *entry;
    struct stat state;
    char *found = NULL;
    unsigned count = 0;
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.' && count++ == 0) {
            found = join(path, entry->d_name);
        }
    }
    if (directory != NULL) {
        closedir(directory);
    }
    if (count != 1 || found == NULL || stat(found, &state) != 0 || !S_ISDIR(state.st_mode)) {
        free(found);
        return NULL;
    }
    return found;
}

static char *unpack_to(const struct co_trace_archive *archive, const char *path, size_t number)
{
    char name[32];
    snprintf(name, sizeof name, "%zu", number);
    char *directory = join(archive->directory, name), *inner;
    if (directory == NULL || unpack(path, directory) != 0) {
        free(directory);
        return NULL;
    }
    while ((inner = only_directory(directory)) != NULL) {
        free(directory);
        directory = inner;
    }
    return directory;
}

static int make_directory(struct co_trace_archive *archive, const char *scratch)
{
    archive->directory = scratch == NULL ? NULL : join(scratch, "archive");
    if (archive->directory == NULL || mkdir(archive->directory, 0700) != 0) {
        co_command_complain(&co_command_trace, "no directory to unpack to in %s", co_scratch_place());
        return -EIO;
    }
    return 0;
}

int co_trace_archive_open(struct co_trace_archive *archive, const char *scratch, char ***paths, size_t *path_count)
{
    *archive = (struct co_trace_archive){.directory = NULL};
    bool has_some = false;
    for (size_t i = 0; i < *path_count; i++) {
        has_some = has_some || is_archive((*paths)[i]);
    }
    if (!has_some) {
        return 0;
    }
    int error = make_directory(archive, scratch);
    archive->paths = error != 0 ? NULL : calloc(*path_count + 1, sizeof *archive->paths);
    error = error == 0 && archive->paths == NULL ? -ENOMEM : error;
    for (size_t i = 0; error == 0 && i < *path_count; i++) {
        const char *path = (*paths)[i];
        archive->paths[i] = is_archive(path) ? unpack_to(archive, path, i) : strdup(path);
        error = archive->paths[i] == NULL ? -EIO : 0;
        archive->path_count = i + 1;
    }
    if (error == 0) {
        *paths = archive->paths;
    }
    return error;
}

void co_trace_archive_close(struct co_trace_archive *archive)
{
    for (size_t i = 0; i < archive->path_count; i++) {
        free(archive->paths[i]);
    }
    free(archive->paths);
    free(archive->directory);
    *archive = (struct co_trace_archive){.directory = NULL};
}
