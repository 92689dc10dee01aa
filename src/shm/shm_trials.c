// SPDX-License-Identifier: BSD-3-Clause
//
// The trials of shm_trials.h.
#include "shm/shm_trials.h"

#define MUST_WIN_PARTS 32 // by more than a part of so many

static unsigned class_of(size_t bytes)
{
    unsigned class = 0;
    while (class + 1 < CO_SHM_TRIAL_CLASSES && bytes >= CO_SHM_TRIAL_LEAST << (class + 1)) {
        class ++;
    }
    return class;
}

static uint8_t other(unsigned way)
{
    return way == CO_SHM_BY_RING ? CO_SHM_STRAIGHT : CO_SHM_BY_RING;
}

// After the last turn. The rests grow, so that what trials cost becomes less and less.
static void rest(struct co_shm_trial_class *class)
{
    unsigned longer = class->rest == 0 ? CO_SHM_TRIAL_REST_LEAST : 2u * class->rest;
    class->rest = (uint16_t)(longer < CO_SHM_TRIAL_REST_MOST ? longer : CO_SHM_TRIAL_REST_MOST);
    class->left = class->rest;
}

// Whether this call of the class is one of a trial.
static bool is_turn(struct co_shm_trials *trials, unsigned index)
{
    struct co_shm_trial_class *class = &trials->classes[index];
    if (trials->turns > 0 && trials->tried == index) {
        trials->waited = 0;
        return true;
    }
    if (class->left > 0) {
        class->left--;
        return false;
    }
    if (trials->turns > 0 && ++trials->waited < CO_SHM_TRIAL_WAITS) {
        return false;
    }
    trials->tried = (uint8_t)index;
    trials->turns = trials->waited = 0;
    return true;
}

enum co_shm_copy co_shm_trials_next(struct co_shm_trials *trials, size_t bytes, enum co_shm_copy guess)
{
    unsigned index = class_of(bytes);
    struct co_shm_trial_class *class = &trials->classes[index];
    struct co_shm_trial_call *now = &trials->now;

    if (!class->is_known) {
        *class = (struct co_shm_trial_class){.left = CO_SHM_TRIAL_FIRST, .way = (uint8_t)guess, .is_known = true};
    }
    *now = (struct co_shm_trial_call){.class = (uint8_t)index, .way = class->way};
    if (is_turn(trials, index)) {
        now->turn = ++trials->turns;
        now->way = now->turn <= CO_SHM_TRIAL_TURNS / 2 ? class->way : other(class->way);
        if (now->turn == CO_SHM_TRIAL_TURNS) {
            rest(class);
            trials->turns = 0;
        }
    }
    return (enum co_shm_copy)now->way;
}

static void judge(const struct co_shm_trials *trials, struct co_shm_trial_class *class)
{
    uint64_t of_now = trials->least_ns[class->way], of_other = trials->least_ns[other(class->way)];

    if (of_other + of_other / MUST_WIN_PARTS < of_now) {
        class->way = other(class->way);
        class->rest = class->left = CO_SHM_TRIAL_REST_LEAST;
    }
}

void co_shm_trials_took(struct co_shm_trials *trials, uint64_t before_ns)
{
    struct co_shm_trial_call call = trials->before;
    struct co_shm_trial_class *class = &trials->classes[call.class];

    trials->before = trials->now;
    if (call.turn == 0 || before_ns == 0) {
        return;
    }
    uint32_t took_ns = before_ns < UINT32_MAX ? (uint32_t)before_ns : UINT32_MAX;
    if (call.turn == 1) {
        trials->least_ns[CO_SHM_BY_RING] = trials->least_ns[CO_SHM_STRAIGHT] = UINT32_MAX;
    }
    trials->least_ns[call.way] = took_ns < trials->least_ns[call.way] ? took_ns : trials->least_ns[call.way];
    if (call.turn == CO_SHM_TRIAL_TURNS) {
        judge(trials, class);
    }
}
