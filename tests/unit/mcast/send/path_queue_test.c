// SPDX-License-Identifier: BSD-3-Clause
//
// How long a sender lets a queue grow: what loss halves it and what grows it again, and what lateness adds to it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/path_queue.h"

enum { JUDGED = 1000 };

static void round_of(struct co_path_queue *queue, uint32_t lost)
{
    co_path_queue_judge(queue, lost, JUDGED);
}

// What a queue of so many microseconds on the way loses of a thousand chunks.
static uint32_t overrun(const struct co_path_queue *queue, uint32_t room)
{
    return queue->now > room ? (queue->now - room) * JUDGED / queue->now : 0;
}

static void overrun_halves_it_and_success_grows_it(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    round_of(&queue, JUDGED / 100); // less than two in a hundred
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
    round_of(&queue, overrun(&queue, 200));
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST / 2);
    for (int i = 0; i < 4; i++) {
        round_of(&queue, overrun(&queue, 200));
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_LEAST);
    uint32_t before = queue.now;
    for (int i = 0; i < 100; i++) {
        round_of(&queue, 0);
        assert_true(queue.now > before || queue.now == CO_PATH_QUEUE_MOST);
        before = queue.now;
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
}

static void loss_that_a_shorter_queue_does_not_cure_leaves_it_long(void **state)
{
    (void)state; // a fifth of everything is lost whatever waits on the way
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    round_of(&queue, JUDGED / 5);
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST / 2);
    for (int i = 0; i < 20; i++) {
        round_of(&queue, JUDGED / 5);
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST + CO_PATH_QUEUE_BORNE_MORE); // members' words are lost as well
    for (int i = 0; i < 12; i++) { // the receivers are overrun as well: that is cured
        round_of(&queue, JUDGED / 5 + overrun(&queue, CO_PATH_QUEUE_MOST / 10) * 4 / 5);
    }
    assert_in_range(queue.now, CO_PATH_QUEUE_LEAST, CO_PATH_QUEUE_MOST / 5);
}

// Who sends an eighth faster than the path loses a ninth, whatever may queue, until that is less than the path holds:
// as long as what stands there does not get shorter, nothing is learned from the loss.
static void a_queue_that_overflows_sooner_is_halved_again(void **state)
{
    (void)state;
    enum { ROOM = 1000 };
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    for (int i = 0; i < 4; i++) {
        co_path_queue_stand(&queue, ROOM - 100);
        co_path_queue_stand(&queue, ROOM + 100);
        round_of(&queue, queue.now > ROOM ? JUDGED / 9 : 0);
    }
    assert_in_range(queue.now, ROOM / 2, ROOM * 3 / 2);
    assert_int_equal(queue.borne, 0);
}

// But where it is half as long and as much is lost, it was not the queue, which is as long again at once.
static void one_that_is_shorter_and_loses_as_much_is_not_the_cause(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    for (int i = 0; i < 2; i++) {
        co_path_queue_stand(&queue, queue.now);
        round_of(&queue, JUDGED / 9);
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
    assert_true(queue.borne > 0);
    co_path_queue_open(&queue);
    for (int i = 0; i < 10 && queue.borne == 0; i++) { // always 2 ms: the members are slow to tell
        co_path_queue_stand(&queue, 2000);
        round_of(&queue, JUDGED / 9);
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
    assert_true(queue.borne > 0);
}

// Of 64 chunks one in a hundred is often none, and often two or three: short queues fell by chance and stayed there.
static void chance_is_no_loss(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    for (int i = 0; i < 50; i++) {
        co_path_queue_judge(&queue, i % 4 == 0 ? 4 : 0, 64);
        assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
    }
    co_path_queue_judge(&queue, 6, 64);
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST / 2);
}

// Near the length that lost too much it grows slowly, so that it seldom loses; beyond, the network has changed.
static void it_is_careful_where_it_lost(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    queue.now = 1000;
    round_of(&queue, overrun(&queue, 500));
    assert_int_equal(queue.now, 500);
    unsigned careful = 0, rounds = 0;
    while (queue.now < CO_PATH_QUEUE_MOST && rounds < 100) {
        uint32_t before = queue.now;
        round_of(&queue, 0);
        rounds++;
        bool is_careful = queue.now < before + before / 32;
        careful += is_careful;
        assert_true(!is_careful || (before >= 700 && before < 1300));
    }
    assert_in_range(careful, 20, 50);
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST);
}

static void who_is_late_gets_more_to_do(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    co_path_queue_late(&queue, 20000);
    assert_int_equal(co_path_queue_ahead(&queue), 0); // as soon as that does no harm
    for (int i = 0; i < 20; i++) {
        round_of(&queue, 0);
    }
    assert_int_equal(queue.now, CO_PATH_QUEUE_MOST + 20000);
    assert_int_equal(co_path_queue_ahead(&queue), 20000);
    round_of(&queue, overrun(&queue, 4000));
    assert_in_range(co_path_queue_ahead(&queue), 1, 10000);
    for (int i = 0; i < 1000; i++) { // of late it was in time
        co_path_queue_late(&queue, 0);
    }
    round_of(&queue, 0);
    assert_in_range(co_path_queue_ahead(&queue), 0, 100);
    co_path_queue_late(&queue, UINT64_C(1) << 40); // a stopped member
    assert_int_equal(co_path_queue_most(&queue), CO_PATH_QUEUE_MOST + CO_PATH_QUEUE_LATE_MOST);
}

static void parts_shrink_with_it(void **state)
{
    (void)state;
    struct co_path_queue queue;
    co_path_queue_open(&queue);
    assert_int_equal(co_path_queue_part(&queue, 40), 40);
    queue.now = CO_PATH_QUEUE_MOST / 4;
    assert_int_equal(co_path_queue_part(&queue, 40), 10);
    queue.now = CO_PATH_QUEUE_MOST * 4;
    assert_int_equal(co_path_queue_part(&queue, 40), 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overrun_halves_it_and_success_grows_it),
        cmocka_unit_test(a_queue_that_overflows_sooner_is_halved_again),
        cmocka_unit_test(one_that_is_shorter_and_loses_as_much_is_not_the_cause),
        cmocka_unit_test(loss_that_a_shorter_queue_does_not_cure_leaves_it_long),
        cmocka_unit_test(chance_is_no_loss),
        cmocka_unit_test(it_is_careful_where_it_lost),
        cmocka_unit_test(who_is_late_gets_more_to_do),
        cmocka_unit_test(parts_shrink_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
