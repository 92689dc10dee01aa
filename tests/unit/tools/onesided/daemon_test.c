// SPDX-License-Identifier: BSD-3-Clause
//
// Signals that end a daemon, and those that whoever started it had ignored.
#include "tools/onesided/daemon.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_daemon_ends_by_signals_that_were_not_ignored(void **state)
{
    (void)state;
    signal(SIGTERM, SIG_DFL); // whatever has started this program
    signal(SIGHUP, SIG_IGN);
    co_daemon_catch_signals();
    raise(SIGHUP);
    assert_int_equal(co_daemon_stop, 0);
    raise(SIGTERM);
    assert_int_equal(co_daemon_stop, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_daemon_ends_by_signals_that_were_not_ignored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
