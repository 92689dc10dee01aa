// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the file of a tune table, whose text tune_parse.c takes. Set-up only; any thread.
#include "engine/decide/tune_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 18 };

// Whole content of a file of at most FILE_BYTES_MAX bytes into `text`; returns how many, or -errno.
static ssize_t read_whole(const char *path, char *text)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a fifo must not hold the job up
    if (fd < 0) {
        return -errno;
    }
    struct stat file;
    if (fstat(fd, &file) == 0 && S_ISFIFO(file.st_mode)) { // with no writer yet it would pass for an empty table
        close(fd);
        return -ESPIPE;
    }
    size_t used = 0;
    ssize_t got;
    do {
        got = read(fd, text + used, FILE_BYTES_MAX + 1 - used);
        used += got > 0 ? (size_t)got : 0;
    } while ((got > 0 && used <= FILE_BYTES_MAX) || (got < 0 && errno == EINTR));
    ssize_t result = got < 0 ? -errno : (ssize_t)used;
    close(fd);
    return used > FILE_BYTES_MAX ? -EFBIG : result;
}

int co_tune_table_load(struct co_tune_table *table, const char *path, char *why, size_t why_room)
{
    char *text = malloc(FILE_BYTES_MAX + 1);
    if (!text) {
        snprintf(why, why_room, "out of memory");
        return -ENOMEM;
    }
    ssize_t bytes = read_whole(path, text);
    int result = (int)bytes;
    if (bytes < 0) {
        snprintf(why, why_room, "%s: %s", path, bytes == -ESPIPE ? "a pipe, no file" : strerror((int)-bytes));
    } else {
        char cause[160];
        result = co_tune_table_parse(table, text, (size_t)bytes, cause, sizeof cause);
        if (result) {
            snprintf(why, why_room, "%s: %s", path, cause);
        }
    }
    free(text);
    return result;
}
