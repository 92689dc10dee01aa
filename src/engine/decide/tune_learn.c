// SPDX-License-Identifier: BSD-3-Clause
//
// Puts what a job has learnt into the file of a tune table, for the next one. The file is written anew beside it and
// put in its place, so that a reader sees a whole one, under a lock on its folder, so that jobs that end together on
// one host lose nothing; hosts that share the folder are not kept apart (NFS has no such lock of folders). What stands
// there is read only from a plain file of the user's own: a link, or somebody else's file, is neither followed nor
// believed. Once, at the end of a job; one thread.
#define _GNU_SOURCE
#include "engine/decide/tune_table.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/descriptors.h"

enum { LOCK_TRIES = 100, LOCK_PAUSE_NS = 10000000 }; // a second for others, who need a moment

#define TEXT_MAX ((size_t)(CO_TUNE_ROWS_MAX + 8) * CO_TUNE_ROW_TEXT_MAX) // the head is shorter than eight rows

static int lock_folder(const char *path)
{
    char name[PATH_MAX];
    snprintf(name, sizeof name, "%s", path);
    int folder = open(dirname(name), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder < 0 ? errno : EWOULDBLOCK;
    for (int i = 0; error == EWOULDBLOCK && i < LOCK_TRIES; i++) {
        error = flock(folder, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        if (error == EWOULDBLOCK) {
            nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_NS}, NULL);
        }
    }
    if (error != 0 && folder >= 0) {
        close(folder);
    }
    return error == 0 ? folder : -error;
}

// Whether what stands there may be read: 1, 0 (nothing does) or -errno. *mode is the file's.
static int look_at(const char *path, mode_t *mode)
{
    struct stat file;
    if (lstat(path, &file) != 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    *mode = file.st_mode & 0777;
    return !S_ISREG(file.st_mode) ? -EMLINK : file.st_uid != geteuid() ? -EPERM : 1;
}

static bool is_about_the_same(const struct co_tune_row *a, const struct co_tune_row *b)
{
    return a->call == b->call && a->where == b->where && a->ranks_min == b->ranks_min && a->ranks_max == b->ranks_max &&
           a->per_node_min == b->per_node_min && a->per_node_max == b->per_node_max && a->transport == b->transport &&
           a->bytes_min == b->bytes_min && a->bytes_max == b->bytes_max;
}

// The new rows first; of the old ones those about anything else.
static void merge(struct co_tune_table *table, const struct co_tune_row *rows, unsigned count)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < table->count; i++) {
        bool is_new = false;
        for (unsigned k = 0; k < count && !is_new; k++) {
            is_new = is_about_the_same(&table->rows[i], &rows[k]);
        }
        if (!is_new) {
            table->rows[kept++] = table->rows[i];
        }
    }
    count = count < CO_TUNE_ROWS_MAX ? count : CO_TUNE_ROWS_MAX;
    kept = kept < CO_TUNE_ROWS_MAX - count ? kept : CO_TUNE_ROWS_MAX - count; // the oldest go
    memmove(&table->rows[count], table->rows, kept * sizeof table->rows[0]);
    memcpy(table->rows, rows, count * sizeof table->rows[0]);
    table->count = kept + count;
}

static int write_file(const struct co_tune_table *table, const char *path, mode_t mode)
{
    char name[PATH_MAX];
    int length = snprintf(name, sizeof name, "%s.XXXXXX", path);
    char *text = malloc(TEXT_MAX);
    int descriptor = length < (int)sizeof name && text != NULL ? mkostemp(name, O_CLOEXEC) : -1; // new, and ours alone
    if (descriptor < 0) {
        int error = text == NULL ? ENOMEM : length < (int)sizeof name ? errno : ENAMETOOLONG;
        free(text);
        return -error;
    }
    int used = snprintf(text, TEXT_MAX, "# Learnt by jobs (CASTOFF_TUNE_LEARN).\n%s", co_tune_table_head);
    co_tune_table_print(table, text + used, TEXT_MAX - (size_t)used);
    int error = -co_descriptor_write(descriptor, text, strlen(text));
    error = error == 0 && fchmod(descriptor, mode) != 0 ? errno : error;
    error = close(descriptor) != 0 && error == 0 ? errno : error;
    error = error == 0 && rename(name, path) != 0 ? errno : error;
    if (error != 0) {
        unlink(name);
    }
    free(text);
    return -error;
}

int co_tune_table_learn(const char *path, const struct co_tune_row *rows, unsigned count, char *why, size_t why_room)
{
    struct co_tune_table *table = calloc(1, sizeof *table);
    mode_t mode = 0600;
    int folder = table == NULL ? -ENOMEM : lock_folder(path);
    int status = folder < 0 ? folder : look_at(path, &mode);
    snprintf(why, why_room, "%s: %s", path, status == -EMLINK ? "no plain file" : strerror(status < 0 ? -status : 0));
    if (status == 1) {
        status = co_tune_table_load(table, path, why, why_room);
    }
    if (status == 0) {
        merge(table, rows, count);
        status = write_file(table, path, mode);
        snprintf(why, why_room, "%s: %s", path, strerror(-status));
    }
    if (folder >= 0) {
        close(folder); // and with it the lock
    }
    free(table);
    return status;
}
