// SPDX-License-Identifier: BSD-3-Clause
//
// libcastoff-group.so, loaded when it is needed: neither libcastoff.so nor the castoff command needs libibverbs.
// Start-up, cold.
#ifndef CASTOFF_ENGINE_COLLECTIVE_ONESIDED_LIBRARY_H
#define CASTOFF_ENGINE_COLLECTIVE_ONESIDED_LIBRARY_H

#include "onesided/group/castoff_group.h"

#define CO_ONESIDED_LIBRARY_FILE "libcastoff-group.so"

// The functions of castoff_group.h.
struct co_onesided_library {
    int (*check)(const struct castoff_group_options *);
    int (*open_sender)(struct castoff_group **, const struct castoff_group_options *, const void *, size_t);
    int (*open_member)(struct castoff_group **, const struct castoff_group_options *, void *, size_t);
    int (*write)(struct castoff_group *, size_t, size_t);
    int (*complete)(struct castoff_group *);
    int (*close)(struct castoff_group *);
    void (*counts)(const struct castoff_group *, struct castoff_group_counts *);
    const char *(*why)(void);
};

// From `directory` (NULL: beside this library). It stays loaded. 0, or -ENOENT and `why`.
int co_onesided_library_load(struct co_onesided_library *library, const char *directory, char *why, size_t why_room);

#endif
