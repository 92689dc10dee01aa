// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a team's collective is taken, without trials: what was set, what one-sided calls add, and the table. Hot.
#include "base/settings.h"
#include "engine/collective/onesided_collective.h"
#include "engine/engine_state.h"

// For every collective without a verdict: the look into the table is part of it.
__attribute__((flatten)) enum co_reason
co_team_decide(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call, size_t bytes)
{
    int policy = engine->policy[call];
    // The table compares the other ways with stock.
    if (co_onesided_collective_is_for(engine->onesided, bytes) && policy == CO_AUTO && !co_call_is_nonblocking(call) &&
        co_onesided_collective_fits(facts)) {
        policy = CO_YES;
    }
    return co_decide(&engine->tune, facts, call, bytes, policy);
}

enum co_reason co_team_decide_as(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                                 enum co_call other, size_t bytes)
{
    return co_decide(&engine->tune, facts, other, bytes, engine->policy[call]);
}

bool co_team_decide_by_proxies(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                               enum co_call other, size_t bytes)
{
    return co_decide_by_proxies(&engine->tune, facts, other, bytes, engine->policy[call]);
}
