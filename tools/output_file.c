// SPDX-License-Identifier: BSD-3-Clause
//
// Opens, tries and closes the files of results.
#include "output_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

bool co_output_is_piped(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

int co_output_check(const char *path)
{
    if (!path || co_output_is_piped(path)) {
        return 0;
    }
    bool is_new = access(path, F_OK) != 0;
    FILE *file = fopen(path, "a");
    if (!file) {
        return -errno;
    }
    fclose(file);
    if (is_new) {
        unlink(path);
    }
    return 0;
}

FILE *co_output_open(const char *path)
{
    return co_output_is_piped(path) ? stdout : fopen(path, "w");
}

int co_output_close(FILE *file)
{
    int is_broken = ferror(file);
    return (file == stdout ? fflush(file) : fclose(file)) || is_broken ? -EIO : 0;
}
