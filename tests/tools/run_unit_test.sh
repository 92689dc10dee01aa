#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What tests/run_unit.sh says of programs that pass, fail, and skip all or some of their tests by cmocka's skip(), which
# leaves the status 0.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-run-unit.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

# A program of two tests, each of which passes, fails or skips itself.
make_program() { # name, body of the first test, body of the second
    {
        printf '#include <setjmp.h>\n#include <stdarg.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <cmocka.h>\n'
        printf 'static void one(void **state) { (void)state; %s }\nstatic void two(void **state) { (void)state; %s }\n' "$2" "$3"
        printf 'int main(void) {\n const struct CMUnitTest a[] = {cmocka_unit_test(one)}, b[] = {cmocka_unit_test(two)};\n'
        printf ' int failed = cmocka_run_group_tests(a, NULL, NULL);\n'
        printf ' return failed + cmocka_run_group_tests(b, NULL, NULL);\n}\n'
    } >"$work/$1.c"
    ${CC:-cc} -o "$work/$1" "$work/$1.c" -lcmocka || exit 1
}

says() { # programs, closing line, a line before it
    # shellcheck disable=SC2086 # a list of names
    (cd "$work" && sh "$top/tests/run_unit.sh" $1) >"$work/out" 2>&1
    if [ "$(tail -n 1 "$work/out")" = "$2" ] && grep -q -e "$3" "$work/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: not \"$2\" with \"$3\""
        sed 's/^/    /' "$work/out"
    fi
}

top=$PWD
make_program good '' ''
make_program some 'skip();' ''
make_program none 'skip();' 'skip();'
make_program bad 'skip();' 'assert_true(0);'
says ./good "1 passed, 0 failed, 0 skipped" 's  ok$'
says ./some "1 passed, 0 failed, 0 skipped" 's  ok, 1 of its tests skipped$'
says ./some "1 passed, 0 failed, 0 skipped" 'SKIPPED \] one$'
says ./none "0 passed, 0 failed, 1 skipped" 's  skipped$'
says ./none-there "0 passed, 1 failed, 0 skipped" 'FAILED, status 127$'
says ./bad "0 passed, 1 failed, 0 skipped" 'FAILED, status 1$'
says "./good ./some ./none ./bad" "2 passed, 1 failed, 1 skipped" 's  ok$'
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
