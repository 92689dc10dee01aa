// SPDX-License-Identifier: BSD-3-Clause
//
// Proxies, as castoff info tries them.
#include "tools/info/info_transports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// It would start itself, and that one again.
static void a_program_that_is_not_castoff_starts_no_proxy(void **state)
{
    struct co_transport_state proxy = {.name = "proxy"};
    (void)state;
    co_proxy_probe(&proxy);
    assert_false(proxy.is_usable);
    assert_string_equal(proxy.detail, "only the castoff command can be a proxy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_program_that_is_not_castoff_starts_no_proxy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
