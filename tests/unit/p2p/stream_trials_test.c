// SPDX-License-Identifier: BSD-3-Clause
//
// Receivers that try whether messages come faster in pieces or read, by a clock that moves as the test says: a guess of
// the start that is wrong is given up by its sender, a right one is not, sizes and windows count as they should, and
// what a sender is told that means nothing is left alone.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/copy_trials.h"
#include "p2p/stream_trials.h"
#include "p2p_streams.h"

enum {
    BYTES = 100000,
    WINDOW = 4,
    ENOUGH = 6 * (CO_COPY_TRIAL_FIRST + CO_COPY_PATHS * CO_COPY_TRIAL_TIMES) // messages for a verdict, also in windows
};

static uint64_t read_ns, pieces_ns; // that a message takes

static void read_for_long(void)
{
    pass_ns(read_ns);
}

static void open_trials(uint64_t read_takes, uint64_t pieces_take)
{
    tries_streams = true;
    open_streams(2, 1 << 20);
    while_reading = read_for_long;
    read_ns = read_takes;
    pieces_ns = pieces_take;
}

static void close_trials(void)
{
    close_streams(false);
    tries_streams = false;
}

// A window of messages that their receives wait for, every other one so many times as long; how many of them went in
// pieces.
static int mixed_window(size_t bytes, int count, size_t times)
{
    struct co_p2p_send sends[WINDOW];
    struct co_p2p_receive receives[WINDOW];
    int in_pieces = 0;
    static size_t came; // by the window before
    memset(received, 0xee, came);
    came = times * bytes;
    for (int i = 0; i < count; i++) {
        receives[i] = receive_at(1, LARGE);
        co_p2p_receive(&receives[i], 0, i);
    }
    for (int i = 0; i < count; i++) {
        sends[i] = send_of(0, 1, i, i % 2 == 0 ? bytes : times * bytes);
        co_p2p_send(&sends[i]);
        in_pieces += sends[i].is_in_pieces;
    }
    streams_move(1); // reads what it reads, or asks for the rest
    pass_ns((uint64_t)in_pieces * pieces_ns);
    p2p_world_settle(&world);
    for (int i = 0; i < count; i++) {
        assert_true(co_p2p_send_is_done(&sends[i]));
        assert_true(co_p2p_receive_is_done(&receives[i]));
    }
    int longest = times > 1 ? 1 : 0; // all have come to one place
    check_received(&receives[longest], 0, longest, sends[longest].bytes);
    return in_pieces;
}

static int window(size_t bytes, int count)
{
    return mixed_window(bytes, count, 1);
}

static int in_pieces_of(unsigned messages, size_t bytes)
{
    int in_pieces = 0;
    for (unsigned i = 0; i < messages; i++) {
        in_pieces += window(bytes, 1);
    }
    return in_pieces;
}

static void pieces_that_are_slower_are_given_up(void **state)
{
    (void)state;
    open_trials(1000, 1500);
    assert_int_equal(window(BYTES, 1), 1); // the first guess: at most STREAM_MOST
    in_pieces_of(ENOUGH, BYTES);
    assert_int_equal(in_pieces_of(ENOUGH, BYTES), 0);
    close_trials();
}

static void messages_that_are_too_long_for_pieces_get_them(void **state)
{
    (void)state;
    open_trials(3000, 2000);
    assert_int_equal(window(2 * STREAM_MOST, 1), 0);
    in_pieces_of(ENOUGH, 2 * STREAM_MOST);
    assert_int_equal(in_pieces_of(ENOUGH, 2 * STREAM_MOST), ENOUGH);
    close_trials();
}

static void a_right_guess_stays(void **state)
{
    (void)state;
    open_trials(2000, 1000);
    int others = ENOUGH - in_pieces_of(ENOUGH, BYTES);
    assert_in_range(others, 1, CO_COPY_TRIAL_TIMES); // it was tried
    assert_int_equal(in_pieces_of(ENOUGH, BYTES), ENOUGH);
    close_trials();
}

// Times of both paths are those of as many bytes, and other sizes go their own path.
static void sizes_go_their_own_ways(void **state)
{
    (void)state;
    open_trials(1000, 1500);
    for (int i = 0; i < 4 * ENOUGH; i++) {
        pieces_ns = i % 2 == 0 ? 1500 : 100;
        window(i % 2 == 0 ? BYTES : 4 * BYTES, 1);
    }
    assert_int_equal(window(BYTES, 1), 0);
    assert_int_equal(window(4 * BYTES, 1), 1);
    assert_int_equal(window(EAGER + 1, 1), 1); // too short to be tried
    close_trials();
}

// The first pieces of all of them come before the rest of one: what ends last has hardly taken any time by itself.
static void windows_count_as_a_whole(void **state)
{
    (void)state;
    open_trials(1000, 1500);
    for (int i = 0; i < ENOUGH / WINDOW; i++) {
        window(BYTES, WINDOW);
    }
    assert_int_equal(window(BYTES, WINDOW), 0);
    close_trials();
}

// Both begin to send before they receive: copying here and copying there take their turns.
static void what_came_early_was_copied_before(void **state)
{
    enum { SHORT = 20000 };
    int in_pieces = 0;
    (void)state;
    open_trials(1500, 1000);
    for (int i = 0; i < 2 * ENOUGH; i++) {
        struct co_p2p_send send = send_of(0, 1, 0, SHORT);
        struct co_p2p_receive receive = receive_at(1, SHORT);
        co_p2p_send(&send);
        co_p2p_progress(world.ranks[1]); // the RTS
        co_p2p_receive(&receive, 0, 0);
        pass_ns(send.is_in_pieces ? pieces_ns : 0);
        p2p_world_settle(&world);
        check_received(&receive, 0, 0, SHORT);
        in_pieces = i < ENOUGH ? 0 : in_pieces + send.is_in_pieces;
    }
    assert_int_equal(in_pieces, 0);
    close_trials();
}

// Messages whose pieces were kept are there at once, and have been copied once more.
static void what_was_kept_was_copied_twice(void **state)
{
    enum { SHORT = 20000 };
    int in_pieces = 0;
    (void)state;
    open_trials(2000, 0);
    look_ns = 1000;
    for (int i = 0; i < 2 * ENOUGH; i++) {
        struct co_p2p_send sends[2];
        struct co_p2p_receive receives[2];
        for (int k = 0; k < 2; k++) {
            sends[k] = send_of(0, 1, k, SHORT);
            co_p2p_send(&sends[k]);
        }
        streams_move(1);
        for (int k = 1; k >= 0; k--) {
            receives[k] = receive_at(1, SHORT);
            co_p2p_receive(&receives[k], 0, k);
            p2p_world_settle(&world);
            check_received(&receives[k], 0, k, SHORT);
            in_pieces = i < ENOUGH ? 0 : in_pieces + sends[k].is_in_pieces;
        }
    }
    look_ns = 0;
    assert_in_range(in_pieces, 0, CO_COPY_TRIAL_TIMES); // one more trial
    close_trials();
}

static void what_is_mixed_counts_for_nothing(void **state)
{
    (void)state;
    open_trials(1000, 1500);
    for (int i = 0; i < 4 * ENOUGH; i++) { // the first trial has no times, and is given up
        assert_int_equal(mixed_window(BYTES, WINDOW, 4), WINDOW);
    }
    close_trials();
}

// What is read is short, and what comes in pieces is nearly twice as long; so long a time is no shame.
static void long_messages_may_take_longer(void **state)
{
    (void)state;
    open_trials(900, 1000);
    for (int i = 0; i < ENOUGH; i++) {
        window(co_p2p_trials_streams(world.ranks[0], 1, BYTES) ? 130000 : 70000, 1);
    }
    assert_int_equal(window(BYTES, 1), 1);
    close_trials();
}

// The kernel reads no more: at the first guess, or in the middle of a trial.
static void what_cannot_be_read_comes_in_pieces(void **state)
{
    (void)state;
    for (size_t bytes = BYTES; bytes <= 2 * STREAM_MOST; bytes = 20 * bytes) {
        open_trials(1000, 1500);
        read_error = -EPERM;
        in_pieces_of(ENOUGH, bytes);
        assert_in_range(reads, 1, 2);
        assert_int_equal(in_pieces_of(ENOUGH, bytes), ENOUGH);
        close_trials();
    }
}

static void who_is_not_to_try_does_not(void **state)
{
    (void)state;
    open_trials(1000, 1500);
    close_trials();
    open_streams(2, 1 << 20);
    while_reading = read_for_long;
    assert_int_equal(in_pieces_of(ENOUGH, BYTES), ENOUGH);
    close_streams(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_that_are_slower_are_given_up),
        cmocka_unit_test(messages_that_are_too_long_for_pieces_get_them),
        cmocka_unit_test(a_right_guess_stays),
        cmocka_unit_test(sizes_go_their_own_ways),
        cmocka_unit_test(windows_count_as_a_whole),
        cmocka_unit_test(what_came_early_was_copied_before),
        cmocka_unit_test(what_was_kept_was_copied_twice),
        cmocka_unit_test(what_is_mixed_counts_for_nothing),
        cmocka_unit_test(long_messages_may_take_longer),
        cmocka_unit_test(what_cannot_be_read_comes_in_pieces),
        cmocka_unit_test(who_is_not_to_try_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
