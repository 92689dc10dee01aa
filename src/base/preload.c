// SPDX-License-Identifier: BSD-3-Clause
//
// ld.so(8). Cold.
#include "base/preload.h"

#include <stddef.h>
#include <string.h>

static size_t folder_bytes(const char *path, size_t bytes)
{
    while (bytes > 0 && path[bytes - 1] != '/') {
        bytes--;
    }
    return bytes;
}

bool co_preload_names(const char *preloads, const char *library)
{
    static const char separators[] = " :";
    size_t wanted = strlen(library);
    bool is_path = strchr(library, '/') != NULL;
    for (const char *at = preloads; at != NULL && *at != '\0';) {
        size_t bytes = strcspn(at, separators), skipped = is_path ? 0 : folder_bytes(at, bytes);
        if (bytes - skipped == wanted && memcmp(at + skipped, library, wanted) == 0) {
            return true;
        }
        at += bytes;
        at += strspn(at, separators);
    }
    return false;
}
