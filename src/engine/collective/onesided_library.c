// SPDX-License-Identifier: BSD-3-Clause
//
// Finds each function by its name: programs that are no part of castoff use the same ones.
#include "engine/collective/onesided_library.h"

#include <errno.h>
#include <stdio.h>

#include "base/module.h"

int co_onesided_library_load(struct co_onesided_library *library, const char *directory, char *why, size_t why_room)
{
    static const char *const names[] = {"check",    "open_sender", "open_member", "write",
                                        "complete", "close",       "counts",      "why"};
    struct co_onesided_library found = {0};
    void **const places[] = {(void **)&found.check,  (void **)&found.open_sender, (void **)&found.open_member,
                             (void **)&found.write,  (void **)&found.complete,    (void **)&found.close,
                             (void **)&found.counts, (void **)&found.why};
    char symbol[64];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(symbol, sizeof symbol, "castoff_group_%s", names[i]);
        *places[i] = co_module_load(directory, CO_ONESIDED_LIBRARY_FILE, symbol, why, why_room);
        if (*places[i] == NULL) {
            return -ENOENT;
        }
    }
    *library = found;
    return 0;
}
