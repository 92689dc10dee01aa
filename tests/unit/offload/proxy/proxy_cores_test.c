// SPDX-License-Identifier: BSD-3-Clause
//
// Which cores a proxy takes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "offload/proxy/proxy_cores.h"

static uint8_t chosen[CO_OFFLOAD_CORE_BYTES], allowed[CO_OFFLOAD_CORE_BYTES];
static struct co_offload_job job;

static int begin(void **state)
{
    (void)state;
    job = (struct co_offload_job){0};
    memset(chosen, 0, sizeof chosen);
    memset(allowed, 0, sizeof allowed);
    allowed[0] = 0xf0;
    return 0;
}

static void it_takes_what_no_rank_has(void **state)
{
    (void)state;
    job.rank_cores[0] = 0x3c;
    assert_int_equal(co_proxy_cores_choose(chosen, allowed, &job), 2);
    assert_int_equal(chosen[0], 0xc0);
}

static void where_ranks_have_all_it_may_run_anywhere(void **state)
{
    (void)state;
    memset(job.rank_cores, 0xff, sizeof job.rank_cores);
    assert_int_equal(co_proxy_cores_choose(chosen, allowed, &job), 0);
    assert_memory_equal(chosen, allowed, sizeof chosen);
}

static void it_takes_what_is_asked_for_of_what_there_is(void **state)
{
    (void)state;
    job.has_cores = true;
    job.cores[0] = 0x1f;
    job.rank_cores[0] = 0xff;
    assert_int_equal(co_proxy_cores_choose(chosen, allowed, &job), 1);
    assert_int_equal(chosen[0], 0x10);
    job.cores[0] = 0x0f; // not of its cpuset
    assert_int_equal(co_proxy_cores_choose(chosen, allowed, &job), 0);
    assert_memory_equal(chosen, allowed, sizeof chosen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(it_takes_what_no_rank_has, begin),
        cmocka_unit_test_setup(where_ranks_have_all_it_may_run_anywhere, begin),
        cmocka_unit_test_setup(it_takes_what_is_asked_for_of_what_there_is, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
