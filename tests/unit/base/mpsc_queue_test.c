// SPDX-License-Identifier: BSD-3-Clause
//
// The queue: order with one thread, the state between the two steps of a push, and a stress of several producers
// that loses nothing, repeats nothing and keeps each producer's order; also run under ThreadSanitizer.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mpsc_queue.h"

enum { PRODUCERS = 4, EACH = 5000 };

struct item {
    struct co_mpsc_node node; // first, so that a node is its item
    int producer, number;
};

static struct item items[PRODUCERS][EACH];
static struct co_mpsc_queue queue;

static struct item *pop(void)
{
    return (struct item *)co_mpsc_queue_pop(&queue);
}

static void first_in_first_out(void **state)
{
    (void)state;
    co_mpsc_queue_open(&queue);
    assert_null(pop());
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++) {
            co_mpsc_queue_push(&queue, &items[0][i].node);
        }
        for (int i = 0; i < 5; i++) {
            assert_ptr_equal(pop(), &items[0][i]);
        }
        assert_null(pop());
    }
}

static void push_and_pop_in_turn(void **state)
{
    (void)state;
    co_mpsc_queue_open(&queue);
    co_mpsc_queue_push(&queue, &items[0][0].node);
    for (int i = 1; i < 50; i++) {
        co_mpsc_queue_push(&queue, &items[0][i].node);
        assert_ptr_equal(pop(), &items[0][i - 1]);
    }
    assert_ptr_equal(pop(), &items[0][49]);
    assert_null(pop());
}

static void a_popped_node_can_be_pushed_again(void **state)
{
    (void)state;
    co_mpsc_queue_open(&queue);
    for (int i = 0; i < 100; i++) {
        co_mpsc_queue_push(&queue, &items[0][0].node);
        assert_ptr_equal(pop(), &items[0][0]);
    }
}

// A push by hand, stopped between its two steps.
static void an_unfinished_push_hides_but_loses_nothing(void **state)
{
    struct item *first = &items[0][0], *second = &items[0][1], *third = &items[0][2];

    (void)state;
    co_mpsc_queue_open(&queue);
    co_mpsc_queue_push(&queue, &first->node);
    atomic_store(&second->node.next, NULL);
    struct co_mpsc_node *before = atomic_exchange(&queue.newest, &second->node);
    assert_ptr_equal(before, &first->node);
    co_mpsc_queue_push(&queue, &third->node);
    assert_null(pop());
    atomic_store(&before->next, &second->node);
    assert_ptr_equal(pop(), first);
    assert_ptr_equal(pop(), second);
    assert_ptr_equal(pop(), third);
    assert_null(pop());
}

static void *produce(void *argument)
{
    struct item *own = argument;

    for (int i = 0; i < EACH; i++) {
        own[i].number = i; // plain: the queue must publish it
        co_mpsc_queue_push(&queue, &own[i].node);
    }
    return NULL;
}

static void producers_at_once(void **state)
{
    pthread_t threads[PRODUCERS];
    int next[PRODUCERS] = {0};

    (void)state;
    co_mpsc_queue_open(&queue);
    for (int i = 0; i < PRODUCERS; i++) {
        for (int j = 0; j < EACH; j++) {
            items[i][j].producer = i;
            items[i][j].number = -1;
        }
        assert_int_equal(pthread_create(&threads[i], NULL, produce, items[i]), 0);
    }
    for (int received = 0; received < PRODUCERS * EACH;) {
        struct item *item = pop();
        if (!item) {
            sched_yield();
            continue;
        }
        assert_int_equal(item->number, next[item->producer]);
        next[item->producer]++;
        received++;
    }
    for (int i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(next[i], EACH);
    }
    assert_null(pop());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_first_out),
        cmocka_unit_test(push_and_pop_in_turn),
        cmocka_unit_test(a_popped_node_can_be_pushed_again),
        cmocka_unit_test(an_unfinished_push_hides_but_loses_nothing),
        cmocka_unit_test(producers_at_once),
    };

    return cmocka_run_group_tests_name("mpsc_queue", tests, NULL, NULL);
}
