// SPDX-License-Identifier: BSD-3-Clause
//
// The contract of windows; see the header.
#include "window_contract.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void fill(const struct window_rig *rig)
{
    for (uint64_t i = 0; i < rig->bytes; i++) {
        rig->memory[i] = (unsigned char)(i * 7);
    }
}

static void reads_what_is_there(const struct window_rig *rig)
{
    struct co_rank_window_loan loan;
    unsigned char got[100];

    fill(rig);
    assert_int_equal(rig->window->ops->open(rig->window, rig->address + 10, 100, true, &loan), 0);
    assert_int_equal(rig->window->ops->read(&loan, 0, got, 60), 0);
    assert_int_equal(rig->window->ops->read(&loan, 60, got + 60, 40), 0);
    assert_memory_equal(got, rig->memory + 10, 100);
    rig->window->ops->close(&loan);
}

static void writes_only_there(const struct window_rig *rig)
{
    struct co_rank_window_loan loan;
    unsigned char ones[100], got[100];

    fill(rig);
    memset(ones, 1, sizeof ones);
    assert_int_equal(rig->window->ops->open(rig->window, rig->address + 10, 100, false, &loan), 0);
    assert_int_equal(rig->window->ops->write(&loan, 0, ones, 30), 0);
    assert_int_equal(rig->window->ops->write(&loan, 30, ones, 50), 0);
    assert_int_equal(rig->memory[10] == 1, !rig->is_written_at_flush);
    assert_int_equal(rig->window->ops->read(&loan, 5, got, 75), 0); // as it passes on what has come
    assert_memory_equal(got, ones, 75);
    assert_int_equal(rig->window->ops->flush(&loan, 80), 0);
    assert_memory_equal(rig->memory + 10, ones, 80);
    rig->window->ops->close(&loan);
    assert_int_equal(rig->memory[9], 9 * 7);
    assert_int_equal(rig->memory[90], (unsigned char)(90 * 7)); // 80 came, of 100
}

static void nothing_comes_of_what_is_not_flushed(const struct window_rig *rig)
{
    struct co_rank_window_loan loan;

    fill(rig);
    assert_int_equal(rig->window->ops->open(rig->window, rig->address, 100, false, &loan), 0);
    assert_int_equal(rig->window->ops->write(&loan, 0, "x", 1), 0);
    rig->window->ops->close(&loan);
    assert_int_equal(rig->memory[0] == 'x', !rig->is_written_at_flush);
    assert_int_equal(rig->memory[1], 7);
}

static void nothing_at_all(const struct window_rig *rig)
{
    struct co_rank_window_loan loan;

    assert_int_equal(rig->window->ops->open(rig->window, rig->address, 0, true, &loan), 0);
    rig->window->ops->close(&loan);
    assert_int_equal(rig->window->ops->open(rig->window, rig->address, 0, false, &loan), 0);
    assert_int_equal(rig->window->ops->flush(&loan, 0), 0);
    rig->window->ops->close(&loan);
}

// Open may find out, or read, or write, or flush; and no byte beside is touched.
static void memory_that_is_not_there(const struct window_rig *rig)
{
    struct co_rank_window_loan loan;
    unsigned char bytes[64] = {0};
    uint64_t behind = rig->address + rig->bytes;

    int error = rig->window->ops->open(rig->window, behind, sizeof bytes, true, &loan);
    if (error == 0) {
        error = rig->window->ops->read(&loan, 0, bytes, sizeof bytes);
        rig->window->ops->close(&loan);
    }
    assert_int_equal(error, -EFAULT);
    error = rig->window->ops->open(rig->window, behind, sizeof bytes, false, &loan);
    if (error == 0) {
        error = rig->window->ops->write(&loan, 0, bytes, sizeof bytes);
        error = error != 0 ? error : rig->window->ops->flush(&loan, sizeof bytes);
        rig->window->ops->close(&loan);
    }
    assert_int_equal(error, -EFAULT);
}

void window_contract_check(const struct window_rig *rig)
{
    reads_what_is_there(rig);
    writes_only_there(rig);
    nothing_comes_of_what_is_not_flushed(rig);
    nothing_at_all(rig);
    memory_that_is_not_there(rig);
}
