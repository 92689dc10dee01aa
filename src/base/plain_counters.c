// SPDX-License-Identifier: BSD-3-Clause
//
// The one variable of plain_counters.h.
#include "base/plain_counters.h"

bool co_threads_take_turns;
