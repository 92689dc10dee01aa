// SPDX-License-Identifier: BSD-3-Clause
//
// Coordinator, hop and clients over TCP, in a network namespace of their own: a group from its opening to its end with
// the hop's table as the witness; wrong secret, other version, strangers; a coordinator that dies and comes back.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "onesided_server_rig.h"
#include "udp_namespace.h"

static int live_group(void)
{
    server_start();
    server_start_hop();
    server_await(server_was_said, "the coordinator has taken this hop", "the hop is taken");
    server_open_group();
    server_await_actions(2, "the rule has two actions");
    server_say(1, CO_SAY_CLOSE);
    server_hears(1, CO_SAY_DONE);
    server_await_actions(1, "one member has left");
    co_tcp_close(&server_links[2]); // and one dies
    server_await_actions(0, "the other is dead");
    server_hears(0, CO_SAY_MEMBER_LOST);
    server_hears(0, CO_SAY_MEMBER_LOST);
    server_say(0, CO_SAY_CLOSE);
    server_hears(0, CO_SAY_DONE);
    server_close_clients();
    server_open_group();
    server_await_actions(2, "a group of the same name");
    co_tcp_close(&server_links[0]); // the owner dies: its rules vanish
    server_await_actions(0, "no rule without a sender");
    server_hears(1, CO_SAY_ENDED);
    namespace_require(strcmp(server_message.answer.text, "the sender has been lost") == 0, server_message.answer.text);
    server_close_clients();
    server_end_hop();
    server_end();
    return 0;
}

// The coordinator dies: rules end with their lease. It comes back: so does the hop.
static int live_death(void)
{
    server_start();
    server_start_hop();
    server_await(server_was_said, "the coordinator has taken this hop", "the hop is taken");
    server_open_group();
    server_await_actions(2, "the rule is there");
    server_await_hop_for(2500 * CO_NS_PER_MS); // longer than the lease: reports keep it
    server_await_actions(2, "the rule is still there");
    server_end();
    server_await_actions(0, "the lease has ended");
    namespace_require(server_hop_expired(1), "by itself");
    server_close_clients();
    server_forget_said();
    server_start();
    server_await(server_was_said, "the coordinator has taken this hop", "the hop is taken again");
    server_open_group();
    server_await_actions(2, "rules are there again");
    server_end_hop(); // and a hop that is killed: whoever closes waits for the end of its lease, and is answered
    server_say(1, CO_SAY_CLOSE);
    server_hears(1, CO_SAY_DONE);
    server_start_hop();
    server_await_actions(1, "a new hop gets what is open");
    server_close_clients();
    server_end_hop();
    server_end();
    return 0;
}

static void a_group(void **state)
{
    (void)state;
    namespace_enter_and(server_commands, live_group);
}

static void deaths(void **state)
{
    (void)state;
    namespace_enter_and(server_commands, live_death);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_group), cmocka_unit_test(deaths)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
