// SPDX-License-Identifier: BSD-3-Clause
//
// A meeting of a communicator's members: one round of trials of one class of broadcasts, or a word about when to meet
// next. Rank 0 conducts by broadcasts of the MPI below: which bytes, then batch by batch, whose time it takes between
// two barriers, then the verdict. What a meeting may cost is one part in a hundred of the time and some of what
// verdicts have gained, as for all trials (co_adapt_left); all members pay it, so that many communicators with a rank
// 0 each cost no more than one. Members whose broadcasts had other lengths than rank 0's
// could not go one way by their lengths: then nothing is tried any more. The thread of the call; warm.
#include "engine/decide/meetings.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/settings.h"
#include "engine/collective/team.h"
#include "engine/decide/adapt.h"
#include "engine/decide/meeting_classes.h"
#include "engine/engine_state.h"

#define BATCH_NS (1500 * CO_NS_PER_US) // that a batch takes, if it is not longer by fewest calls
enum { CALLS_LEAST = 2, CALLS_MOST = 128, CALLS_WARM = 15 };
enum { BATCHES = 2 * CO_MEETING_WAYS }; // of a round, but for those to warm up
#define OFTEN 4                         // broadcasts to a chance: such a program goes through loops of them
#define CHANCES_MOST UINT64_C(65536)    // between two meetings
#define EARNS 4                         // a part of what verdicts gain may be spent on finding more of them
#define WORD_COSTS 4                    // times what a meeting takes that only finds that there is no time for trials

// What rank 0 tells, little-endian. First the bytes that are tried, 0: nothing is. Then batches, until one without
// calls: then a verdict, or none yet, and when to meet again.
enum word { BYTES, CALLS = BYTES, WAY, APART, VERDICT, NEXT_CALLS, NEXT_CHANCES, WORDS };
enum { NO_VERDICT, VERDICT_KEPT, VERDICT_LOST };

struct meeting {
    struct co_meetings *trials;
    struct co_engine *engine;
    struct co_team *team;
    const struct co_meetings_below *below;
    unsigned char *buffer;
    size_t bytes;
    int error;
    uint64_t began_ns;
    uint64_t calls; // of trials
};

_Static_assert(CO_MEETING_CALLS == CO_MEETING_WAYS + BATCHES * CALLS_LEAST, "of a round, at least");
_Static_assert(CO_MEETING_COST_NS == BATCHES * BATCH_NS, "of a round of short calls");

static bool are_for(const struct co_engine *engine, const struct co_team_facts *facts)
{
    return engine->adapts_long_allgathers && engine->policy[CO_CALL_BCAST] == CO_AUTO && facts->nodes > 1 &&
           engine->onesided == NULL && co_decide(&engine->tune, facts, CO_CALL_BCAST, 1, CO_YES) == CO_TAKE;
}

int co_meetings_open(struct co_meetings **out, const struct co_engine *engine, const struct co_team_facts *facts)
{
    *out = NULL;
    if (!are_for(engine, facts)) {
        return 0;
    }
    struct co_meetings *trials = malloc(sizeof *trials);
    if (trials == NULL) {
        return -ENOMEM;
    }
    *trials = (struct co_meetings){.at_calls = CO_MEETING_WARM, .met_ns = co_clock_now_ns()};
    *out = trials;
    return 0;
}

void co_meetings_close(struct co_meetings *trials)
{
    if (trials != NULL) {
        free(trials->table);
        free(trials);
    }
}

bool co_meetings_decline(const struct co_meetings *trials, size_t bytes)
{
    return trials->table != NULL && co_meeting_classes_decline(trials->table, bytes);
}

void co_meetings_count(struct co_meetings *trials, size_t bytes, uint64_t took_ns)
{
    trials->calls++;
    if (trials->table != NULL) {
        co_meeting_classes_count(trials->table, bytes, took_ns);
    }
}

static void note_error(struct meeting *meeting, int error)
{
    meeting->error = meeting->error == 0 ? error : meeting->error;
}

static void tell(struct meeting *meeting, uint64_t words[WORDS])
{
    for (int i = 0; i < WORDS; i++) {
        words[i] = htole64(words[i]);
    }
    note_error(meeting, meeting->below->broadcast(meeting->below->arg, words, WORDS * sizeof *words));
    for (int i = 0; i < WORDS; i++) {
        words[i] = le64toh(words[i]);
    }
}

static void wait_for_all(struct meeting *meeting)
{
    note_error(meeting, meeting->below->barrier(meeting->below->arg));
}

// Time of a call, with all members at its end. An error of castoff's is what the program's next broadcast will say.
static uint64_t run(struct meeting *meeting, uint64_t calls, bool by_castoff, bool is_apart)
{
    wait_for_all(meeting);
    uint64_t began_ns = co_clock_now_ns();
    for (uint64_t i = 0; i < calls; i++) {
        if (i > 0 && is_apart) {
            wait_for_all(meeting);
        }
        if (by_castoff) {
            co_team_bcast(meeting->team, 0, meeting->buffer, meeting->bytes, NULL);
        } else {
            note_error(meeting, meeting->below->broadcast(meeting->below->arg, meeting->buffer, meeting->bytes));
        }
    }
    wait_for_all(meeting);
    meeting->calls += calls;
    return (co_clock_now_ns() - began_ns) / calls + 1;
}

// By rank 0.
static uint64_t conduct(struct meeting *meeting, uint64_t calls, enum co_meeting_way way, bool is_apart)
{
    uint64_t words[WORDS] = {[CALLS] = calls, [WAY] = way, [APART] = is_apart};
    tell(meeting, words);
    return meeting->error != 0 ? 1 : run(meeting, calls, way == CO_MEETING_CASTOFF, is_apart);
}

static uint64_t spent_ns(const struct meeting *meeting)
{
    return co_clock_now_ns() - meeting->began_ns;
}

// What rank 0 may yet spend, this meeting counted.
static uint64_t left_of(const struct meeting *meeting)
{
    struct co_engine *engine = meeting->engine;
    // relaxed: sums
    return co_adapt_left(co_clock_now_ns() - engine->opened_ns,
                         co_load_relaxed(&engine->trials_spent_ns) + spent_ns(meeting),
                         co_load_relaxed(&engine->trials_earned_ns));
}

// By rank 0: the time of a call either way, both together.
static uint64_t warm_up(struct meeting *meeting, uint64_t calls, bool is_apart)
{
    uint64_t native_ns = conduct(meeting, calls, CO_MEETING_NATIVE, is_apart);
    return native_ns + conduct(meeting, calls, CO_MEETING_CASTOFF, is_apart);
}

static uint64_t calls_in(uint64_t ns, uint64_t call_ns, uint64_t least, uint64_t most)
{
    uint64_t calls = ns / call_ns;
    return calls < least ? least : calls > most ? most : calls;
}

// Castoff, native, native, castoff: calls one upon the other, or each after a barrier, as the program has them. False:
// the first calls took so long that the others would cost more than there is.
static bool try_round(struct meeting *meeting, struct co_meeting_class *class)
{
    const struct co_meetings *trials = meeting->trials;
    bool is_apart = trials->calls - trials->met_calls < OFTEN * (trials->chances - trials->met_chances);
    uint64_t both_ns = warm_up(meeting, 1, is_apart), batch_ns[CO_MEETING_WAYS] = {0, 0};
    if (both_ns < CO_MEETING_COST_NS) { // they were the first ones, and short all the same
        both_ns = warm_up(meeting, calls_in(CO_MEETING_COST_NS, both_ns, 1, CALLS_WARM), is_apart);
    }
    uint64_t calls = calls_in(CO_MEETING_WAYS * BATCH_NS, both_ns, CALLS_LEAST, CALLS_MOST);
    uint64_t rest_ns = BATCHES / CO_MEETING_WAYS * calls * both_ns;
    class->cost_ns = spent_ns(meeting) + rest_ns;
    if (rest_ns > left_of(meeting)) {
        return false;
    }
    for (int turn = 0; turn < BATCHES; turn++) {
        enum co_meeting_way way = turn % 4 == 0 || turn % 4 == 3 ? CO_MEETING_CASTOFF : CO_MEETING_NATIVE;
        uint64_t ns = conduct(meeting, calls, way, is_apart);
        co_meeting_classes_add_time(class, way, ns);
        batch_ns[way] += calls * ns;
    }
    class->cost_ns = spent_ns(meeting);
    uint64_t held_ns = batch_ns[class->is_lost ? CO_MEETING_NATIVE : CO_MEETING_CASTOFF];
    uint64_t other_ns = batch_ns[class->is_lost ? CO_MEETING_CASTOFF : CO_MEETING_NATIVE];
    class->excess_ns += other_ns > held_ns ? other_ns - held_ns : 0;
    return true;
}

// Classes that castoff takes by the table, by bits.
static uint32_t open_classes(const struct co_engine *engine, const struct co_team_facts *facts,
                             const struct co_meeting_classes *table)
{
    uint32_t open = 0;
    for (int i = 0; i < CO_MEETING_CLASSES; i++) {
        bool is_taken = co_team_decide(engine, facts, CO_CALL_BCAST, table->of[i].bytes) == CO_TAKE;
        open |= (uint32_t)is_taken << i;
    }
    return open;
}

// Chances until there is time for what costs so much.
static uint64_t chances_until(const struct meeting *meeting, uint64_t cost_ns)
{
    const struct co_meetings *trials = meeting->trials;
    uint64_t left_ns = left_of(meeting), lacks_ns = cost_ns > left_ns ? cost_ns - left_ns : 0;
    uint64_t least_ns = WORD_COSTS * trials->word_ns; // other communicators may have spent it by then
    lacks_ns = lacks_ns > least_ns ? lacks_ns : least_ns;
    uint64_t chances = trials->chances - trials->met_chances, since_ns = co_clock_now_ns() - trials->met_ns;
    uint64_t each_ns = chances == 0 ? since_ns + 1 : since_ns / chances + 1;
    uint64_t needed = lacks_ns * 100 / each_ns + 1;
    return needed < CHANCES_MOST ? needed : CHANCES_MOST;
}

// Fills in the last word: when to meet again.
static void plan_next(const struct meeting *meeting, uint64_t words[WORDS], int due)
{
    const struct co_meetings *trials = meeting->trials;
    words[NEXT_CALLS] = due < 0 ? co_meeting_classes_next(trials->calls) : trials->calls;
    words[NEXT_CHANCES] =
        trials->chances + (due < 0 ? 1 : chances_until(meeting, co_meeting_class_cost_ns(&trials->table->of[due])));
}

static void earn(const struct meeting *meeting, const struct co_meeting_class *class, int64_t gained_before_ns)
{
    int64_t gained_ns = co_meeting_classes_gained_ns(class) - gained_before_ns;
    uint64_t earned_ns = gained_ns > 0 ? (uint64_t)gained_ns / EARNS : 0;
    co_add_relaxed(&meeting->engine->trials_earned_ns, earned_ns); // relaxed: a sum
}

// By rank 0, once all have a buffer. The last word.
static void lead(struct meeting *meeting, const struct co_team_facts *facts, int due, uint64_t words[WORDS])
{
    struct co_meeting_classes *table = meeting->trials->table;
    struct co_meeting_class *class = &table->of[due];
    int64_t gained_ns = co_meeting_classes_gained_ns(class);
    if (try_round(meeting, class) && meeting->error == 0 && co_meeting_classes_end_round(class)) {
        double ratio = co_meeting_classes_ratio(class);
        words[VERDICT] = co_meeting_classes_judge(class) ? VERDICT_LOST : VERDICT_KEPT;
        co_log(CO_LOG_INFO, CO_SUBSYS_ENGINE, "broadcasts of %u bytes to %d ranks: castoff takes %.2f times as long",
               class->bytes, facts->ranks, ratio);
    }
    earn(meeting, class, gained_ns);
    bool is_over = words[VERDICT] != NO_VERDICT;
    uint64_t tried_at = class->tried_at;
    class->tried_at = is_over ? class->calls : tried_at; // as it will be
    plan_next(meeting, words, co_meeting_classes_due(table, open_classes(meeting->engine, facts, table)));
    class->tried_at = tried_at;
    words[CALLS] = 0;
    tell(meeting, words);
}

static void follow(struct meeting *meeting, uint64_t words[WORDS])
{
    for (tell(meeting, words); meeting->error == 0 && words[CALLS] > 0; tell(meeting, words)) {
        run(meeting, words[CALLS], words[WAY] == CO_MEETING_CASTOFF, words[APART] != 0);
    }
}

// Whether all members can, and have been called alike.
static bool agree(struct meeting *meeting)
{
    int digest = co_meeting_classes_digest(meeting->trials->table), values[] = {digest, -digest, 1};
    meeting->buffer = malloc(meeting->bytes);
    values[2] = meeting->buffer != NULL && meeting->team != NULL;
    note_error(meeting, meeting->below->minimum(meeting->below->arg, values, 3));
    return meeting->error == 0 && values[0] == -values[1] && values[2] != 0;
}

// All members make a table, or none has one.
static bool open_table(struct meeting *meeting)
{
    struct co_meetings *trials = meeting->trials;
    trials->table = calloc(1, sizeof *trials->table);
    int has_one = trials->table != NULL;
    note_error(meeting, meeting->below->minimum(meeting->below->arg, &has_one, 1));
    return meeting->error == 0 && has_one != 0;
}

// Of one class. False: none will be tried any more.
static bool hold(struct meeting *meeting, const struct co_team_facts *facts, int rank)
{
    struct co_meetings *trials = meeting->trials;
    uint64_t words[WORDS] = {0};
    int due = -1;
    if (rank == 0) {
        due = co_meeting_classes_due(trials->table, open_classes(meeting->engine, facts, trials->table));
        bool can_pay = due >= 0 && co_meeting_class_cost_ns(&trials->table->of[due]) <= left_of(meeting);
        words[BYTES] = can_pay ? trials->table->of[due].bytes : 0;
        plan_next(meeting, words, due);
    }
    tell(meeting, words);
    meeting->bytes = words[BYTES];
    if (meeting->error == 0 && meeting->bytes > 0) {
        if (!agree(meeting)) {
            return false;
        }
        if (rank == 0) {
            lead(meeting, facts, due, words);
        } else {
            follow(meeting, words);
        }
        co_counter_add(CO_COUNT_ADAPT_TRIALS, meeting->calls);
    }
    if (meeting->error != 0) {
        return false;
    }
    int class = co_meeting_classes_index(meeting->bytes);
    if (words[VERDICT] != NO_VERDICT && class >= 0) {
        bool is_lost = words[VERDICT] == VERDICT_LOST;
        co_counter_add(CO_COUNT_ADAPT_VERDICTS, 1);
        co_counter_add(CO_COUNT_ADAPT_CHANGES, trials->table->of[class].is_lost != is_lost);
        co_meeting_classes_settle(&trials->table->of[class], is_lost);
    }
    trials->at_calls = words[NEXT_CALLS];
    trials->at_chances = words[NEXT_CHANCES];
    return true;
}

void co_meetings_hold(struct co_meetings *trials, struct co_engine *engine, struct co_team *team,
                      const struct co_team_facts *facts, int rank, const struct co_meetings_below *below)
{
    struct meeting meeting = {
        .trials = trials, .engine = engine, .team = team, .below = below, .began_ns = co_clock_now_ns()};
    bool goes_on;
    if (trials->table == NULL) { // the first meeting only makes it: lengths are counted from here on
        goes_on = open_table(&meeting);
        trials->at_calls = trials->calls + CO_MEETING_WARM;
        trials->at_chances = trials->chances + 1;
    } else {
        goes_on = hold(&meeting, facts, rank);
    }
    free(meeting.buffer);
    uint64_t took_ns = spent_ns(&meeting);
    co_add_relaxed(&engine->trials_spent_ns, took_ns);             // relaxed: a sum
    co_counter_add(CO_COUNT_ADAPT_SPENT, rank == 0 ? took_ns : 0); // once a meeting
    trials->word_ns = meeting.calls == 0 ? took_ns : trials->word_ns;
    trials->met_ns = co_clock_now_ns();
    trials->met_calls = trials->calls;
    trials->met_chances = trials->chances;
    co_counter_add(CO_COUNT_ADAPT_EXCHANGES, 1);
    if (!goes_on) {
        co_counter_add(CO_COUNT_ADAPT_ENDED, 1);
        free(trials->table);
        trials->table = NULL;
        trials->at_calls = UINT64_MAX;
    }
}

bool co_meetings_next(const struct co_meetings *trials, const struct co_team_facts *facts, unsigned *at,
                      struct co_trial_row *row)
{
    while (trials->table != NULL && *at < CO_MEETING_CLASSES) {
        unsigned power = (*at)++;
        const struct co_meeting_class *class = &trials->table->of[power];
        if (class->first_at == 0) {
            continue;
        }
        *row = (struct co_trial_row){.call = CO_CALL_BCAST,
                                     .bytes = UINT64_C(1) << power,
                                     .ranks = facts->ranks,
                                     .nodes = facts->nodes,
                                     .per_node = facts->max_ranks_per_node,
                                     .transport = facts->transport,
                                     .bytes_most = (UINT64_C(2) << power) - 1,
                                     .teams = 1,
                                     .calls = class->calls,
                                     .first_at = class->first_at,
                                     .changes = class->changes,
                                     .takes = !class->is_lost,
                                     .would_take = 1,
                                     .native_ns = class->ns[CO_MEETING_NATIVE],
                                     .castoff_ns = class->ns[CO_MEETING_CASTOFF],
                                     .gained_ns = co_meeting_classes_gained_ns(class),
                                     .excess_ns = class->excess_ns};
        return true;
    }
    return false;
}
