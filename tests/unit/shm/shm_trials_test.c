// SPDX-License-Identifier: BSD-3-Clause
//
// Which way allgathers go, learned from the times of their calls: what a trial finds, what it costs, that a program
// whose habits change is followed, and that a disturbed call decides nothing. Times are made up; no clock.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shm/shm_trials.h"

struct program {
    struct co_shm_trials trials;
    uint64_t times_ns[CO_SHM_COPIES]; // of its calls
    uint64_t before_ns;               // of the last call
    unsigned calls[CO_SHM_COPIES];
};

// A call of the program; the way it went.
static enum co_shm_copy call(struct program *program, size_t bytes, enum co_shm_copy guess, uint64_t late_ns)
{
    enum co_shm_copy way = co_shm_trials_next(&program->trials, bytes, guess);
    co_shm_trials_took(&program->trials, program->before_ns);
    program->before_ns = program->times_ns[way] + late_ns;
    program->calls[way]++;
    return way;
}

static void run(struct program *program, unsigned calls, size_t bytes, enum co_shm_copy guess)
{
    for (unsigned i = 0; i < calls; i++) {
        call(program, bytes, guess, 0);
    }
}

enum { UNTIL_VERDICT = CO_SHM_TRIAL_FIRST + CO_SHM_TRIAL_TURNS + 1 }; // the last time is known a call later

static void a_wrong_guess_is_found_out(void **state)
{
    (void)state;
    for (int guess = 0; guess < CO_SHM_COPIES; guess++) {
        struct program program = {.times_ns = {1000, 1000}};
        program.times_ns[guess] = 1500;
        run(&program, UNTIL_VERDICT, 1 << 20, (enum co_shm_copy)guess);
        for (unsigned i = 0; i < CO_SHM_TRIAL_REST_LEAST - 1; i++) {
            assert_int_not_equal(call(&program, 1 << 20, (enum co_shm_copy)guess, 0), guess);
        }
    }
}

static void a_right_guess_stays_and_so_does_one_as_good(void **state)
{
    (void)state;
    for (int guess = 0; guess < CO_SHM_COPIES; guess++) {
        for (uint64_t own_ns = 500; own_ns <= 1020; own_ns += 520) {
            struct program program = {.times_ns = {1000, 1000}};
            program.times_ns[guess] = own_ns;
            run(&program, UNTIL_VERDICT, 1 << 20, (enum co_shm_copy)guess);
            for (unsigned i = 0; i < CO_SHM_TRIAL_REST_LEAST - 1; i++) {
                assert_int_equal(call(&program, 1 << 20, (enum co_shm_copy)guess, 0), guess);
            }
        }
    }
}

static void trials_become_rare(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 2000}};
    run(&program, 100000, 1 << 20, CO_SHM_BY_RING);
    assert_true(program.calls[CO_SHM_STRAIGHT] >= 10 * CO_SHM_TRIAL_TURNS / 2);
    assert_true(program.calls[CO_SHM_STRAIGHT] <= 20 * CO_SHM_TRIAL_TURNS / 2);
}

// Calls until the class of 1 MiB goes this way.
static unsigned calls_until(struct program *program, enum co_shm_copy way)
{
    unsigned calls = 0;
    for (; program->trials.classes[4].way != way; calls++) {
        call(program, 1 << 20, CO_SHM_BY_RING, 0);
        assert_true(calls < 100000);
    }
    return calls;
}

static void a_program_that_changes_is_followed(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 2000}};
    run(&program, 50000, 1 << 20, CO_SHM_BY_RING);
    program.times_ns[CO_SHM_STRAIGHT] = 500;
    assert_true(calls_until(&program, CO_SHM_STRAIGHT) <= CO_SHM_TRIAL_REST_MOST + UNTIL_VERDICT);
    // Who has changed once is looked at more often.
    program.times_ns[CO_SHM_STRAIGHT] = 2000;
    assert_true(calls_until(&program, CO_SHM_BY_RING) <= CO_SHM_TRIAL_REST_LEAST + UNTIL_VERDICT);
}

static void who_comes_late_decides_nothing(void **state)
{
    (void)state;
    for (unsigned late = 0; late < 4; late++) { // all but one call of each way are disturbed
        struct program program = {.times_ns = {1000, 1500}};
        for (unsigned i = 0; i < UNTIL_VERDICT; i++) {
            call(&program, 1 << 20, CO_SHM_STRAIGHT, i % 4 == late ? 0 : 100000 * (1 + i % 3));
        }
        assert_int_equal(call(&program, 1 << 20, CO_SHM_STRAIGHT, 0), CO_SHM_BY_RING);
    }
}

static void sizes_learn_apart(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 1500}};
    for (unsigned i = 0; i < 2 * UNTIL_VERDICT; i++) { // in turn
        program.times_ns[CO_SHM_STRAIGHT] = i % 2 == 0 ? 500 : 1500;
        call(&program, i % 2 == 0 ? 64 << 10 : 128 << 10, CO_SHM_BY_RING, 0);
    }
    assert_int_equal(call(&program, 64 << 10, CO_SHM_BY_RING, 0), CO_SHM_STRAIGHT);
    assert_int_equal(call(&program, (128 << 10) - 1, CO_SHM_BY_RING, 0), CO_SHM_STRAIGHT);
    assert_int_equal(call(&program, 128 << 10, CO_SHM_BY_RING, 0), CO_SHM_BY_RING);
    assert_int_equal(call(&program, (size_t)1 << 40, CO_SHM_STRAIGHT, 0), CO_SHM_STRAIGHT); // a first guess
}

// A program that leaves a size in the middle of its trial.
static void a_trial_that_stands_still_is_given_up(void **state)
{
    (void)state;
    struct program program = {.times_ns = {1000, 500}};
    run(&program, CO_SHM_TRIAL_FIRST + 3, 1 << 20, CO_SHM_BY_RING);
    run(&program, CO_SHM_TRIAL_WAITS + UNTIL_VERDICT, 64 << 10, CO_SHM_BY_RING);
    assert_int_equal(call(&program, 64 << 10, CO_SHM_BY_RING, 0), CO_SHM_STRAIGHT);
    run(&program, CO_SHM_TRIAL_TURNS + 1, 1 << 20, CO_SHM_BY_RING); // from its beginning
    assert_int_equal(call(&program, 1 << 20, CO_SHM_BY_RING, 0), CO_SHM_STRAIGHT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wrong_guess_is_found_out),
        cmocka_unit_test(a_right_guess_stays_and_so_does_one_as_good),
        cmocka_unit_test(trials_become_rare),
        cmocka_unit_test(a_program_that_changes_is_followed),
        cmocka_unit_test(who_comes_late_decides_nothing),
        cmocka_unit_test(sizes_learn_apart),
        cmocka_unit_test(a_trial_that_stands_still_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
