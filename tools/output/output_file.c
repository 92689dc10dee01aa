// SPDX-License-Identifier: BSD-3-Clause
//
// Opens, tries and closes the files of results.
#include "output_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
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

int co_output_check_directory(const char *path)
{
    struct stat state;
    if (!path || mkdir(path, 0777) == 0) {
        return 0;
    }
    if (errno != EEXIST || stat(path, &state) != 0) {
        return -errno;
    }
    return !S_ISDIR(state.st_mode) ? -ENOTDIR : access(path, W_OK | X_OK) != 0 ? -errno : 0;
}

FILE *co_output_open(const char *path)
{
    return co_output_is_piped(path) ? stdout : fopen(path, "w");
}

int co_output_error(FILE *file)
{
    if (ferror(file) == 0) {
        return 0;
    }
    return write(fileno(file), "\n", 1) < 0 && errno > 0 ? -errno : -EIO;
}

int co_output_close(FILE *file)
{
    int error = co_output_error(file);
    if ((file == stdout ? fflush(file) : fclose(file)) != 0 && error == 0) {
        return errno > 0 ? -errno : -EIO;
    }
    return error;
}
