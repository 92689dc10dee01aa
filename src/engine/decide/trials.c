// SPDX-License-Identifier: BSD-3-Clause
//
// Trials of a communicator's blocking collectives: brings clock, exchange and budget to what decides about them
// (adapt.h). Exchanges are agreements on a node (team_agree.h), between hosts small allgathers of the team, inside the
// program's call, before its own bytes move. The first is at its fifth call: who makes fewer costs nothing here. The
// way of a call without exchange is hot, all else warm; the thread of the call, as MPI orders the collectives of a
// communicator.
#include "engine/decide/trials.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/settings.h"
#include "engine/collective/team_run.h"
#include "engine/collective/onesided_collective.h"
#include "engine/collective/team.h"
#include "engine/decide/adapt.h"
#include "engine/decide/team_agree.h"
#include "engine/engine_state.h"

_Static_assert(CO_TRIALS_AFTER == CO_ADAPT_WARM, "a communicator of one class goes on trial at once");

#define RANKS_MOST 256 // whose words are on the stack: an exchange must not need memory
#define LONG_BYTES 65536
#define SLOW_BYTES UINT64_C(64) // a microsecond, of what a member receives: of a path of half a Gbit/s
#define PASSED_MOST 9           // the logarithm of calls between exchanges that a root passes by

void co_trials_open(struct co_engine *engine)
{
    int64_t setting = co_setting_number(CO_SET_ADAPT);
    engine->adapts = setting == CO_YES;
    // Members on several hosts have no cheap word of a root's: its broadcasts wait at exchanges, and unequal lengths
    // after a verdict let members wait for each other. In an allgather all wait for all anyway, and all lengths are
    // one.
    engine->adapts_long_allgathers = setting == CO_AUTO;
    engine->opened_ns = co_clock_now_ns();
}

bool co_trials_are_for(const struct co_engine *engine, const struct co_team_facts *facts)
{
    bool is_open =
        engine->policy[CO_CALL_ALLGATHER] == CO_AUTO || (engine->adapts && engine->policy[CO_CALL_BCAST] == CO_AUTO);
    return (engine->adapts || (engine->adapts_long_allgathers && facts->nodes > 1)) && is_open &&
           facts->ranks <= RANKS_MOST && co_decide(&engine->tune, facts, CO_CALL_BCAST, 1, CO_YES) == CO_TAKE;
}

// Short ones cost as much as an exchange, and are castoff's business. A broadcast of nothing one rank may make alone.
bool co_trials_count(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call, size_t bytes)
{
    return co_call_has_root(call) ? engine->adapts && bytes > 0
                                  : engine->adapts || bytes >= LONG_BYTES / (size_t)facts->ranks;
}

unsigned co_trials_class(enum co_call call, size_t bytes)
{
    return co_adapt_key(co_call_has_root(call) ? 0 : 1, bytes);
}

void co_team_trials_open(struct co_team *team, unsigned class)
{
    team->trials =
        (struct co_team_trials){.calls = CO_TRIALS_AFTER, .next = CO_TRIALS_AFTER + 1, .first_class = (uint16_t) class};
}

static bool is_onesided(const struct co_engine *engine, const struct co_team_facts *facts, size_t bytes)
{
    return co_onesided_collective_is_for(engine->onesided, bytes) && co_onesided_collective_fits(facts);
}

// Nothing stands in the way of either side, and no setting says which.
static bool can_change(const struct co_engine *engine, const struct co_team_facts *facts, enum co_call call,
                       size_t bytes)
{
    return engine->policy[call] == CO_AUTO && !is_onesided(engine, facts, bytes) &&
           co_decide(&engine->tune, facts, call, bytes, CO_YES) == CO_TAKE;
}

static enum co_reason reason_of(enum co_adapt_way way)
{
    return way == CO_ADAPT_CASTOFF ? CO_TAKE : CO_FOUND_SLOWER;
}

static void open_table(struct co_team_trials *trials, unsigned key)
{
    if (trials->table == NULL) {
        trials->table = malloc(sizeof(*trials->table));
        if (trials->table != NULL) {
            co_adapt_open(trials->table, key, trials->first_class == key ? CO_ADAPT_WARM : 0);
        }
    }
}

// Hosts of either byte order must come to the same verdict.
static void swap_words(struct co_adapt_word *words, int count)
{
    uint64_t *numbers = (uint64_t *)words;
    for (size_t i = 0; i < (size_t)count * sizeof(*words) / sizeof(uint64_t); i++) {
        numbers[i] = htole64(numbers[i]); // its own inverse
    }
}

static uint64_t left_of(struct co_engine *engine, uint64_t now_ns)
{
    // relaxed: sums, of which all members take the smallest
    return co_adapt_left(now_ns - engine->opened_ns, co_load_relaxed(&engine->trials_spent_ns),
                         co_load_relaxed(&engine->trials_earned_ns));
}

// Who shares its core with other ranks loses it to them as a matter of course: that is how long a way takes there.
static uint64_t preemptions_of(const struct co_engine *engine)
{
    return engine->is_oversubscribed ? 0 : co_clock_preemptions();
}

// Of many hosts one is always disturbed.
static uint64_t trial_preemptions_of(const struct co_team *team)
{
    return team->runs_inline ? preemptions_of(team->engine) : 0;
}

// What takes longer may be as slow as its path, where castoff saves bytes: trials there take long, and wait until there
// is time for them.
static uint64_t slow_ns(const struct co_team *team, unsigned key)
{
    uint64_t received = co_adapt_key_bytes(key) * (uint64_t)(team->size - 1);
    return team->engine->adapts ? 0 : received / SLOW_BYTES * CO_NS_PER_US;
}

// Between hosts, where all wait for all. CO_TEAM_AGREED or -errno.
static int tell_all(struct co_team *team, struct co_adapt_word *mine, struct co_adapt_word *all, const char *name)
{
    struct co_adapt_word words[RANKS_MOST];
    swap_words(mine, 1);
    int error = co_team_exchange(team, mine, words, sizeof(*mine), name);
    if (error != 0) {
        return error;
    }
    swap_words(words, team->size);
    co_adapt_combine(all, words, team->size);
    return CO_TEAM_AGREED;
}

// Ours to all, and theirs as one. As co_team_agree. A root need not wait for others in a broadcast, and of nothing
// nobody waits for anybody: programs may rely on it.
static int exchange(struct co_team *team, const struct co_adapt_call *at, const struct co_agree_call *call,
                    bool is_waited_in, struct co_adapt_word *all)
{
    struct co_engine *engine = team->engine;
    struct co_adapt *table = team->trials.table;
    struct co_adapt_word mine = {0}; // of who has no memory
    uint64_t preemptions = preemptions_of(engine), began_ns = co_clock_now_ns(), left_ns = left_of(engine, began_ns);
    // relaxed: a sum, of which this member makes what it likes
    uint64_t patience_ns = co_adapt_patience(began_ns - engine->opened_ns, co_load_relaxed(&engine->trials_waited_ns));
    if (table != NULL) {
        co_adapt_say(table, at, began_ns, left_ns, &mine);
    }
    int held = team->runs_inline
                   ? co_team_agree(team, call, &mine, all, is_waited_in ? UINT64_MAX : began_ns + patience_ns)
                   : tell_all(team, &mine, all, call->name);
    uint64_t ended_ns = co_clock_now_ns();
    if (held == CO_TEAM_NOT_AGREED) {
        uint64_t waited_ns = call->leader == team->rank ? ended_ns - began_ns : 0;
        co_add_relaxed(&engine->trials_waited_ns, waited_ns); // relaxed: a sum
        co_counter_add(CO_COUNT_ADAPT_SPENT, waited_ns);
        co_counter_add(CO_COUNT_ADAPT_PASSED, 1);
    } else {
        if (table != NULL) {
            co_adapt_note_exchange(table, began_ns, ended_ns, preemptions_of(engine) != preemptions);
        }
        co_counter_add(CO_COUNT_ADAPT_EXCHANGES, 1);
    }
    return held;
}

static void account(struct co_engine *engine, const struct co_adapt_step *step)
{
    co_add_relaxed(&engine->trials_spent_ns, step->spent_ns); // relaxed: sums
    co_add_relaxed(&engine->trials_earned_ns, step->earned_ns);
    co_counter_add(CO_COUNT_ADAPT_TRIALS, step->is_trial);
    co_counter_add(CO_COUNT_ADAPT_VERDICTS, step->has_verdict);
    co_counter_add(CO_COUNT_ADAPT_CHANGES, step->has_changed);
    co_counter_add(CO_COUNT_ADAPT_SPENT, step->spent_ns);
}

static bool takes(const struct co_team *team, enum co_call call, size_t bytes)
{
    return co_team_decide(team->engine, &team->facts, call, bytes) == CO_TAKE;
}

// By the tables alone. Where classes go another way than without trials, members with other lengths than the leader's
// would go another way than it: there it says which, and they follow.
static enum co_reason choose(struct co_team *team, enum co_call call, int leader, size_t bytes)
{
    const struct co_engine *engine = team->engine;
    struct co_team_trials *trials = &team->trials;
    if (trials->table == NULL) {
        return co_team_decide(engine, &team->facts, call, bytes);
    }
    unsigned key = co_trials_class(call, bytes);
    enum co_adapt_way way = co_adapt_count(trials->table, key);
    enum co_reason reason = way != CO_ADAPT_PRIOR && !is_onesided(engine, &team->facts, bytes)
                                ? reason_of(way)
                                : co_team_decide(engine, &team->facts, call, bytes);
    if (__builtin_expect(trials->table->turned[co_adapt_key_call(key)] == 0 || !team->runs_inline, 1)) {
        return reason;
    }
    struct co_agree_call at = {.number = trials->calls, .leader = leader, .name = co_call_text(call)};
    int follows = co_team_follow(team, &at, reason == CO_TAKE);
    if (follows < 0 || follows == (reason == CO_TAKE) || !can_change(engine, &team->facts, call, bytes)) {
        return reason;
    }
    return follows ? CO_TAKE : CO_FOUND_SLOWER;
}

// The root has passed the exchange by: the next one is later, each time by more.
static enum co_reason put_off(struct co_team *team, enum co_call call, int leader, size_t bytes)
{
    struct co_team_trials *trials = &team->trials;
    trials->next = trials->calls + (UINT64_C(1) << trials->passed);
    trials->passed += trials->passed < PASSED_MOST;
    return choose(team, call, leader, bytes);
}

static enum co_reason agree(struct co_team *team, enum co_call call, int leader, size_t bytes, uint64_t *trial_ns)
{
    struct co_engine *engine = team->engine;
    const struct co_team_facts *facts = &team->facts;
    struct co_team_trials *trials = &team->trials;
    unsigned key = co_trials_class(call, bytes);
    bool is_taken = takes(team, call, co_adapt_key_bytes(key));
    struct co_adapt_call at = {.number = trials->calls,
                               .key = key,
                               .can_change = can_change(engine, facts, call, bytes),
                               .prior = is_taken ? CO_ADAPT_CASTOFF : CO_ADAPT_NATIVE,
                               .is_split = takes(team, call, co_adapt_key_bytes(key + 1) - 1) != is_taken,
                               .slow_ns = slow_ns(team, key)};
    struct co_agree_call agreement = {.number = trials->calls, .leader = leader, .name = co_call_text(call)};
    struct co_adapt_word all;
    open_table(trials, key);
    int held = exchange(team, &at, &agreement, !co_call_has_root(call) && bytes > 0, &all);
    if (held == CO_TEAM_NOT_AGREED) {
        return put_off(team, call, leader, bytes);
    }
    // An error is that of a member that is gone or gave up: what follows on this team will say so, if it is taken.
    struct co_adapt_step step = {.has_ended = true};
    if (held == CO_TEAM_AGREED && trials->table != NULL) {
        step = co_adapt_hear(trials->table, &at, &all, 1);
    }
    account(engine, &step);
    if (step.has_ended) {
        co_counter_add(CO_COUNT_ADAPT_ENDED, 1);
        co_team_trials_close(trials);
        return co_team_decide(engine, facts, call, bytes);
    }
    trials->passed = 0;
    trials->next = step.next;
    if (step.is_trial) {
        trials->preemptions = trial_preemptions_of(team);
        *trial_ns = co_clock_now_ns();
    }
    bool has_way = step.way != CO_ADAPT_PRIOR && at.can_change;
    return has_way ? reason_of(step.way) : co_team_decide(engine, facts, call, bytes);
}

enum co_reason co_team_choose(struct co_team *team, enum co_call call, int root, size_t bytes, uint64_t *trial_ns)
{
    int leader = co_call_has_root(call) ? root : 0;
    if (!co_trials_count(team->engine, &team->facts, call, bytes)) {
        return co_team_decide(team->engine, &team->facts, call, bytes);
    }
    if (!team->engine->adapts) {
        *trial_ns = co_clock_now_ns(); // each is timed
    }
    return __builtin_expect(++team->trials.calls >= team->trials.next, 0) ? agree(team, call, leader, bytes, trial_ns)
                                                                          : choose(team, call, leader, bytes);
}

enum co_reason co_team_choose_at_once(const struct co_team *team, enum co_call call, size_t bytes)
{
    const struct co_adapt *table = team->trials.table;
    // Nobody can wait here for a root to say which way it goes, and its length may be another one.
    if (table != NULL && team->engine->adapts && team->engine->policy[call] == CO_AUTO && !co_call_has_root(call) &&
        !co_team_decide_by_proxies(team->engine, &team->facts, call, call, bytes)) {
        enum co_adapt_way way = co_adapt_way_of(table, co_trials_class(call, bytes));
        if (way != CO_ADAPT_PRIOR) {
            return reason_of(way);
        }
    }
    return co_team_decide(team->engine, &team->facts, call, bytes);
}

void co_team_trial_end(struct co_team *team, uint64_t began_ns)
{
    const struct co_team_trials *trials = &team->trials;
    if (trials->table != NULL) {
        uint64_t took_ns = co_clock_now_ns() - began_ns + 1;
        co_adapt_note_call(trials->table, took_ns, trial_preemptions_of(team) != trials->preemptions);
    }
}

bool co_team_trials_next(const struct co_team *team, unsigned *at, struct co_trial_row *row)
{
    const struct co_adapt *table = team->trials.table;
    const struct co_team_facts *facts = &team->facts;
    while (table != NULL && *at < table->used) {
        const struct co_adapt_class *of = &table->classes[(*at)++];
        if (of->phase == CO_ADAPT_COUNTED) {
            continue;
        }
        enum co_adapt_way way = co_adapt_way_in_force(of);
        *row = (struct co_trial_row){.call = co_adapt_key_call(of->key) == 0 ? CO_CALL_BCAST : CO_CALL_ALLGATHER,
                                     .bytes = co_adapt_key_bytes(of->key),
                                     .ranks = facts->ranks,
                                     .nodes = facts->nodes,
                                     .per_node = facts->max_ranks_per_node,
                                     .transport = facts->transport,
                                     .bytes_most = co_adapt_key_bytes(of->key + 1u) - 1,
                                     .teams = 1,
                                     .calls = of->calls,
                                     .first_at = of->first_at,
                                     .changes = of->changes,
                                     .takes = (way == CO_ADAPT_PRIOR ? of->prior : way) == CO_ADAPT_CASTOFF,
                                     .would_take = of->prior == CO_ADAPT_CASTOFF,
                                     .native_ns = of->ns[CO_ADAPT_NATIVE],
                                     .castoff_ns = of->ns[CO_ADAPT_CASTOFF],
                                     .gained_ns = co_adapt_gained_ns(of),
                                     .excess_ns = of->excess_ns};
        return true;
    }
    return false;
}
