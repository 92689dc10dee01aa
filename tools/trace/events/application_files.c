// SPDX-License-Identifier: BSD-3-Clause
//
// Which files of a directory are traces: by extension, and those of dumpi2ascii, whose text may be called anything, by
// how they begin. Hidden files are none (archives made on macOS are full of them).
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/trace/events/application.h"
#include "tools/trace/read/reader.h"
#include "record/trace/trace_source.h"

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);
    return length > wanted && strcmp(name + length - wanted, end) == 0;
}

int32_t co_application_rank_by_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *end = strrchr(name, '.');
    const char *digits = end;
    while (digits != NULL && digits > name && digits[-1] >= '0' && digits[-1] <= '9') {
        digits--;
    }
    if (digits == NULL || digits == end || end - digits > 9 || digits == name || strchr("-_.", digits[-1]) == NULL) {
        return -1;
    }
    return (int32_t)strtol(digits, NULL, 10);
}

static int add(struct co_application_files *files, const char *path)
{
    if (files->count == files->room) {
        size_t room = files->room == 0 ? 64 : 2 * files->room;
        char **larger = realloc(files->paths, room * sizeof *larger);
        if (larger == NULL) {
            return -ENOMEM;
        }
        files->paths = larger;
        files->room = room;
    }
    files->paths[files->count] = strdup(path);
    return files->paths[files->count] == NULL ? -ENOMEM : (files->count++, 0);
}

static bool begins_as_text(const char *path)
{
    uint8_t bytes[256];
    uint64_t size;
    int file = co_trace_source_open_regular(path, &size); // what is_trace has looked at may be a pipe by now
    ssize_t got = file < 0 ? -1 : read(file, bytes, sizeof bytes);
    if (file >= 0) {
        close(file);
    }
    return got > 0 && co_reader_sniff(bytes, (size_t)got) == CO_FORMAT_DUMPI_TEXT;
}

static bool is_trace(const char *path, const char *name)
{
    struct stat state;
    if (name[0] == '.' || stat(path, &state) != 0 || !S_ISREG(state.st_mode)) {
        return false;
    }
    return ends_with(name, ".bin") || ends_with(name, ".trace") || begins_as_text(path) ||
           (state.st_size == 0 && co_application_rank_by_name(path) >= 0); // said to be empty, not passed over
}

int co_application_files_add(struct co_application_files *files, const char *path)
{
    struct stat state;
    struct dirent **entries;
    if (stat(path, &state) != 0) {
        return -errno;
    }
    if (!S_ISDIR(state.st_mode)) {
        return add(files, path);
    }
    int found = scandir(path, &entries, NULL, alphasort), error = found < 0 ? -errno : 0;
    for (int i = 0; i < found; i++) {
        size_t room = strlen(path) + strlen(entries[i]->d_name) + 2;
        char *place = malloc(room);
        if (place == NULL) {
            error = -ENOMEM;
        } else {
            snprintf(place, room, "%s/%s", path, entries[i]->d_name);
            if (error == 0 && is_trace(place, entries[i]->d_name)) {
                error = add(files, place);
            }
        }
        free(place);
        free(entries[i]);
    }
    if (found >= 0) {
        free(entries);
    }
    return error;
}

void co_application_files_close(struct co_application_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files->paths);
    *files = (struct co_application_files){.paths = NULL};
}
