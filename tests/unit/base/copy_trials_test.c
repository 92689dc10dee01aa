// SPDX-License-Identifier: BSD-3-Clause
//
// Which path copies go, learned from their times: what a trial finds, what it costs, that a program whose habits change
// is followed, and that a disturbed copy decides nothing. Times are made up, and told a copy later, as allgathers tell
// theirs; no clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/copy_trials.h"

#define LEAST ((size_t)64 << 10)

struct program {
    struct co_copy_trials trials;
    uint64_t times_ns[CO_COPY_PATHS]; // of its copies
    uint64_t before_ns;               // of the last one, 0: there was none
    unsigned before_class;
    enum co_copy_path before_path;
    unsigned copies[CO_COPY_PATHS];
};

// A copy of the program; the path it went.
static enum co_copy_path copy(struct program *program, size_t bytes, enum co_copy_path guess, uint64_t late_ns)
{
    unsigned class = co_trial_class(bytes, LEAST);
    enum co_copy_path path = co_trial_next(&program->trials, class, guess);
    co_trial_went(&program->trials, class, path);
    if (program->before_ns > 0) {
        co_trial_took(&program->trials, program->before_class, program->before_path, program->before_ns);
    }
    program->before_class = class;
    program->before_path = path;
    program->before_ns = program->times_ns[path] + late_ns;
    program->copies[path]++;
    return path;
}

static void run(struct program *program, unsigned copies, size_t bytes, enum co_copy_path guess)
{
    for (unsigned i = 0; i < copies; i++) {
        copy(program, bytes, guess, 0);
    }
}

// The last time of each path is known a copy later, and the path of the next one is chosen before it is.
enum { UNTIL_VERDICT = CO_COPY_TRIAL_FIRST + 1 + CO_COPY_PATHS * (CO_COPY_TRIAL_TIMES + 1) };

static void a_wrong_guess_is_found_out(void **state)
{
    (void)state;
    for (int guess = 0; guess < CO_COPY_PATHS; guess++) {
        struct program program = {.times_ns = {1000, 1000}};
        program.times_ns[guess] = 1500;
        run(&program, UNTIL_VERDICT, 1 << 20, (enum co_copy_path)guess);
        for (unsigned i = 0; i < CO_COPY_TRIAL_REST_LEAST - CO_COPY_TRIAL_TIMES; i++) {
            assert_int_not_equal(copy(&program, 1 << 20, (enum co_copy_path)guess, 0), guess);
        }
    }
}

static void a_right_guess_stays_and_so_does_one_as_good(void **state)
{
    (void)state;
    for (int guess = 0; guess < CO_COPY_PATHS; guess++) {
        for (uint64_t own_ns = 500; own_ns <= 1020; own_ns += 520) {
            struct program program = {.times_ns = {1000, 1000}};
            program.times_ns[guess] = own_ns;
            run(&program, UNTIL_VERDICT, 1 << 20, (enum co_copy_path)guess);
            assert_true(program.copies[CO_COPY_BY_RING] > 0 && program.copies[CO_COPY_STRAIGHT] > 0);
            for (unsigned i = 0; i < CO_COPY_TRIAL_REST_LEAST - CO_COPY_TRIAL_TIMES; i++) {
                assert_int_equal(copy(&program, 1 << 20, (enum co_copy_path)guess, 0), guess);
            }
        }
    }
}

enum { COPIES = 100000 };

// Of so many, with trials of so many copies by the other path: nearly all wait as long as can be.
static unsigned most_strays(unsigned of_trial)
{
    return of_trial * (4 + COPIES / CO_COPY_TRIAL_REST_MOST);
}

static void trials_become_rare(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 1100}};
    run(&program, COPIES, 1 << 20, CO_COPY_BY_RING);
    assert_in_range(program.copies[CO_COPY_STRAIGHT], 10 * CO_COPY_TRIAL_TIMES, most_strays(CO_COPY_TRIAL_TIMES + 1));
}

static void what_is_much_slower_is_not_tried_to_the_end(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 2000}};
    run(&program, COPIES, 1 << 20, CO_COPY_BY_RING);
    assert_in_range(program.copies[CO_COPY_STRAIGHT], 10 * CO_COPY_TRIAL_HOPELESS,
                    most_strays(CO_COPY_TRIAL_HOPELESS + 1));
}

// Copies until the class of 1 MiB goes this path.
static unsigned copies_until(struct program *program, enum co_copy_path path)
{
    unsigned copies = 0;
    for (; program->trials.classes[4].path != path; copies++) {
        copy(program, 1 << 20, CO_COPY_BY_RING, 0);
        assert_true(copies < 100000);
    }
    return copies;
}

static void a_program_that_changes_is_followed(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 2000}};
    run(&program, 50000, 1 << 20, CO_COPY_BY_RING);
    program.times_ns[CO_COPY_STRAIGHT] = 500;
    assert_true(copies_until(&program, CO_COPY_STRAIGHT) <= CO_COPY_TRIAL_REST_MOST + UNTIL_VERDICT);
    // Who has changed once is looked at more often.
    program.times_ns[CO_COPY_STRAIGHT] = 2000;
    assert_true(copies_until(&program, CO_COPY_BY_RING) <= CO_COPY_TRIAL_REST_LEAST + UNTIL_VERDICT);
}

static void begin_trial(struct co_copy_trials *trials, enum co_copy_path guess)
{
    for (unsigned i = 0; i <= CO_COPY_TRIAL_FIRST; i++) {
        assert_int_equal(co_trial_next(trials, 0, guess), guess);
    }
    assert_true(co_trial_wants(trials, 0));
}

static void who_comes_late_decides_nothing(void **state)
{
    (void)state;
    for (unsigned quiet = 0; quiet < CO_COPY_TRIAL_TIMES; quiet++) { // all but one copy of each path are disturbed
        struct co_copy_trials trials = {0};
        begin_trial(&trials, CO_COPY_STRAIGHT);
        for (unsigned i = 0; i < CO_COPY_TRIAL_TIMES; i++) {
            co_trial_took(&trials, 0, CO_COPY_STRAIGHT, i == quiet ? 1100 : 100000);
        }
        for (unsigned i = 0; i < CO_COPY_TRIAL_TIMES; i++) {
            co_trial_took(&trials, 0, CO_COPY_BY_RING, i == quiet ? 1000 : 1300);
        }
        assert_int_equal(co_trial_path(&trials, 0), CO_COPY_BY_RING);
    }
}

static void sizes_learn_apart(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 1500}};
    for (unsigned i = 0; i < 4 * UNTIL_VERDICT; i++) { // in turn
        program.times_ns[CO_COPY_STRAIGHT] = i % 2 == 0 ? 500 : 1500;
        copy(&program, i % 2 == 0 ? 64 << 10 : 128 << 10, CO_COPY_BY_RING, 0);
    }
    assert_int_equal(copy(&program, 64 << 10, CO_COPY_BY_RING, 0), CO_COPY_STRAIGHT);
    assert_int_equal(copy(&program, (128 << 10) - 1, CO_COPY_BY_RING, 0), CO_COPY_STRAIGHT);
    assert_int_equal(copy(&program, 128 << 10, CO_COPY_BY_RING, 0), CO_COPY_BY_RING);
    assert_int_equal(copy(&program, (size_t)1 << 40, CO_COPY_STRAIGHT, 0), CO_COPY_STRAIGHT); // a first guess
}

// A program that leaves a size in the middle of its trial.
static void a_trial_that_stands_still_is_given_up(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 500}};
    run(&program, CO_COPY_TRIAL_FIRST + 3, 1 << 20, CO_COPY_BY_RING);
    run(&program, CO_COPY_TRIAL_WAITS + UNTIL_VERDICT, 64 << 10, CO_COPY_BY_RING);
    assert_int_equal(copy(&program, 64 << 10, CO_COPY_BY_RING, 0), CO_COPY_STRAIGHT);
    run(&program, CO_COPY_TRIAL_REST_LEAST + UNTIL_VERDICT, 1 << 20, CO_COPY_BY_RING); // from its beginning
    assert_int_equal(copy(&program, 1 << 20, CO_COPY_BY_RING, 0), CO_COPY_STRAIGHT);
}

// A window of them: they left before the trial was over.
static void copies_sent_ahead_are_paid_for(void **state)
{
    (void)state;
    enum { AHEAD = 30 };
    struct co_copy_trials trials = {0};
    unsigned copies = 0;
    begin_trial(&trials, CO_COPY_BY_RING);
    for (unsigned i = 0; i < CO_COPY_TRIAL_TIMES; i++) {
        co_trial_took(&trials, 0, CO_COPY_BY_RING, 1000);
    }
    for (unsigned i = 0; i < AHEAD; i++) {
        co_trial_next(&trials, 0, CO_COPY_BY_RING);
        co_trial_went(&trials, 0, CO_COPY_STRAIGHT);
        co_trial_took(&trials, 0, CO_COPY_STRAIGHT, 5000);
    }
    for (; !co_trial_wants(&trials, 0); copies++) {
        co_trial_went(&trials, 0, co_trial_next(&trials, 0, CO_COPY_BY_RING));
    }
    enum { AFTER = AHEAD - CO_COPY_TRIAL_TIMES };
    assert_in_range(copies, AFTER * CO_COPY_TRIAL_PRICE, AFTER * CO_COPY_TRIAL_PRICE + CO_COPY_TRIAL_REST_MOST);
    for (unsigned i = 0; i < 1000; i++) { // as long as it can be counted
        co_trial_went(&trials, 0, CO_COPY_STRAIGHT);
    }
    assert_int_equal(trials.classes[0].left, UINT16_MAX);
}

// Who copies may go another path than it was told: those times count for the path they went.
static void times_count_for_the_way_that_was_gone(void **state)
{
    (void)state;
    struct co_copy_trials trials = {0};
    begin_trial(&trials, CO_COPY_BY_RING);
    co_trial_took(&trials, 0, CO_COPY_STRAIGHT, 1); // before its turn
    for (unsigned i = 0; i < CO_COPY_TRIAL_TIMES; i++) {
        assert_int_equal(co_trial_path(&trials, 0), CO_COPY_BY_RING);
        co_trial_took(&trials, 0, CO_COPY_BY_RING, 1000);
    }
    assert_int_equal(co_trial_path(&trials, 0), CO_COPY_STRAIGHT);
    co_trial_took(&trials, 0, CO_COPY_BY_RING, 1);  // one too many
    co_trial_took(&trials, 1, CO_COPY_STRAIGHT, 1); // of another class
    for (unsigned i = 0; i < CO_COPY_TRIAL_TIMES; i++) {
        assert_true(co_trial_wants(&trials, 0));
        co_trial_took(&trials, 0, CO_COPY_STRAIGHT, 1100);
    }
    assert_false(co_trial_wants(&trials, 0));
    assert_int_equal(co_trial_path(&trials, 0), CO_COPY_BY_RING);
}

static void a_path_that_is_refused_is_left(void **state)
{
    (void)state;
    struct co_copy_trials trials = {0};
    begin_trial(&trials, CO_COPY_STRAIGHT);
    co_trial_refused(&trials, 0, CO_COPY_STRAIGHT);
    for (unsigned i = 0; i < UINT16_MAX; i++) {
        assert_int_equal(co_trial_next(&trials, 0, CO_COPY_STRAIGHT), CO_COPY_BY_RING);
        assert_false(co_trial_wants(&trials, 0));
    }
    co_trial_next(&trials, 0, CO_COPY_STRAIGHT);
    assert_true(co_trial_wants(&trials, 0));
    co_trial_refused(&trials, 1, CO_COPY_STRAIGHT); // of another class
    assert_true(co_trial_wants(&trials, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_guess_is_found_out),
        cmocka_unit_test(a_right_guess_stays_and_so_does_one_as_good),
        cmocka_unit_test(trials_become_rare),
        cmocka_unit_test(what_is_much_slower_is_not_tried_to_the_end),
        cmocka_unit_test(a_program_that_changes_is_followed),
        cmocka_unit_test(who_comes_late_decides_nothing),
        cmocka_unit_test(sizes_learn_apart),
        cmocka_unit_test(a_trial_that_stands_still_is_given_up),
        cmocka_unit_test(copies_sent_ahead_are_paid_for),
        cmocka_unit_test(a_path_that_is_refused_is_left),
        cmocka_unit_test(times_count_for_the_way_that_was_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
