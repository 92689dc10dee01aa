// SPDX-License-Identifier: BSD-3-Clause
//
// Races and verdicts of broadcasts. A machine that others use makes batches longer, of either way: so it is the
// shortest that count, but a way that is short at best and long on average has not won.
#include "engine/decide/meeting_classes.h"

#include <string.h>

#include "base/mix_bits.h"

#define LOST 1.05  // times as long: less is noise,
#define REGAINED 1 // and what is lost comes back at this ratio
#define CLEAR 1.5  // before the last round
#define NEXT_MOST UINT64_C(1024)

int co_meeting_classes_digest(const struct co_meeting_classes *classes)
{
    uint64_t digest = 0;
    for (int i = 0; i < CO_MEETING_CLASSES; i++) {
        digest = co_mix_bits(digest ^ (classes->of[i].calls << 1 | classes->of[i].is_lost));
    }
    return (int)(digest >> 33);
}

static bool is_due(const struct co_meeting_class *class)
{
    return class->calls >= CO_MEETING_WARM && class->calls / CO_MEETING_AGAIN >= class->tried_at;
}

uint64_t co_meeting_class_cost_ns(const struct co_meeting_class *class)
{
    if (class->cost_ns > 0) {
        return class->cost_ns;
    }
    uint64_t calls_ns = class->calls == 0 ? 0 : CO_MEETING_CALLS * (class->called_ns / class->calls);
    return calls_ns > CO_MEETING_COST_NS ? calls_ns : CO_MEETING_COST_NS;
}

// What has begun goes on until its verdict. Cheap ones first: what has one takes long to become due again, so the
// others have their turn.
static bool is_before(const struct co_meeting_class *one, const struct co_meeting_class *other)
{
    if ((one->rounds > 0) != (other->rounds > 0)) {
        return one->rounds > 0;
    }
    uint64_t one_ns = co_meeting_class_cost_ns(one), other_ns = co_meeting_class_cost_ns(other);
    return one_ns != other_ns ? one_ns < other_ns : one->calls - one->tried_at > other->calls - other->tried_at;
}

int co_meeting_classes_due(const struct co_meeting_classes *classes, uint32_t open)
{
    int due = -1;
    for (int i = 0; i < CO_MEETING_CLASSES; i++) {
        const struct co_meeting_class *class = &classes->of[i];
        if ((open >> i & 1) != 0 && is_due(class) && (due < 0 || is_before(class, &classes->of[due]))) {
            due = i;
        }
    }
    return due;
}

uint64_t co_meeting_classes_next(uint64_t calls)
{
    uint64_t more = calls / 2 < NEXT_MOST ? calls / 2 : NEXT_MOST;
    return calls + (more < CO_MEETING_WARM ? CO_MEETING_WARM : more);
}

void co_meeting_classes_add_time(struct co_meeting_class *class, enum co_meeting_way way, uint64_t ns)
{
    uint64_t *least = &class->times.least_ns[way];
    *least = *least == 0 || ns < *least ? ns : *least;
    class->times.sum_ns[way] += ns;
}

static double ratio_of(const uint64_t ns[CO_MEETING_WAYS])
{
    return ns[CO_MEETING_NATIVE] == 0 ? 0 : (double)ns[CO_MEETING_CASTOFF] / (double)ns[CO_MEETING_NATIVE];
}

double co_meeting_classes_ratio(const struct co_meeting_class *class)
{
    return ratio_of(class->times.least_ns);
}

bool co_meeting_classes_end_round(struct co_meeting_class *class)
{
    double at_best = ratio_of(class->times.least_ns), on_average = ratio_of(class->times.sum_ns);
    bool is_clear = (at_best > CLEAR && on_average > CLEAR) || (at_best < REGAINED && on_average < REGAINED);
    return ++class->rounds >= CO_MEETING_ROUNDS || is_clear;
}

bool co_meeting_classes_judge(struct co_meeting_class *class)
{
    bool is_lost = ratio_of(class->times.least_ns) > (class->is_lost ? REGAINED : LOST) &&
                   ratio_of(class->times.sum_ns) > REGAINED;
    memcpy(class->ns, class->times.least_ns, sizeof class->ns);
    return is_lost;
}

int64_t co_meeting_classes_gained_ns(const struct co_meeting_class *class)
{
    uint64_t calls = class->lost_calls + (class->is_lost ? class->calls - class->tried_at : 0);
    return (int64_t)calls * ((int64_t) class->ns[CO_MEETING_CASTOFF] - (int64_t) class->ns[CO_MEETING_NATIVE]);
}

void co_meeting_classes_settle(struct co_meeting_class *class, bool is_lost)
{
    class->changes += class->is_lost != is_lost;
    if (class->is_lost) {
        class->lost_calls += class->calls - class->tried_at;
    }
    class->is_lost = is_lost;
    class->first_at = class->first_at == 0 ? class->calls + 1 : class->first_at;
    class->tried_at = class->calls;
    class->rounds = 0;
    memset(&class->times, 0, sizeof class->times);
}
