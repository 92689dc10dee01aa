// SPDX-License-Identifier: BSD-3-Clause
//
// Who makes tags of AES-256-GCM faster than libsodium does, on this processor. Start-up only.
#ifndef CASTOFF_BASE_AUTH_GMAC_H
#define CASTOFF_BASE_AUTH_GMAC_H

#include "base/gmac_module.h"

// The module if it is there, makes the same tags as libsodium and is faster at it here; else NULL. Found out once for a
// process; any thread. libsodium is initialized and has AES.
const struct co_gmac_module *co_gmac_find(void);

// Where the module lies, for tests; NULL: beside the library. What was found is forgotten.
void co_gmac_directory_set(const char *directory);

#endif
