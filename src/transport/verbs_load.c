// SPDX-License-Identifier: BSD-3-Clause
//
// Finds out cheaply that there is no RDMA device, as on most hosts; only where there is one the module is loaded, with
// the libraries that it needs. Start-up, one thread.
#include <dirent.h>
#include <stdio.h>

#include "base/module.h"
#include "transport/verbs.h"

#define DEVICES "/sys/class/infiniband"

static bool has_device(void)
{
    DIR *directory = opendir(DEVICES);
    const struct dirent *entry;
    bool is_there = false;
    while (directory != NULL && !is_there && (entry = readdir(directory)) != NULL) {
        is_there = entry->d_name[0] != '.';
    }
    if (directory != NULL) {
        closedir(directory);
    }
    return is_there;
}

const struct co_verbs_module *co_verbs_load(char *why, size_t why_room)
{
    const struct co_verbs_module *(*find)(void) = NULL;
    if (!has_device()) {
        snprintf(why, why_room, "no RDMA device");
        return NULL;
    }
    *(void **)&find = co_module_load(NULL, CO_VERBS_MODULE_FILE, "co_verbs_module", why, why_room);
    const struct co_verbs_module *module = find != NULL ? find() : NULL;
    if (module != NULL && module->version != CO_VERBS_MODULE_VERSION) {
        snprintf(why, why_room, CO_VERBS_MODULE_FILE " is of another version");
        module = NULL;
    }
    return module;
}
