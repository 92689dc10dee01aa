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

static const char separators[] = " :";

// Of the word at `at`, of so many bytes.
static bool is_named(const char *at, size_t bytes, const char *library)
{
    size_t wanted = strlen(library), skipped = strchr(library, '/') != NULL ? 0 : folder_bytes(at, bytes);
    return bytes - skipped == wanted && memcmp(at + skipped, library, wanted) == 0;
}

bool co_preload_names(const char *preloads, const char *library)
{
    for (const char *at = preloads; at != NULL && *at != '\0';) {
        size_t bytes = strcspn(at, separators);
        if (is_named(at, bytes, library)) {
            return true;
        }
        at += bytes;
        at += strspn(at, separators);
    }
    return false;
}

bool co_preload_leave_out(char *preloads, const char *library)
{
    bool found = false;
    for (char *at = preloads; *at != '\0';) {
        size_t bytes = strcspn(at, separators), whole = bytes + strspn(at + bytes, separators);
        if (is_named(at, bytes, library)) {
            memmove(at, at + whole, strlen(at + whole) + 1);
            found = true;
        } else {
            at += whole;
        }
    }
    return found;
}

bool co_preload_has_valgrind(const char *preloads, const char *tool)
{
    static const char before[] = "/vgpreload_";
    size_t bytes = strlen(tool);
    const char *at = preloads == NULL ? NULL : strstr(preloads, before);

    for (; at != NULL; at = strstr(at, before)) {
        at += sizeof before - 1;
        if (strncmp(at, tool, bytes) == 0 && at[bytes] == '-') {
            return true;
        }
    }
    return false;
}
