// SPDX-License-Identifier: BSD-3-Clause
//
// What a thread of castoff's own moves: which operations count, who is told that there are some, who keeps out of whose
// way, and a thread that moves messages of a rank which does nothing itself.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "p2p_letters.h"

enum { EAGER = 1000, CREDIT = 1 << 20, MESSAGES = 300 };

static int told;

static void tell(void *arg)
{
    assert_ptr_equal(arg, &world);
    told++;
}

static void open_shared(bool may_read)
{
    open_world(2, EAGER, CREDIT, may_read);
    told = 0;
    co_p2p_share(world.ranks[1], tell, &world);
    assert_false(co_p2p_has_background(world.ranks[1]));
}

static struct co_p2p_receive background_receive(size_t room)
{
    struct co_p2p_receive receive = receive_at(1, room);
    receive.in_background = true;
    return receive;
}

static void counts_what_may_be_offered(void **state)
{
    (void)state;
    open_shared(true);
    struct co_p2p_receive small = background_receive(EAGER), first = background_receive(LARGE),
                          second = background_receive(LARGE), waited_for = receive_at(1, LARGE);
    co_p2p_receive(&waited_for, 0, 1);
    co_p2p_receive(&small, 0, 2);
    assert_false(co_p2p_has_background(world.ranks[1]));
    assert_int_equal(told, 0);
    co_p2p_receive(&first, 0, 3);
    co_p2p_receive(&second, 0, 4);
    assert_true(co_p2p_has_background(world.ranks[1]));
    assert_int_equal(told, 1);
    assert_true(co_p2p_cancel(&first));
    assert_true(co_p2p_cancel(&second));
    assert_false(co_p2p_has_background(world.ranks[1]));
    assert_true(co_p2p_cancel(&small) && co_p2p_cancel(&waited_for));
    p2p_world_close(&world);
}

// It has come before the receive, so there is nothing to move.
static void nobody_is_told_of_what_is_done_at_once(void **state)
{
    (void)state;
    open_shared(true);
    struct co_p2p_send send = send_of(0, 1, 1, 100);
    struct co_p2p_receive receive = background_receive(LARGE);
    co_p2p_send(&send);
    p2p_world_settle(&world);
    co_p2p_receive(&receive, 0, 1);
    check_received(&receive, 0, 1, 100);
    assert_int_equal(told, 0);
    assert_false(co_p2p_has_background(world.ranks[1]));
    p2p_world_close(&world);
}

static void keeps_out_of_the_way_of_callers(void **state)
{
    (void)state;
    open_shared(true);
    struct co_p2p_send send = send_of(0, 1, 1, LARGE);
    struct co_p2p_receive receive = background_receive(LARGE);
    assert_int_equal(co_p2p_progress_background(world.ranks[1]), 0);
    co_p2p_receive(&receive, 0, 1);
    co_p2p_progress(world.ranks[1]);
    assert_int_equal(co_p2p_progress_background(world.ranks[1]), -EBUSY); // they have just moved it
    co_p2p_send(&send);
    while (!co_p2p_receive_is_done(&receive)) {
        assert_true(co_p2p_progress_background(world.ranks[1]) > 0);
    }
    check_received(&receive, 0, 1, LARGE);
    assert_int_equal(co_p2p_progress_background(world.ranks[1]), 0);
    while (!co_p2p_send_is_done(&send)) {
        assert_true(co_p2p_progress(world.ranks[0]) > 0);
    }
    p2p_world_close(&world);
}

static _Atomic bool is_over;

static void *move_rank_1(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        if (co_p2p_progress_background(world.ranks[1]) <= 0) {
            sched_yield();
        }
    }
    return NULL;
}

// Rank 1 starts and looks, and is moved by the thread alone, among whose turns it starts the next one.
static void a_thread_moves_it(bool may_read)
{
    static const size_t sizes[] = {1, EAGER, EAGER + 1, 40000, 300000, LARGE};
    pthread_t thread;
    open_shared(may_read);
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, move_rank_1, NULL), 0);
    for (int i = 0; i < MESSAGES; i++) {
        size_t bytes = sizes[i % (sizeof sizes / sizeof sizes[0])];
        bool comes = i % 4 < 2;
        memset(received, 0xee, LARGE);
        struct co_p2p_send send = comes ? send_of(0, 1, i, bytes) : send_of(1, 0, i, bytes);
        struct co_p2p_receive receive = comes ? background_receive(LARGE) : receive_at(0, LARGE);
        send.in_background = !comes;
        if (i % 2 == 0) {
            co_p2p_receive(&receive, comes ? 0 : 1, i);
            co_p2p_send(&send);
        } else {
            co_p2p_send(&send);
            co_p2p_receive(&receive, comes ? 0 : 1, i);
        }
        while (!co_p2p_receive_is_done(&receive) || !co_p2p_send_is_done(&send)) {
            co_p2p_progress(world.ranks[0]);
            sched_yield();
        }
        check_received(&receive, comes ? 0 : 1, i, bytes);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    assert_false(co_p2p_has_background(world.ranks[1]));
    assert_true(told > 0);
    p2p_world_close(&world);
}

static void a_thread_moves_what_is_read(void **state)
{
    (void)state;
    a_thread_moves_it(true);
}

static void a_thread_moves_what_is_sent(void **state)
{
    (void)state;
    a_thread_moves_it(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_what_may_be_offered),      cmocka_unit_test(nobody_is_told_of_what_is_done_at_once),
        cmocka_unit_test(keeps_out_of_the_way_of_callers), cmocka_unit_test(a_thread_moves_what_is_read),
        cmocka_unit_test(a_thread_moves_what_is_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
