// SPDX-License-Identifier: BSD-3-Clause
//
// The race of a class on trial (adapt.h). Private to src/engine/decide.
#ifndef CASTOFF_ENGINE_DECIDE_ADAPT_RACE_H
#define CASTOFF_ENGINE_DECIDE_ADAPT_RACE_H

#include "engine/decide/adapt.h"

// The way of the next trial.
enum co_adapt_way co_adapt_race_next(const struct co_adapt_class *of);

// A trial of `way` took so long, of all members the longest; one of them lost its processor meanwhile, or none. Fills
// in what `step` says of verdicts and charges.
void co_adapt_race_take(struct co_adapt_class *of, enum co_adapt_way way, uint64_t ns, bool is_disturbed,
                        uint64_t left_ns, struct co_adapt_step *step);

#endif
