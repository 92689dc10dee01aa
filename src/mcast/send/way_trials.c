// SPDX-License-Identifier: BSD-3-Clause
//
// Spells of the other way, and what they show. Warm.
#include "mcast/send/way_trials.h"

#include <string.h>

// After this many operations of the class a spell that was called is over, whatever became of it: of operations that
// overlap nothing is learned.
#define SPELL_OVER (4 * CO_WAYS_LATER)

static enum co_way other_of(const struct co_way_trial *trial)
{
    return trial->standing == CO_WAY_APART ? CO_WAY_COLLECTED : CO_WAY_APART;
}

static void call_spell(struct co_way_trial *trial)
{
    trial->left = CO_WAY_TRIAL_SPELL;
    trial->is_under_way = true;
    trial->counts[other_of(trial)] = 0;
    trial->next = trial->calls + SPELL_OVER;
}

static void end_race(struct co_way_trial *trial)
{
    uint64_t again = trial->again == 0 ? CO_WAY_TRIAL_AGAIN : 2 * (uint64_t)trial->again;
    trial->again = (uint32_t)(again < CO_WAY_TRIAL_AGAIN_MOST ? again : CO_WAY_TRIAL_AGAIN_MOST);
    trial->next = trial->calls + trial->again;
    trial->wins = 0;
}

enum co_way co_way_trial_call(struct co_way_trial *trial, bool is_alone)
{
    if (trial->calls++ == 0) {
        trial->standing = CO_WAY_COLLECTED;
        trial->next = CO_WAY_TRIAL_WARM;
    }
    trial->alone = !is_alone ? 0 : trial->alone < CO_WAY_TRIAL_SPELL ? trial->alone + 1 : CO_WAY_TRIAL_SPELL;
    if (trial->calls > trial->next && trial->is_under_way) {
        trial->is_under_way = false;
        end_race(trial);
    } else if (trial->calls > trial->next && trial->alone == CO_WAY_TRIAL_SPELL) {
        call_spell(trial);
    }
    if (trial->left > 0) {
        trial->left--;
        return other_of(trial);
    }
    return (enum co_way)trial->standing;
}

static uint32_t median(const uint32_t *ns, unsigned count)
{
    uint32_t sorted[CO_WAY_TRIAL_SPELL];
    for (unsigned i = 0; i < count; i++) {
        unsigned at = i;
        for (; at > 0 && sorted[at - 1] > ns[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = ns[i];
    }
    return sorted[count / 2];
}

static bool is_won(const struct co_way_trial *trial)
{
    enum co_way other = other_of(trial);
    uint64_t before = median(trial->latest_ns[trial->standing], CO_WAY_TRIAL_SPELL);
    uint64_t now = median(trial->latest_ns[other] + CO_WAY_TRIAL_SKIPPED, CO_WAY_TRIAL_SPELL - CO_WAY_TRIAL_SKIPPED);
    return now * CO_WAY_TRIAL_CLEARLY < before * (CO_WAY_TRIAL_CLEARLY - 1);
}

// The next spell's words are said when operations go the old way again for certain.
static void judge(struct co_way_trial *trial)
{
    trial->is_under_way = false;
    if (!is_won(trial)) {
        end_race(trial);
        return;
    }
    trial->wins++;
    trial->next = trial->calls + CO_WAY_TRIAL_SPELL;
    if (trial->wins == CO_WAY_TRIAL_WINS) {
        trial->standing = (uint8_t)other_of(trial);
        trial->again = 0;
        end_race(trial);
    }
}

void co_way_trial_take(struct co_way_trial *trial, enum co_way way, uint64_t ns)
{
    bool is_other = way != (enum co_way)trial->standing;
    if (is_other && !trial->is_under_way) {
        return; // said before the change
    }
    uint8_t *count = &trial->counts[way];
    trial->latest_ns[way][*count % CO_WAY_TRIAL_SPELL] = ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
    *count = (uint8_t)(*count + 1 < 2 * CO_WAY_TRIAL_SPELL ? *count + 1 : CO_WAY_TRIAL_SPELL);
    if (is_other && *count == CO_WAY_TRIAL_SPELL && trial->counts[trial->standing] >= CO_WAY_TRIAL_SPELL) {
        judge(trial);
    }
}
