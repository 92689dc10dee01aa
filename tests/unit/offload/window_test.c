// SPDX-License-Identifier: BSD-3-Clause
//
// Windows keep their contract: memory of the test, and staging above it, with and without room.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "memory_window.h"
#include "offload/stage_window.h"
#include "window_contract.h"

static unsigned char memory[256];
static struct memory_window below;
static struct co_stage_window stage;

static void memory_of_the_test(void **state)
{
    (void)state;
    memory_window_open(&below, memory, 4096, sizeof memory);
    window_contract_check(&(struct window_rig){&below.window, memory, 4096, sizeof memory, false});
    assert_int_equal(below.loans, 0);
}

static void staged(void **state)
{
    (void)state;
    memory_window_open(&below, memory, 4096, sizeof memory);
    co_stage_window_open(&stage, &below.window, 1000);
    window_contract_check(&(struct window_rig){&stage.window, memory, 4096, sizeof memory, true});
    assert_int_equal(below.loans, 0);
    assert_int_equal(stage.used_bytes, 0);
    assert_int_equal(stage.high_water_bytes, 100);
    assert_true(stage.messages > 0);
}

// What is staged left the rank's memory before the first byte of it was asked for.
static void staging_takes_the_whole_message_first(void **state)
{
    (void)state;
    struct co_rank_window_loan loan;
    unsigned char got[3];

    memory_window_open(&below, memory, 4096, sizeof memory);
    co_stage_window_open(&stage, &below.window, 1000);
    memcpy(memory, "abc", 3);
    assert_int_equal(stage.window.ops->open(&stage.window, 4096, 3, true, &loan), 0);
    memcpy(memory, "xyz", 3);
    assert_int_equal(stage.window.ops->read(&loan, 0, got, 3), 0);
    assert_memory_equal(got, "abc", 3);
    stage.window.ops->close(&loan);
}

// Nobody waits for room that another operation has.
static void without_room_it_is_passed_by(void **state)
{
    (void)state;
    struct co_rank_window_loan first, second;

    memory_window_open(&below, memory, 4096, sizeof memory);
    co_stage_window_open(&stage, &below.window, 99);
    window_contract_check(&(struct window_rig){&stage.window, memory, 4096, sizeof memory, false});
    assert_int_equal(stage.used_bytes, 0);
    uint64_t passed_by = stage.passed_by;
    assert_int_equal(stage.window.ops->open(&stage.window, 4096, 60, false, &first), 0);
    assert_int_equal(stage.window.ops->open(&stage.window, 4096 + 60, 60, false, &second), 0);
    assert_non_null(first.staged);
    assert_null(second.staged);
    assert_int_equal(stage.passed_by, passed_by + 1);
    assert_int_equal(stage.used_bytes, 60);
    stage.window.ops->close(&first);
    stage.window.ops->close(&second);
    assert_int_equal(stage.used_bytes, 0);
    assert_int_equal(below.loans, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_the_test),
        cmocka_unit_test(staged),
        cmocka_unit_test(staging_takes_the_whole_message_first),
        cmocka_unit_test(without_room_it_is_passed_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
