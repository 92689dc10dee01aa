// SPDX-License-Identifier: BSD-3-Clause
//
// The matcher against the list oracle: the whole pairing must be the same, for random streams of posts, messages,
// probes, matched probes, cancels and messages put back, whatever the number of bins and the size of the tables. And
// the cases one by one that a random stream might miss.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "match_oracle.h"
#include "matching/matcher.h"

enum { STEPS = 3000 };

struct pair {
    struct co_matcher *matcher;
    struct co_matcher_config tables;
    struct oracle oracle;
    struct co_match_node receives[STEPS], messages[STEPS];
    int posted, arrived;
    int held[STEPS], held_count; // messages taken by a matched probe
};

static uint64_t dice;

static unsigned roll(unsigned below)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((dice >> 33) % below);
}

static void *memory_for(const struct co_matcher_config *config)
{
    size_t bytes = (co_matcher_bytes(config) + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    return memory;
}

static struct co_matcher *open_matcher(uint32_t receives, uint32_t messages, uint32_t bins)
{
    struct co_matcher_config config = {.receives = receives, .messages = messages, .bins = bins};
    return co_matcher_open(memory_for(&config), &config);
}

// Into tables that are larger, or have more bins; what is left behind must not matter.
static struct co_matcher *move_matcher(struct co_matcher *matcher, const struct co_matcher_config *config)
{
    struct co_matcher *moved = co_matcher_move(matcher, memory_for(config), config);
    free(matcher);
    return moved;
}

static int message_id(const struct pair *pair, const struct co_match_node *message)
{
    return message == NULL ? ORACLE_NONE : (int)(message - pair->messages);
}

static int receive_id(const struct pair *pair, const struct co_match_node *receive)
{
    return receive == NULL ? ORACLE_NONE : (int)(receive - pair->receives);
}

static int32_t any_or(unsigned keys)
{
    return roll(4) == 0 ? CO_MATCH_ANY : (int32_t)roll(keys);
}

// Now and then internal traffic, which wildcards must not see.
static int32_t some_tag(unsigned keys)
{
    return roll(10) == 0 ? -1 - (int32_t)roll(2) : (int32_t)roll(keys);
}

static void post(struct pair *pair, unsigned keys)
{
    int id = pair->posted++;
    struct co_match_node *receive = &pair->receives[id];
    *receive = (struct co_match_node){.source = any_or(keys), .tag = roll(4) == 0 ? CO_MATCH_ANY : some_tag(keys)};
    assert_int_equal(message_id(pair, co_matcher_post(pair->matcher, receive)),
                     oracle_post(&pair->oracle, id, receive->source, receive->tag));
}

static void arrive(struct pair *pair, unsigned keys)
{
    int id = pair->arrived++;
    struct co_match_node *message = &pair->messages[id];
    *message = (struct co_match_node){.source = (int32_t)roll(keys), .tag = some_tag(keys)};
    struct co_match_hashes hashes = co_match_hashes_of(message->source, message->tag);
    struct co_match_node *receive = roll(2) ? co_matcher_claim(pair->matcher, message->source, message->tag) : NULL;
    if (receive == NULL) {
        receive = co_matcher_arrive(pair->matcher, message, roll(2) ? &hashes : NULL);
    }
    assert_int_equal(receive_id(pair, receive), oracle_arrive(&pair->oracle, id, message->source, message->tag));
}

static void probe(struct pair *pair, unsigned keys)
{
    int32_t source = any_or(keys), tag = any_or(keys);
    assert_int_equal(message_id(pair, co_matcher_probe(pair->matcher, source, tag)),
                     oracle_probe(&pair->oracle, source, tag));
    if (roll(2)) {
        int id = message_id(pair, co_matcher_take(pair->matcher, source, tag));
        assert_int_equal(id, oracle_take(&pair->oracle, source, tag));
        if (id != ORACLE_NONE) {
            pair->held[pair->held_count++] = id;
        }
    }
}

static void put_back(struct pair *pair)
{
    if (pair->held_count == 0) {
        return;
    }
    unsigned which = roll((unsigned)pair->held_count);
    int id = pair->held[which];
    pair->held[which] = pair->held[--pair->held_count];
    struct co_match_node *message = &pair->messages[id];
    assert_int_equal(receive_id(pair, co_matcher_put_back(pair->matcher, message)),
                     oracle_put_back(&pair->oracle, id, message->source, message->tag));
}

static void cancel(struct pair *pair)
{
    if (pair->posted > 0) {
        int id = (int)roll((unsigned)pair->posted);
        assert_int_equal(co_matcher_cancel(pair->matcher, &pair->receives[id]), oracle_cancel(&pair->oracle, id));
    }
}

static void grow(struct pair *pair)
{
    struct co_matcher_state state;
    struct co_matcher_config *tables = &pair->tables;
    tables->receives += roll(2) * tables->receives / 2;
    tables->messages += roll(2) * tables->messages / 2;
    tables->bins <<= roll(2);
    pair->matcher = move_matcher(pair->matcher, tables);
    co_matcher_state(pair->matcher, &state);
    uint32_t beyond_receives = state.receives > tables->receives ? state.receives - tables->receives : 0;
    uint32_t beyond_messages = state.messages > tables->messages ? state.messages - tables->messages : 0;
    assert_int_equal(state.listed_receives, beyond_receives);
    assert_int_equal(state.listed_messages, beyond_messages);
}

static void leave_nothing(struct pair *pair)
{
    struct co_match_node *message;
    for (int id = 0; id < pair->posted; id++) {
        assert_int_equal(co_matcher_cancel(pair->matcher, &pair->receives[id]), oracle_cancel(&pair->oracle, id));
    }
    while ((message = co_matcher_take(pair->matcher, CO_MATCH_ANY, CO_MATCH_ANY)) != NULL) {
        assert_int_equal(message_id(pair, message), oracle_take(&pair->oracle, CO_MATCH_ANY, CO_MATCH_ANY));
    }
    for (int id = 0; id < pair->arrived; id++) { // internal traffic
        struct co_match_node *left = &pair->messages[id];
        while ((message = co_matcher_take(pair->matcher, left->source, left->tag)) != NULL) {
            oracle_take(&pair->oracle, left->source, left->tag);
        }
    }
    pair->held_count = 0; // they belong to nobody now
}

// One communicator after the other with the same tables.
static void renew(struct pair *pair)
{
    struct co_matcher_state state;
    co_matcher_state(pair->matcher, &state);
    if (state.receives + state.messages > 0) {
        assert_false(co_matcher_renew(pair->matcher, STEPS));
    }
    leave_nothing(pair);
    assert_true(co_matcher_renew(pair->matcher, STEPS));
    co_matcher_state(pair->matcher, &state);
    assert_int_equal(state.receives_high + state.messages_high + state.matches[CO_MATCH_EXACT] + state.unexpected, 0);
}

// `moves`: one in so many steps, 0: none.
static void run_stream(uint64_t seed, uint32_t places, uint32_t bins, unsigned keys, unsigned moves)
{
    struct pair *pair = calloc(1, sizeof(*pair));
    assert_non_null(pair);
    dice = seed;
    pair->tables = (struct co_matcher_config){places, places, bins};
    pair->matcher = open_matcher(places, places, bins);
    unsigned bias = 0;
    for (int step = 0; step < STEPS; step++) {
        bias = step % 200 == 0 ? roll(60) : bias; // now receives pile up, now messages
        unsigned what = roll(100);
        if (what < 15 + bias) {
            post(pair, keys);
        } else if (what < 75) {
            arrive(pair, keys);
        } else if (what < 85) {
            probe(pair, keys);
        } else if (what < 92) {
            put_back(pair);
        } else {
            cancel(pair);
        }
        if (moves != 0 && roll(moves) == 0) {
            grow(pair);
        }
        if (step % 700 == 699) {
            renew(pair);
        }
        struct co_matcher_state state;
        co_matcher_state(pair->matcher, &state);
        assert_int_equal(state.receives, pair->oracle.receive_count);
        assert_int_equal(state.messages, pair->oracle.message_count);
    }
    free(pair->matcher);
    free(pair);
}

static void any_stream(void **state)
{
    (void)state;
    static const struct {
        uint32_t places, bins;
        unsigned keys;
    } of[] = {{STEPS, 1, 3}, {STEPS, 64, 3}, {STEPS, 64, 40}, {1, 1, 3}, {1, 16, 3}, {5, 2, 4}, {40, 8, 4}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            run_stream(seed, of[i].places, of[i].bins, of[i].keys, 0);
        }
    }
}

static void tables_grow_in_any_stream(void **state)
{
    (void)state;
    static const struct {
        uint32_t places, bins;
        unsigned keys;
    } of[] = {{2, 1, 3}, {4, 1, 40}, {16, 8, 4}, {STEPS, 1, 5}};
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        for (uint64_t seed = 1; seed <= 12; seed++) {
            run_stream(seed, of[i].places, of[i].bins, of[i].keys, 250);
        }
    }
}

static void the_first_posted_wins_over_all_indexes(void **state)
{
    (void)state;
    static const int32_t keys[4][2] = {{1, 2}, {CO_MATCH_ANY, 2}, {1, CO_MATCH_ANY}, {CO_MATCH_ANY, CO_MATCH_ANY}};
    for (int first = 0; first < 4; first++) {
        struct co_matcher *matcher = open_matcher(8, 8, 4);
        struct co_match_node receives[4], message = {.source = 1, .tag = 2};
        for (int i = 0; i < 4; i++) {
            int which = (first + i) % 4;
            receives[i] = (struct co_match_node){.source = keys[which][0], .tag = keys[which][1]};
            assert_null(co_matcher_post(matcher, &receives[i]));
        }
        for (int i = 0; i < 4; i++) {
            assert_ptr_equal(co_matcher_arrive(matcher, &message, NULL), &receives[i]);
        }
        free(matcher);
    }
}

static void what_exceeds_the_table_keeps_its_order_and_comes_back(void **state)
{
    (void)state;
    enum { COUNT = 20, PLACES = 6 };
    struct co_matcher *matcher = open_matcher(PLACES, PLACES, 4);
    struct co_match_node receives[COUNT], messages[COUNT];
    struct co_matcher_state now;
    for (int i = 0; i < COUNT; i++) {
        receives[i] = (struct co_match_node){.source = i % 2 ? CO_MATCH_ANY : 3, .tag = 4};
        messages[i] = (struct co_match_node){.source = 3, .tag = 4};
        assert_null(co_matcher_post(matcher, &receives[i]));
    }
    co_matcher_state(matcher, &now);
    assert_int_equal(now.listed_receives, COUNT - PLACES);
    for (int i = 0; i < COUNT; i++) {
        assert_ptr_equal(co_matcher_arrive(matcher, &messages[i], NULL), &receives[i]);
        co_matcher_state(matcher, &now);
        assert_int_equal(now.listed_receives, i < COUNT - PLACES ? COUNT - PLACES - i - 1 : 0);
    }
    for (int i = 0; i < COUNT; i++) {
        assert_null(co_matcher_arrive(matcher, &messages[i], NULL));
    }
    co_matcher_state(matcher, &now);
    assert_int_equal(now.listed_messages, COUNT - PLACES);
    assert_int_equal(now.messages_high, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_ptr_equal(co_matcher_post(matcher, &receives[i]), &messages[i]);
    }
    free(matcher);
}

static void a_message_put_back_stands_where_it_stood(void **state)
{
    (void)state;
    for (uint32_t places = 1; places <= 4; places++) { // also beyond the table
        struct co_matcher *matcher = open_matcher(4, places, 4);
        struct co_match_node messages[4], receive = {.source = CO_MATCH_ANY, .tag = CO_MATCH_ANY};
        for (int i = 0; i < 4; i++) {
            messages[i] = (struct co_match_node){.source = i, .tag = 7};
            assert_null(co_matcher_arrive(matcher, &messages[i], NULL));
        }
        assert_ptr_equal(co_matcher_take(matcher, 1, 7), &messages[1]);
        assert_null(co_matcher_probe(matcher, 1, CO_MATCH_ANY));
        assert_null(co_matcher_put_back(matcher, &messages[1]));
        for (int i = 0; i < 4; i++) {
            assert_ptr_equal(co_matcher_post(matcher, &receive), &messages[i]);
        }
        free(matcher);
    }
}

static void a_cancelled_receive_takes_nothing(void **state)
{
    (void)state;
    struct co_matcher *matcher = open_matcher(4, 4, 4);
    struct co_match_node receives[2] = {{.source = 1, .tag = 1}, {.source = 1, .tag = 1}};
    struct co_match_node message = {.source = 1, .tag = 1};
    assert_null(co_matcher_post(matcher, &receives[0]));
    assert_null(co_matcher_post(matcher, &receives[1]));
    assert_true(co_matcher_cancel(matcher, &receives[0]));
    assert_false(co_matcher_cancel(matcher, &receives[0]));
    assert_ptr_equal(co_matcher_arrive(matcher, &message, NULL), &receives[1]);
    assert_false(co_matcher_cancel(matcher, &receives[1])); // the message has it
    free(matcher);
}

static void wildcards_see_no_internal_traffic(void **state)
{
    (void)state;
    struct co_matcher *matcher = open_matcher(4, 4, 4);
    struct co_match_node any = {.source = CO_MATCH_ANY, .tag = CO_MATCH_ANY},
                         named = {.source = CO_MATCH_ANY, .tag = -5};
    struct co_match_node message = {.source = 1, .tag = -5};
    assert_null(co_matcher_post(matcher, &any));
    assert_null(co_matcher_arrive(matcher, &message, NULL));
    assert_null(co_matcher_probe(matcher, 1, CO_MATCH_ANY));
    assert_ptr_equal(co_matcher_post(matcher, &named), &message);
    free(matcher);
}

static void tables_that_were_used_much_are_not_renewed(void **state)
{
    (void)state;
    struct co_matcher *matcher = open_matcher(8, 8, 4);
    struct co_match_node receives[3];
    for (int i = 0; i < 3; i++) {
        receives[i] = (struct co_match_node){.source = i};
        assert_null(co_matcher_post(matcher, &receives[i]));
    }
    for (int i = 0; i < 3; i++) {
        assert_true(co_matcher_cancel(matcher, &receives[i]));
    }
    assert_false(co_matcher_renew(matcher, 2));
    assert_true(co_matcher_renew(matcher, 3));
    free(matcher);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_stream),
        cmocka_unit_test(tables_grow_in_any_stream),
        cmocka_unit_test(the_first_posted_wins_over_all_indexes),
        cmocka_unit_test(what_exceeds_the_table_keeps_its_order_and_comes_back),
        cmocka_unit_test(a_message_put_back_stands_where_it_stood),
        cmocka_unit_test(a_cancelled_receive_takes_nothing),
        cmocka_unit_test(wildcards_see_no_internal_traffic),
        cmocka_unit_test(tables_that_were_used_much_are_not_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
