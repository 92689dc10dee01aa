// SPDX-License-Identifier: BSD-3-Clause
//
// A list of cores as users write it: "0-3,7". Pure; any thread; set-up.
#ifndef CASTOFF_OFFLOAD_CORE_LIST_H
#define CASTOFF_OFFLOAD_CORE_LIST_H

#include "offload/offload_job.h"

// A bit for each; -EINVAL: no such list, or a core beyond 8 * CO_OFFLOAD_CORE_BYTES.
int co_offload_cores_parse(uint8_t cores[CO_OFFLOAD_CORE_BYTES], const char *text);

#endif
