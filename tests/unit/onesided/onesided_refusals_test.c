// SPDX-License-Identifier: BSD-3-Clause
//
// What the coordinator refuses, and its words: members that do not come or do not answer, names twice, a full hop, what
// makes no sense.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "coordinator_rig.h"

static void a_member_that_never_answers(void **state)
{
    (void)state;
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        rig_open_as(i, CO_SAY_OPEN_MEMBER, 4000);
    }
    rig_say(M1, CO_SAY_READY);
    co_coordinator_tick(rig_coordinator, rig_now + PATIENCE - 1);
    rig_hears_nothing(SENDER);
    co_coordinator_tick(rig_coordinator, rig_now + PATIENCE);
    const struct said *ended = rig_hears(SENDER, CO_SAY_ENDED);
    assert_int_equal(ended->reason, CO_REASON_DEADLINE);
    assert_string_equal(ended->text, "no answer to set-up within 5 s from h3, h4");
    rig_hears(M1, CO_SAY_SETUP);
    rig_hears(M1, CO_SAY_ENDED);
    rig_say(M2, CO_SAY_READY); // too late
    rig_hears_nothing(HOP);
    assert_int_equal(co_coordinator_groups(rig_coordinator), 0);
}

static void members_that_never_come(void **state)
{
    (void)state;
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    co_coordinator_tick(rig_coordinator, rig_now + 2000 * MS);
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text, "1 of 3 members have joined in time: h3");
    rig_hears(M2, CO_SAY_ENDED);
}

static void a_member_lost_in_set_up(void **state)
{
    (void)state;
    uint32_t request = coordinator_rig_set_up();
    co_coordinator_left(rig_coordinator, M3, rig_now);
    uint32_t removal = rig_hears(HOP, CO_SAY_RULE_REMOVE)->request;
    rig_answer(request, CO_SAY_DONE, ""); // overtaken
    rig_hears_nothing(SENDER);
    rig_answer(removal, CO_SAY_DONE, "");
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text, "member h4 has been lost");
}

static void a_full_hop(void **state)
{
    (void)state;
    rig_answer(coordinator_rig_set_up(), CO_SAY_REFUSED, "the table is full");
    rig_answer(rig_hears(HOP, CO_SAY_RULE_REMOVE)->request, CO_SAY_REFUSED, "no such rule");
    const struct said *ended = rig_hears(SENDER, CO_SAY_ENDED);
    assert_int_equal(ended->reason, CO_REASON_FULL);
    assert_string_equal(ended->text, "hop leaf: the table is full");
    rig_hears(M1, CO_SAY_ENDED);
}

static void names_twice(void **state)
{
    (void)state;
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    rig_open_as(OTHER, CO_SAY_OPEN_SENDER, 4000);
    const struct said *refused = rig_hears(OTHER, CO_SAY_REFUSED);
    assert_int_equal(refused->reason, CO_REASON_EXISTS);
    assert_string_equal(refused->text, "group files has a sender already: h1 at 10.0.0.9:5");
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(rig_hears(M1, CO_SAY_REFUSED)->text, "a connection is for one group");
    rig_message.open.end.qpn = 9;
    snprintf(rig_message.open.name, sizeof rig_message.open.name, "h2");
    rig_say(OTHER, CO_SAY_OPEN_MEMBER);
    assert_string_equal(rig_hears(OTHER, CO_SAY_REFUSED)->text, "group files has a member h2 already");
    assert_string_equal(rig_log, "x at 10.0.0.9:5: refused: group files has a member h2 already");
}

static void what_makes_no_sense(void **state)
{
    (void)state;
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 0);
    rig_hears(SENDER, CO_SAY_REFUSED);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, CO_TRANSFER_BYTES_MAX + 1);
    rig_hears(SENDER, CO_SAY_REFUSED);
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 0);
    rig_hears(M1, CO_SAY_REFUSED);
    rig_open_as(M1, CO_SAY_OPEN_MEMBER, 3999);
    rig_open_as(M2, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(M3, CO_SAY_OPEN_MEMBER, 4000);
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text,
                        "member h2 has registered 3999 bytes, and 4000 are to be written");
    rig_say(OTHER, CO_SAY_HOP_REPORT);
    assert_string_equal(rig_hears(OTHER, CO_SAY_REFUSED)->text, "a message that nobody expects here");
    for (unsigned i = M1; i <= M3; i++) {
        rig_hears(i, CO_SAY_ENDED);
    }
    rig_open_as(OTHER, CO_SAY_OPEN_MEMBER, 4000);
    for (unsigned i = M1; i <= M3; i++) {
        rig_open_as(i, CO_SAY_OPEN_MEMBER, 4000);
    }
    rig_open_as(SENDER, CO_SAY_OPEN_SENDER, 4000);
    assert_string_equal(rig_hears(SENDER, CO_SAY_ENDED)->text, "4 members have joined, and 3 are wanted");
}

static void late_comers(void **state)
{
    (void)state;
    rig_open_group();
    rig_open_as(OTHER, CO_SAY_OPEN_MEMBER, 4000);
    assert_string_equal(rig_hears(OTHER, CO_SAY_REFUSED)->text,
                        "group files is under way and takes no members any more");
    rig_say(SENDER, CO_SAY_CLOSE);
    rig_open_as(OTHER, CO_SAY_OPEN_SENDER, 4000);
    rig_hears(OTHER, CO_SAY_REFUSED);
}

static void who_does_not_log_in(void **state)
{
    (void)state;
    coordinator_rig_join(OTHER);
    co_coordinator_tick(rig_coordinator, rig_now + PATIENCE - 1);
    assert_false(rig_dropped[OTHER]);
    co_coordinator_tick(rig_coordinator, rig_now + PATIENCE);
    assert_true(rig_dropped[OTHER]);
    coordinator_rig_join(OTHER);
    rig_say(OTHER, CO_SAY_OPEN_SENDER);
    rig_hears(OTHER, CO_SAY_REFUSED);
}

int main(void)
{
#define RUN(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)
    const struct CMUnitTest tests[] = {
        RUN(a_member_that_never_answers),
        RUN(members_that_never_come),
        RUN(a_member_lost_in_set_up),
        RUN(a_full_hop),
        RUN(names_twice),
        RUN(what_makes_no_sense),
        RUN(late_comers),
        RUN(who_does_not_log_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
