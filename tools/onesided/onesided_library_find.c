// SPDX-License-Identifier: BSD-3-Clause
//
// Loads libcastoff-group.so from beside libcastoff.so.
#include "onesided_library_find.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tools/launch/places.h"

int co_onesided_library_find(struct co_onesided_library *library, char *why, size_t why_room)
{
    char path[PATH_MAX];
    if (co_places_group_library(path) != 0) {
        snprintf(why, why_room, "libcastoff-group.so is neither beside the castoff command nor in ../lib");
        return -ENOENT;
    }
    *strrchr(path, '/') = '\0';
    return co_onesided_library_load(library, path, why, why_room);
}
