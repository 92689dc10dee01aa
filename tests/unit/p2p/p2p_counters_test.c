// SPDX-License-Identifier: BSD-3-Clause
//
// What the report says of messages: how many, matched by what, early ones, the longest queues, credit that ran out.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/counters.h"
#include "p2p_letters.h"

static uint64_t grown(enum co_counter_id id, const uint64_t before[CO_COUNTER_COUNT])
{
    return co_counter_read(id) - before[id];
}

// In the end, communicators that were closed long before included.
static void counted(void **state)
{
    enum { CREDIT = 64 << 10, BYTES = 3000, COUNT = 30 };
    static struct co_p2p_send sends[COUNT];
    uint64_t before[CO_COUNTER_COUNT];
    int peers[] = {0, 1};
    (void)state;
    for (int i = 0; i < CO_COUNTER_COUNT; i++) {
        before[i] = co_counter_read((enum co_counter_id)i);
    }
    open_world(2, 4096, CREDIT, true);
    struct co_p2p_context *left = co_p2p_context_open(world.ranks[0], 91, peers, 2, 0);
    struct co_p2p_context *right = co_p2p_context_open(world.ranks[1], 91, peers, 2, 1);
    struct co_p2p_receive waiting[4];
    for (int class = 0; class < 4; class ++) {
        waiting[class] = receive_at(1, LARGE);
        waiting[class].context = right;
        co_p2p_receive(&waiting[class], class & 1 ? CO_P2P_ANY : 0, class & 2 ? CO_P2P_ANY : 100);
    }
    for (int i = 0; i < COUNT; i++) { // four are expected, about twenty have credit, the others wait
        sends[i] = send_of(0, 1, 100, BYTES);
        sends[i].context = left;
        co_p2p_send(&sends[i]);
        p2p_world_settle(&world);
    }
    assert_false(co_p2p_send_is_done(&sends[COUNT - 1]));
    for (int i = 4; i < COUNT; i++) {
        struct co_p2p_receive receive = receive_at(1, LARGE);
        receive.context = right;
        co_p2p_receive(&receive, 0, 100);
        p2p_world_settle(&world);
        assert_true(co_p2p_receive_is_done(&receive));
    }
    co_p2p_context_close(left);
    co_p2p_context_close(right);
    p2p_world_close(&world);
    assert_int_equal(grown(CO_COUNT_MESSAGES_SENT, before), COUNT);
    assert_int_equal(grown(CO_COUNT_MESSAGE_BYTES, before), COUNT * BYTES);
    assert_int_equal(grown(CO_COUNT_MATCHED_EXACT, before), 1 + COUNT - 4);
    assert_int_equal(grown(CO_COUNT_MATCHED_ANY_SOURCE, before), 1);
    assert_int_equal(grown(CO_COUNT_MATCHED_ANY_TAG, before), 1);
    assert_int_equal(grown(CO_COUNT_MATCHED_ANY_BOTH, before), 1);
    assert_int_equal(grown(CO_COUNT_MESSAGES_UNEXPECTED, before), COUNT - 4);
    assert_true(grown(CO_COUNT_CREDIT_STALLS, before) >= 1);
    assert_true(co_counter_read(CO_COUNT_UNEXPECTED_HIGH) >= 20 && co_counter_read(CO_COUNT_POSTED_HIGH) >= 4);
}

enum { MANY = 300, FIRST = 64 };

// Receives and messages that wait, how many of them beyond the tables, by how far these may grow.
static uint64_t beyond_tables(uint32_t places_most)
{
    static struct co_p2p_receive receives[MANY];
    static struct co_p2p_send sends[2 * MANY];
    uint64_t before[CO_COUNTER_COUNT] = {[CO_COUNT_BEYOND_TABLES] = co_counter_read(CO_COUNT_BEYOND_TABLES)};
    struct p2p_world_options options = {
        .size = 2, .eager_most = 64, .credit = 1 << 20, .matcher = {FIRST, FIRST, 4}, .places_most = places_most};
    p2p_world_open(&world, &options);
    for (int i = 0; i < MANY; i++) {
        receives[i] = receive_at(1, 0);
        co_p2p_receive(&receives[i], i % 3 == 0 ? CO_P2P_ANY : 0, i / 2);
    }
    for (int i = 0; i < 2 * MANY; i++) { // the second half comes without a receive
        sends[i] = send_of(0, 1, i < MANY ? i / 2 : i, 0);
        co_p2p_send(&sends[i]);
        p2p_world_settle(&world);
    }
    for (int i = 0; i < MANY; i++) {
        assert_true(co_p2p_receive_is_done(&receives[i]));
        receives[i] = receive_at(1, 0);
        co_p2p_receive(&receives[i], 0, 2 * MANY - 1 - i);
        assert_true(co_p2p_receive_is_done(&receives[i]));
    }
    p2p_world_close(&world);
    return grown(CO_COUNT_BEYOND_TABLES, before);
}

static void tables_grow_as_far_as_they_may(void **state)
{
    (void)state;
    assert_int_equal(beyond_tables(0), 2 * (MANY - FIRST));
    assert_int_equal(beyond_tables(200), 2 * (MANY - 200));
    assert_int_equal(beyond_tables(MANY), 0);
    assert_int_equal(beyond_tables(1 << 20), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(counted), cmocka_unit_test(tables_grow_as_far_as_they_may)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
