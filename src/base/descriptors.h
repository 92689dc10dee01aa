// SPDX-License-Identifier: BSD-3-Clause
//
// How many files this process may still open: who takes the last descriptors breaks others who need one later.
#ifndef CASTOFF_BASE_DESCRIPTORS_H
#define CASTOFF_BASE_DESCRIPTORS_H

// Counted up to `wanted`; opens none itself. Any thread, but what others open meanwhile is not in it.
int co_descriptors_left(int wanted);
// The limit of this process (ulimit -n), for messages; INT_MAX: none.
int co_descriptors_limit(void);

#endif
