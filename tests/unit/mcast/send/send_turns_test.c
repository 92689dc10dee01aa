// SPDX-License-Identifier: BSD-3-Clause
//
// Turns of many senders: who may send by what has come, with members that are ahead, late, or lose some; and how many
// chunks of all may be under way as the path shows what it carries.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "mcast/send/send_turns.h"

enum { SENDERS = 32, CHUNKS = 8, MOST = 20 };

// As co_operation_take_turns and the looks after it keep them, for one member of a world in which nothing is lost.
struct member {
    struct co_send_turns turns;
    uint32_t sent, shown[SENDERS];
};

static void reach(struct member *member)
{
    member->turns.reach = member->sent + 1;
    member->turns.come = 0;
    for (uint32_t i = 0; i < SENDERS; i++) {
        co_send_turns_show(&member->turns, 0, i == member->turns.place ? 0 : member->shown[i]);
    }
}

static void open(struct member *member, uint32_t place)
{
    *member = (struct member){.turns = {.senders = SENDERS, .place = place, .unit = 1, .reach = 1}};
}

static void show(struct member *member, uint32_t source, uint32_t shown)
{
    co_send_turns_show(&member->turns, member->shown[source], shown);
    member->shown[source] = shown;
}

static uint32_t room(const struct member *member)
{
    return co_send_turns_room(&member->turns, member->sent, MOST);
}

static void the_first_ones_begin(void **state)
{
    (void)state;
    struct member member;
    for (uint32_t place = 0; place < SENDERS; place++) {
        open(&member, place);
        assert_int_equal(room(&member), place < MOST);
        for (uint32_t before = 0; before < place; before++) {
            show(&member, before, 1);
        }
        assert_int_equal(room(&member), 1);
    }
}

// What comes at once, whoever sends when it may: never more than MOST under way, and none is left without a turn.
static void all_come_to_their_end(void **state)
{
    (void)state;
    static struct member members[SENDERS];
    uint32_t under_way = 0, left = SENDERS * CHUNKS, queue[SENDERS * CHUNKS], first = 0, last = 0, sent[SENDERS] = {0};
    for (uint32_t i = 0; i < SENDERS; i++) {
        open(&members[i], i);
    }
    while (left > 0 || first < last) {
        for (uint32_t i = 0; i < SENDERS; i++) {
            while (members[i].sent < CHUNKS && room(&members[i]) > 0) {
                members[i].sent++;
                reach(&members[i]);
                queue[last++] = i;
                left--;
                under_way++;
            }
        }
        assert_in_range(under_way, 1, MOST + 1);
        uint32_t source = queue[first++];
        sent[source]++;
        under_way--;
        for (uint32_t i = 0; i < SENDERS; i++) {
            if (i != source) {
                show(&members[i], source, sent[source]);
            }
        }
    }
    for (uint32_t i = 0; i < SENDERS; i++) {
        assert_int_equal(members[i].sent, CHUNKS);
    }
}

static void who_is_ahead_does_not_stand_in_for_who_is_late(void **state)
{
    (void)state;
    struct member member;
    open(&member, SENDERS - 1);
    for (uint32_t source = 0; source < SENDERS - MOST; source++) {
        show(&member, source, CHUNKS); // of which one each counts
    }
    assert_int_equal(member.turns.come, SENDERS - MOST);
    assert_int_equal(room(&member), 1);
    member.sent = 1;
    reach(&member);
    assert_int_equal(member.turns.come, 2 * (SENDERS - MOST));
    assert_int_equal(room(&member), 0);
}

static void what_was_lost_holds_nobody_up(void **state)
{
    (void)state;
    struct member member;
    open(&member, 0);
    member.sent = 2;
    reach(&member);
    for (uint32_t source = 1; source < SENDERS; source++) {
        show(&member, source, 3); // the first two may have been lost
        show(&member, source, 3);
    }
    assert_int_equal(member.turns.come, 3 * (SENDERS - 1));
    assert_int_equal(room(&member), 2); // the third, and MOST of the fourth turn
}

static void a_block_that_has_ended_is_in_nobodys_way(void **state)
{
    (void)state;
    struct member member;
    open(&member, 0);
    member.sent = CHUNKS - 1;
    reach(&member);
    for (uint32_t source = 1; source < SENDERS; source++) {
        show(&member, source, source < SENDERS - 8 ? UINT32_MAX : 1);
    }
    assert_int_equal(room(&member), 0);
    show(&member, SENDERS - 1, UINT32_MAX);
    show(&member, SENDERS - 2, UINT32_MAX);
    assert_int_equal(room(&member), 1);
}

// A whole turn leaves at once, or nothing; what was begun may be ended.
static void what_leaves_in_a_turn_leaves_together(void **state)
{
    (void)state;
    struct member member;
    open(&member, 2);
    member.turns.unit = member.turns.reach = CHUNKS;
    assert_int_equal(co_send_turns_room(&member.turns, 0, MOST - 1), 0); // 16 before, and 8
    assert_int_equal(co_send_turns_room(&member.turns, 0, MOST), CHUNKS);
    assert_int_equal(co_send_turns_room(&member.turns, 3, 0), CHUNKS - 3);
    assert_int_equal(co_send_turns_room(&member.turns, CHUNKS, MOST), 0);
}

// It grows by halves as long as the path gives more for it, and no further.
static void more_are_under_way_where_the_path_carries_more(void **state)
{
    (void)state;
    struct co_send_rate rate;
    uint32_t sent = 0, delivered = 0, before = 0;
    uint64_t now_ns = CO_NS_PER_S;
    co_send_rate_open(&rate, 100, 4, 1000, false);
    assert_int_equal(co_send_turns_most(&rate), 65);
    for (unsigned round = 0; round < 40; round++) {
        uint64_t most = co_send_turns_most(&rate), carried = most < 300 ? most : 300; // in 100 ms
        assert_true(most >= before);
        before = (uint32_t)most;
        co_send_rate_sent(&rate, SENDERS, sent += 8, 8, true, delivered, false, now_ns);
        now_ns += CO_NS_PER_S / 10;
        co_send_rate_hear(&rate, sent, sent, delivered += (uint32_t)carried, false, now_ns);
    }
    assert_in_range(before, 300, 300 * 3 / 2 * 3 / 2);
    rate.best[0] = 10000000; // a member sees what has come, and answers, only so fast
    assert_int_equal(co_send_turns_most(&rate), 2500);
}

// Datagrams of nearly 64 KiB; and rounds that end while no rate is known say nothing.
static void large_chunks_have_turns_too(void **state)
{
    (void)state;
    struct co_send_rate rate;
    co_send_rate_open(&rate, 1, 1, 1000, false);
    assert_int_equal(co_send_turns_most(&rate), 2);
    for (uint32_t sent = 1; sent < 20; sent++) {
        co_send_rate_sent(&rate, SENDERS, sent, 1, true, 0, true, sent * CO_NS_PER_S);
        co_send_rate_hear(&rate, sent, sent, 0, false, sent * CO_NS_PER_S + 1);
    }
    assert_int_equal(co_send_turns_most(&rate), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_ones_begin),
        cmocka_unit_test(all_come_to_their_end),
        cmocka_unit_test(who_is_ahead_does_not_stand_in_for_who_is_late),
        cmocka_unit_test(what_was_lost_holds_nobody_up),
        cmocka_unit_test(a_block_that_has_ended_is_in_nobodys_way),
        cmocka_unit_test(what_leaves_in_a_turn_leaves_together),
        cmocka_unit_test(more_are_under_way_where_the_path_carries_more),
        cmocka_unit_test(large_chunks_have_turns_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
