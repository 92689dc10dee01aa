// SPDX-License-Identifier: BSD-3-Clause
//
// tar lists, and what it lists is looked at before it unpacks: files and folders only, below the directory, so that no
// name leads anywhere else, and no more of them than there is room for. Both times tar reads the file that was opened
// here, whatever has taken its name since. An archive's own folders are gone through to the first that holds more than
// one thing. libarchive would parse hostile bytes of a dozen formats and filters in this process, and would leave the
// same three questions, what a thing is, where its name leads and how much it is, to us.
#include "trace_archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tools/launch/child.h"
#include "tools/launch/command.h"
#include "tools/output/scratch.h"

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

#define FILES_MOST (1U << 20)

// What an archive holds, by its listing: a line for each thing, which begins with its kind and has its name in quotes.
struct listing {
    char line[4 * PATH_MAX + 256]; // its beginning; no longer name can be unpacked
    size_t length;
    unsigned files;
    uint64_t bytes;
    char refused[256]; // why, by the first line that is not to be unpacked
};

// Quotes and unprintable characters are escaped, dots and slashes are not. Nothing before the name has a quote.
static bool leads_outside(const char *line)
{
    const char *part = strchr(line, '"');
    if (part == NULL || *++part == '/') {
        return true;
    }
    for (; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '"')) {
            return true;
        }
    }
    return false;
}

static const char *refusal(const struct listing *listing)
{
    if (listing->line[0] != '-' && listing->line[0] != 'd') {
        return "it holds what is neither file nor folder";
    }
    if (listing->length + 1 == sizeof listing->line) {
        return "it holds a name that is too long";
    }
    return leads_outside(listing->line) ? "it holds a name that leads outside" : NULL;
}

static void take_line(struct listing *listing)
{
    unsigned long long bytes = 0;
    listing->line[listing->length] = '\0';
    const char *why = refusal(listing);
    if (why != NULL && listing->refused[0] == '\0') {
        snprintf(listing->refused, sizeof listing->refused, "%s: %.200s", why,
                 listing->length == 0 ? "?" : listing->line);
    }
    if (listing->line[0] == '-' && sscanf(listing->line, "%*s %*s %llu", &bytes) == 1) {
        listing->bytes = listing->bytes + bytes < bytes ? UINT64_MAX : listing->bytes + bytes;
    }
    listing->files++;
    listing->length = 0;
}

static void take_listing(void *arg, const char *bytes, size_t count)
{
    struct listing *listing = arg;
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\n') {
            take_line(listing);
        } else if (listing->length + 1 < sizeof listing->line) {
            listing->line[listing->length++] = bytes[i];
        }
    }
}

static int refuse(const char *archive, const char *why)
{
    co_command_complain(&co_command_trace, "%s is not unpacked: %s", archive, why);
    return -EINVAL;
}

// A name with a colon is a name and no host; what users or programs of this machine have set for tar does not count. A
// signal that tar had to end by ends us, as it does while no tar runs; then the directory is removed (scratch.c).
static int run_tar(char *const *argv, co_child_output_fn output, void *arg)
{
    struct co_child_result result = {.status = 0};
    unsetenv("TAR_OPTIONS");
    int error = co_child_run(&result, argv, output, NULL, arg);
    if (result.interrupted != 0) {
        raise(result.interrupted);
    }
    return error != 0 ? error : result.status != 0 ? -EINVAL : 0;
}

// `file` is the archive for tar, as in unpack_file.
static int check(const char *archive, const char *file, const char *directory)
{
    char *argv[] = {"tar",
                    "--list",
                    "--verbose",
                    "--numeric-owner",
                    "--quoting-style=c",
                    "--absolute-names", // shown as they are
                    "--force-local",
                    "--file",
                    (char *)(uintptr_t)file,
                    NULL};
    struct listing *listing = calloc(1, sizeof *listing);
    struct statvfs place;
    int error = listing == NULL ? -ENOMEM : run_tar(argv, take_listing, listing);
    char why[400] = "";
    if (error == 0 && listing->refused[0] != '\0') {
        snprintf(why, sizeof why, "%s", listing->refused);
    } else if (error == 0 && listing->files > FILES_MOST) {
        snprintf(why, sizeof why, "it holds %u files, more than %u", listing->files, FILES_MOST);
    } else if (error == 0 && statvfs(directory, &place) == 0 && listing->bytes / place.f_frsize >= place.f_bavail / 2) {
        snprintf(why, sizeof why, "its %" PRIu64 " bytes are more than half of what is free in %s", listing->bytes,
                 co_scratch_place());
    }
    free(listing);
    return why[0] != '\0' ? refuse(archive, why) : error != 0 ? refuse(archive, "tar cannot read it") : 0;
}

static void drop_output(void *arg, const char *bytes, size_t count)
{
    (void)arg;
    (void)bytes;
    (void)count;
}

static int unpack_file(const char *archive, const char *file, const char *directory)
{
    char *argv[] = {"tar",
                    "--extract",
                    "--no-same-owner",
                    "--no-same-permissions",
                    "--force-local",
                    "--file",
                    (char *)(uintptr_t)file,
                    "--directory",
                    (char *)(uintptr_t)directory,
                    NULL};
    int error = check(archive, file, directory);
    if (error == 0 && (error = run_tar(argv, drop_output, NULL)) != 0) {
        refuse(archive, "tar cannot read it");
    }
    return error;
}

// A descriptor that tar inherits, or -errno. The user may have named a link; a pipe would be waited for.
static int open_archive(const char *archive)
{
    struct stat state;
    int file = open(archive, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = file < 0 ? -errno : 0;
    if (file >= 0 && (fstat(file, &state) != 0 || !S_ISREG(state.st_mode))) {
        error = -EINVAL;
    }
    int inherited = error != 0 ? error : fcntl(file, F_DUPFD, STDERR_FILENO + 1); // the first three are tar's own
    error = error == 0 && inherited < 0 ? -errno : error;
    if (file >= 0) {
        close(file);
    }
    return error != 0 ? error : inherited;
}

static int unpack(const char *archive, const char *directory)
{
    char name[32];
    if (mkdir(directory, 0700) != 0) {
        int error = -errno;
        co_command_complain(&co_command_trace, "%s: %s", directory, strerror(-error));
        return error;
    }
    int file = open_archive(archive);
    if (file < 0) {
        return refuse(archive, strerror(-file));
    }
    snprintf(name, sizeof name, "/dev/fd/%d", file); // opened by tar, it begins at its start each time
    int error = unpack_file(archive, name, directory);
    close(file);
    return error;
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
