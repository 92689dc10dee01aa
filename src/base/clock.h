// SPDX-License-Identifier: BSD-3-Clause
//
// The only door to the clock. Protocol parts take now_ns as an argument and never call this; the engine, its
// transports, the counts of calls and the tools do. Any thread.
#ifndef CASTOFF_BASE_CLOCK_H
#define CASTOFF_BASE_CLOCK_H

#include <stdint.h>

#define CO_NS_PER_US UINT64_C(1000)
#define CO_NS_PER_MS UINT64_C(1000000)
#define CO_NS_PER_S UINT64_C(1000000000)

// Monotonic nanoseconds since an arbitrary start; never 0.
uint64_t co_clock_now_ns(void);

// How often this thread has lost its processor to another one that wanted it. What it slept for is not counted, nor
// a yield that nobody took. Not hot: a call into the kernel.
uint64_t co_clock_preemptions(void);

// Nanoseconds since 1970, for those who compare machines.
uint64_t co_clock_wall_ns(void);

#endif
