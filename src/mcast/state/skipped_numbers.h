// SPDX-License-Identifier: BSD-3-Clause
//
// Private to src/mcast. Numbers of a group that were taken by collectives which this member let go another way
// (skipped_numbers.c). By the holder of the endpoint.
#ifndef CASTOFF_MCAST_STATE_SKIPPED_NUMBERS_H
#define CASTOFF_MCAST_STATE_SKIPPED_NUMBERS_H

#include "mcast/state/group.h"

// Whether the operation with that number is none here, and never will be. False where that is not known.
bool co_skipped_numbers_have(const struct co_mcast_group *group, uint32_t number);

#endif
