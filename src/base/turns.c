// SPDX-License-Identifier: BSD-3-Clause
//
// The one variable of turns.h.
#include "base/turns.h"

bool co_threads_take_turns;
