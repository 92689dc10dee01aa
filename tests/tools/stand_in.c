// SPDX-License-Identifier: BSD-3-Clause
//
// Stands in for libcastoff.so in the tests of the castoff command: notes the name of each process that it is loaded
// into, so that a test sees whom the preload reached.
#define _GNU_SOURCE // program_invocation_short_name
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((constructor)) static void note(void)
{
    const char *path = getenv("TOOL_TEST_NOTES");
    char line[300];
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd >= 0) {
        int bytes = snprintf(line, sizeof line, "%.200s\n", program_invocation_short_name);
        if (write(fd, line, (size_t)bytes) != bytes) {
            abort();
        }
        close(fd);
    }
}
