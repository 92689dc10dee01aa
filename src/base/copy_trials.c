// SPDX-License-Identifier: BSD-3-Clause
//
// The trials of copy_trials.h.
#include "base/copy_trials.h"

#define MUST_WIN_PARTS 32 // by more than a part of so many
#define HOPELESS_PARTS 4  // behind by more than one of so many

unsigned co_trial_class(size_t bytes, size_t least)
{
    unsigned class = 0;
    while (class + 1 < CO_COPY_TRIAL_CLASSES && bytes >= least << (class + 1)) {
        class ++;
    }
    return class;
}

static enum co_copy_path other(unsigned path)
{
    return path == CO_COPY_BY_RING ? CO_COPY_STRAIGHT : CO_COPY_BY_RING;
}

static void rest_for(struct co_copy_class *class, unsigned copies)
{
    unsigned left = class->left + copies;
    class->left = (uint16_t)(left < UINT16_MAX ? left : UINT16_MAX);
}

// Rests grow, so that what trials cost becomes less and less.
static void rest(struct co_copy_trials *trials)
{
    struct co_copy_class *class = &trials->classes[trials->tried];
    unsigned copies = (unsigned)CO_COPY_TRIAL_REST_LEAST << class->rests;
    class->rests += copies < CO_COPY_TRIAL_REST_MOST;
    rest_for(class, copies);
    trials->is_on = false;
}

static void begin(struct co_copy_trials *trials, unsigned class)
{
    trials->is_on = true;
    trials->tried = (uint8_t) class;
    trials->waited = trials->strays = 0;
    for (unsigned path = 0; path < CO_COPY_PATHS; path++) {
        trials->times[path] = 0;
        trials->least_ns[path] = UINT32_MAX;
    }
}

// What is used no more in the middle of its trial must not keep others waiting.
static void wait_for_time(struct co_copy_trials *trials)
{
    if (trials->is_on && ++trials->waited >= CO_COPY_TRIAL_WAITS) {
        rest(trials);
    }
}

enum co_copy_path co_trial_path(const struct co_copy_trials *trials, unsigned class)
{
    enum co_copy_path now = (enum co_copy_path)trials->classes[class].path;
    bool has_times = co_trial_wants(trials, class) && trials->times[now] == CO_COPY_TRIAL_TIMES;
    return has_times ? other(now) : now;
}

enum co_copy_path co_trial_next(struct co_copy_trials *trials, unsigned class, enum co_copy_path guess)
{
    struct co_copy_class *its = &trials->classes[class];

    if (!its->is_known) {
        *its = (struct co_copy_class){.left = CO_COPY_TRIAL_FIRST, .path = guess & 1, .is_known = true};
    }
    wait_for_time(trials);
    if (co_trial_wants(trials, class)) {
        return co_trial_path(trials, class);
    }
    if (its->left > 0) {
        its->left--;
    } else if (!trials->is_on) {
        begin(trials, class);
    }
    return (enum co_copy_path)its->path;
}

void co_trial_went(struct co_copy_trials *trials, unsigned class, enum co_copy_path path)
{
    if (path == trials->classes[class].path) {
        return;
    }
    if (co_trial_wants(trials, class) && trials->strays < CO_COPY_TRIAL_TIMES) {
        trials->strays++;
    } else {
        rest_for(&trials->classes[class], CO_COPY_TRIAL_PRICE);
    }
}

void co_trial_refused(struct co_copy_trials *trials, unsigned class, enum co_copy_path path)
{
    trials->is_on = trials->is_on && trials->tried != class;
    trials->classes[class].path = other(path) & 1;
    trials->classes[class].left = UINT16_MAX;
}

static void judge(struct co_copy_trials *trials)
{
    struct co_copy_class *class = &trials->classes[trials->tried];
    uint64_t of_now = trials->least_ns[class->path], of_other = trials->least_ns[other(class->path)];

    rest(trials);
    if (of_other + of_other / MUST_WIN_PARTS < of_now) {
        class->path = other(class->path) & 1;
        class->rests = 0;
        class->left = CO_COPY_TRIAL_REST_LEAST;
    }
}

static bool is_hopeless(const struct co_copy_trials *trials, enum co_copy_path tried)
{
    uint64_t of_now = trials->least_ns[other(tried)];

    return trials->times[tried] >= CO_COPY_TRIAL_HOPELESS && trials->least_ns[tried] > of_now + of_now / HOPELESS_PARTS;
}

void co_trial_took(struct co_copy_trials *trials, unsigned class, enum co_copy_path path, uint64_t ns)
{
    enum co_copy_path now = trials->classes[class].path;
    bool is_awaited = path == now || trials->times[now] == CO_COPY_TRIAL_TIMES;

    if (!co_trial_wants(trials, class) || !is_awaited || trials->times[path] == CO_COPY_TRIAL_TIMES) {
        return;
    }
    uint32_t took_ns = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    trials->least_ns[path] = took_ns < trials->least_ns[path] ? took_ns : trials->least_ns[path];
    trials->times[path]++;
    trials->waited = 0;
    if (path != now && (trials->times[path] == CO_COPY_TRIAL_TIMES || is_hopeless(trials, path))) {
        judge(trials);
    }
}
