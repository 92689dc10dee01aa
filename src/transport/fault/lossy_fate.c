// SPDX-License-Identifier: BSD-3-Clause
//
// The dice of the fault injector. Speed matters little, sameness does: the fate of a datagram is a hash of the seed and
// its number, so a datagram that found no room meets the same fate when it is offered again.
#include "transport/fault/lossy_fate.h"

#include "base/mix_bits.h"

// The draws for one datagram, each from its own stream so that one rate does not shift the others.
enum draw { DRAW_DROP, DRAW_DUPLICATE, DRAW_REORDER, DRAW_DELAY, DRAW_CORRUPT, DRAW_TRUNCATE, DRAW_WHERE, DRAW_COUNT };

struct dice {
    uint64_t seed, number;
};

static uint64_t draw_bits(const struct dice *dice, enum draw draw)
{
    return co_mix_bits(dice->seed + co_mix_bits(dice->number * DRAW_COUNT + (uint64_t)draw + 1));
}

static bool draw_hits(const struct dice *dice, enum draw draw, double rate)
{
    return rate > 0 && (double)(draw_bits(dice, draw) >> 11) * 0x1p-53 < rate;
}

static bool script_names(const struct co_fault_plan *plan, uint64_t number)
{
    for (unsigned i = 0; i < plan->script_count; i++) {
        if (plan->script[i] == number) {
            return true;
        }
    }
    return false;
}

struct co_lossy_fate co_lossy_fate(const struct co_fault_plan *plan, uint64_t seed, const struct co_lossy_count *sent,
                                   struct co_destination to, enum co_fault_kind kind)
{
    const struct dice dice = {seed, sent->all};
    struct co_lossy_fate fate = {0};
    if (to.kind == CO_TO_GROUP && plan->blackhole && sent->to_groups >= plan->blackhole_after) {
        fate.dropped = true;
    }
    if (kind == CO_FAULT_DATA && script_names(plan, sent->data)) {
        fate.dropped = true;
    }
    if (!(kind & plan->kinds) || fate.dropped) {
        return fate;
    }
    fate.dropped = draw_hits(&dice, DRAW_DROP, plan->drop);
    fate.duplicated = draw_hits(&dice, DRAW_DUPLICATE, plan->duplicate);
    fate.corrupted = draw_hits(&dice, DRAW_CORRUPT, plan->corrupt);
    fate.truncated = draw_hits(&dice, DRAW_TRUNCATE, plan->truncate);
    fate.where = draw_bits(&dice, DRAW_WHERE);
    if (draw_hits(&dice, DRAW_DELAY, plan->delay)) {
        fate.hold_ns = plan->delay_ns;
    } else if (draw_hits(&dice, DRAW_REORDER, plan->reorder)) {
        fate.hold_ns = 1 + fate.where % (plan->delay_ns ? plan->delay_ns : 1);
    }
    return fate;
}

bool co_lossy_misses(const struct co_fault_plan *plan, uint64_t seed, uint64_t arrived, enum co_fault_kind kind)
{
    const struct dice dice = {seed, arrived};
    return (kind & plan->kinds) && draw_hits(&dice, DRAW_DROP, plan->miss);
}

struct co_fault_plan co_lossy_plan_for(const struct co_fault_plan *plan, int rank)
{
    struct co_fault_plan mine = *plan;
    if (plan->victim >= 0 && plan->victim != rank) {
        mine = (struct co_fault_plan){.kinds = CO_FAULT_ALL, .victim = plan->victim};
    }
    return mine;
}
