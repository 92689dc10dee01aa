// SPDX-License-Identifier: BSD-3-Clause
//
// dlopen with a path of our own: modules are not in the search path of the loader.
#define _GNU_SOURCE // dladdr
#include "base/module.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

static const char anchor; // data, since ISO C has no way from a function to void *

const char *co_module_own_file(const void **base)
{
    Dl_info info;
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    if (base != NULL) {
        *base = info.dli_fbase;
    }
    return info.dli_fname;
}

static bool make_path(char path[PATH_BYTES], const char *directory, const char *file)
{
    const char *own = directory != NULL ? directory : co_module_own_file(NULL);
    const char *slash = own == NULL || directory != NULL ? NULL : strrchr(own, '/');
    int length = directory != NULL ? (int)strlen(directory) : slash != NULL ? (int)(slash - own) : 0;
    return length > 0 && snprintf(path, PATH_BYTES, "%.*s/%s", length, own, file) < PATH_BYTES;
}

void *co_module_load(const char *directory, const char *file, const char *symbol, char *why, size_t why_room)
{
    char path[PATH_BYTES];
    if (!make_path(path, directory, file)) {
        snprintf(why, why_room, "the place of the library is unknown");
        return NULL;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        const char *error = dlerror();
        snprintf(why, why_room, "%s", error != NULL ? error : "the module cannot be loaded");
        return NULL;
    }
    void *found = dlsym(handle, symbol);
    if (found == NULL) {
        snprintf(why, why_room, "%s is of another version", file);
        dlclose(handle);
    }
    return found;
}
