// SPDX-License-Identifier: BSD-3-Clause
//
// Any bytes as a program that `castoff run` is to start: looked at, and never followed out of the file.
#define _GNU_SOURCE // memfd_create
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/launch/needed.h"
#include "tools/launch/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const names[] = {"libmpi.so.40", "libmpi.so.12", NULL};
    char path[64];
    int file = memfd_create("program", MFD_CLOEXEC);
    if (file < 0 || write(file, data, bytes) != (ssize_t)bytes) {
        abort();
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    (void)co_needed_has(path, names);
    (void)co_program_look(path);
    close(file);
    return 0;
}
