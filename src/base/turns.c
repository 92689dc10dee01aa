// SPDX-License-Identifier: BSD-3-Clause
//
// Whether threads take turns, for turns.h.
#include "base/turns.h"

bool co_threads_take_turns;
