// SPDX-License-Identifier: BSD-3-Clause
//
// libcastoff-group.so as the castoff command finds it: beside itself, or where it is installed. Cold.
#ifndef CASTOFF_TOOLS_ONESIDED_ONESIDED_LIBRARY_FIND_H
#define CASTOFF_TOOLS_ONESIDED_ONESIDED_LIBRARY_FIND_H

#include "engine/collective/onesided_library.h"

// -ENOENT, and `why`.
int co_onesided_library_find(struct co_onesided_library *library, char *why, size_t why_room);

#endif
