// SPDX-License-Identifier: BSD-3-Clause
//
// Messages that come together and are matched by several lanes: the receives that they fill, those that wait, a
// communicator that ends with the block, and that threads sleep and end.
#include <dirent.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/counters.h"
#include "p2p_world.h"

enum { LANES = 4, EACH = 40, SENDERS = 2, ALL = EACH * SENDERS };

static struct p2p_world world;
static struct co_p2p_send sends[ALL];
static struct co_p2p_receive receives[ALL];
static int payloads[ALL], places[ALL];
static uint64_t lanes_before, lanes_wanted; // 0: any number

static uint64_t in_lanes(void)
{
    return co_counter_read(CO_COUNT_LANES_FREE) + co_counter_read(CO_COUNT_LANES_FAST) +
           co_counter_read(CO_COUNT_LANES_SLOW);
}

static int set_up(void **state)
{
    const struct p2p_world_options options = {.size = SENDERS + 1,
                                              .eager_most = 4096,
                                              .credit = 1 << 20,
                                              .may_read = true,
                                              .matcher = {256, 256, 16},
                                              .lanes = LANES};
    (void)state;
    lanes_before = in_lanes();
    lanes_wanted = 0;
    p2p_world_open(&world, &options);
    memset(sends, 0, sizeof sends);
    memset(receives, 0, sizeof receives);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    p2p_world_close(&world);
    if (lanes_wanted != 0) {
        assert_int_equal(in_lanes() - lanes_before, lanes_wanted);
    }
    return 0;
}

// Number `number` of sender 1 or 2; the payload says which it is.
static void send_one(int sender, int number, int tag)
{
    int i = (sender - 1) * EACH + number;
    payloads[i] = i;
    sends[i] = (struct co_p2p_send){.context = world.contexts[sender],
                                    .data = &payloads[i],
                                    .bytes = sizeof payloads[i],
                                    .destination = 0,
                                    .tag = tag};
    co_p2p_send(&sends[i]);
}

static void post(int i, int source, int tag)
{
    places[i] = -1;
    receives[i] = (struct co_p2p_receive){.context = world.contexts[0], .buffer = &places[i], .room = sizeof places[i]};
    co_p2p_receive(&receives[i], source, tag);
}

static void flood(int tag_of_number)
{
    for (int number = 0; number < EACH; number++) {
        for (int sender = 1; sender <= SENDERS; sender++) {
            send_one(sender, number, tag_of_number ? number : 7);
        }
    }
    p2p_world_settle(&world);
}

// Whatever each sender sent fills receives in their order.
static void check_order(void)
{
    int next[SENDERS] = {0};
    for (int i = 0; i < ALL; i++) {
        assert_true(co_p2p_receive_is_done(&receives[i]));
        int sender = places[i] / EACH;
        assert_int_equal(receives[i].source, sender + 1);
        assert_int_equal(places[i] % EACH, next[sender]++);
    }
}

static void a_flood_fills_equal_receives_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        post(i, CO_P2P_ANY, 7);
    }
    flood(0);
    check_order();
    lanes_wanted = ALL;
}

static void messages_of_different_receives_go_apart(void **state)
{
    (void)state;
    for (int i = 0; i < ALL; i++) {
        post(i, 1 + i / EACH, i % EACH);
    }
    flood(1);
    for (int i = 0; i < ALL; i++) {
        assert_true(co_p2p_receive_is_done(&receives[i]));
        assert_int_equal(places[i], i);
    }
    lanes_wanted = ALL;
}

// Losers of a block wait in the order in which they came.
static void what_has_no_receive_waits_in_order(void **state)
{
    (void)state;
    for (int i = 0; i < EACH; i++) { // half of them find one
        post(i, CO_P2P_ANY, CO_P2P_ANY);
    }
    flood(0);
    for (int i = EACH; i < ALL; i++) {
        post(i, CO_P2P_ANY, 7);
        assert_true(co_p2p_receive_is_done(&receives[i]));
    }
    check_order();
    lanes_wanted = ALL;
}

// One receive waits, the program has let the communicator go: the first message of the block ends it, and the others
// are nobody's any more.
static void the_last_receive_of_a_closed_communicator(void **state)
{
    (void)state;
    struct co_p2p_context *usual = world.contexts[0], *closed, *left;
    const int peers[] = {0, 1};
    closed = co_p2p_context_open(world.ranks[0], 2, peers, 2, 0);
    left = co_p2p_context_open(world.ranks[1], 2, peers, 2, 1);
    world.contexts[0] = closed;
    post(0, 1, 7);
    world.contexts[0] = usual;
    co_p2p_context_close(closed);
    usual = world.contexts[1];
    world.contexts[1] = left;
    for (int number = 0; number < LANES; number++) {
        send_one(1, number, 7);
    }
    world.contexts[1] = usual;
    p2p_world_settle(&world);
    co_p2p_context_close(left);
    assert_true(co_p2p_receive_is_done(&receives[0]));
    assert_int_equal(places[0], 0);
    for (int number = 0; number < LANES; number++) {
        assert_true(co_p2p_send_is_done(&sends[number]));
    }
}

// Of this process, beside the caller, that do anything but sleep.
static int threads_awake(void)
{
    int awake = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        char path[sizeof task->d_name + 32], state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file != NULL) {
            awake += fscanf(file, "%*d (%*[^)]) %c", &state) == 1 && state != 'S' && atoi(task->d_name) != getpid();
            fclose(file);
        }
    }
    closedir(tasks);
    return awake;
}

static void threads_that_sleep_are_not_waited_for(void **state)
{
    (void)state;
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < ALL; i++) {
            post(i, CO_P2P_ANY, CO_P2P_ANY);
        }
        flood(0);
        check_order();
        while (threads_awake() > 0) { // they do not look for ever
            sched_yield();
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_flood_fills_equal_receives_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(messages_of_different_receives_go_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_no_receive_waits_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_last_receive_of_a_closed_communicator, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_that_sleep_are_not_waited_for, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
