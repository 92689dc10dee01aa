// SPDX-License-Identifier: BSD-3-Clause
//
// Loads libcastoff-group.so from beside libcastoff.so.
#define _GNU_SOURCE
#include "group_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "places.h"

int co_group_library_load(struct co_group_library *library, char *why, size_t why_room)
{
    static const char *const names[] = {"open_sender", "open_member", "write", "complete", "close", "counts", "why"};
    void **const places[] = {(void **)&library->open_sender, (void **)&library->open_member, (void **)&library->write,
                             (void **)&library->complete,    (void **)&library->close,       (void **)&library->counts,
                             (void **)&library->why};
    char path[PATH_MAX], name[64];
    if (co_places_group_library(path) != 0) {
        snprintf(why, why_room, "libcastoff-group.so is neither beside the castoff command nor in ../lib");
        return -ENOENT;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        snprintf(why, why_room, "%s", dlerror());
        return -ENOENT;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(name, sizeof name, "castoff_group_%s", names[i]);
        *places[i] = dlsym(handle, name);
        if (*places[i] == NULL) {
            snprintf(why, why_room, "%s is of another version", path);
            return -ENOENT;
        }
    }
    return 0;
}
