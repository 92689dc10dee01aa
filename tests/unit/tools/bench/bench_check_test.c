// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers given to castoff bench: what is refused and how that is said, and that sensible ones pass.
#include "tools/bench/bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static char why[200];

static int check(const struct co_bench_request *request)
{
    return co_bench_request_check(request, why, sizeof why);
}

static void what_makes_sense(void **state)
{
    (void)state;
    struct co_bench_request request = {.ranks = {2, 8}, .ranks_count = 2};
    assert_int_equal(check(&request), 0);
    request.seconds = "0";
    request.root = "1";
    request.rounds_min = request.rounds_max = "7";
    request.batch = request.late_ms = "0";
    request.compute = "sleep";
    assert_int_equal(check(&request), 0);
    request.seconds = "0.25";
    request.against_best = true;
    request.rounds_min = NULL;
    request.rounds_max = "20";
    assert_int_equal(check(&request), 0);
}

static void what_is_refused(void **state)
{
    (void)state;
    static const struct {
        struct co_bench_request request;
        const char *cause;
    } wrong[] = {
        {{.seconds = "-3"}, "--seconds '-3' is no number of seconds from 0 to 86400"},
        {{.seconds = "1s"}, "--seconds '1s'"},
        {{.seconds = "nan"}, "--seconds 'nan'"},
        {{.seconds = "1e300"}, "--seconds '1e300'"},
        {{.seconds = ""}, "--seconds ''"},
        {{.root = "5", .ranks = {8, 5}, .ranks_count = 2}, "--root 5 is no rank of 5 (0 to 4)"},
        {{.root = "-1"}, "--root '-1' is no number from 0 to 1000000"},
        {{.root = "9999999999999999999"}, "--root '9999999999999999999'"},
        {{.rounds_min = "0"}, "--rounds-min '0' is no number from 1"},
        {{.rounds_max = "0"}, "--rounds-max '0' is no number from 1"},
        {{.rounds_max = "9"}, "--rounds-min 10 is above --rounds-max 9"},
        {{.rounds_max = "19", .against_best = true}, "--rounds-min 20 is above --rounds-max 19"},
        {{.rounds_min = "201"}, "--rounds-min 201 is above --rounds-max 200"},
        {{.batch = "-1"}, "--batch '-1'"},
        {{.late_ms = "x"}, "--late-ms 'x'"},
        {{.compute = "think"}, "--compute 'think' is none of osu, steps, sleep"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(check(&wrong[i].request), -EINVAL);
        assert_non_null(strstr(why, wrong[i].cause));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_makes_sense),
        cmocka_unit_test(what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
