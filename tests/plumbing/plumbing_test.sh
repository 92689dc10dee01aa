#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Tests of what the other tests rely on: that run_unit.sh, run_all.sh and differential.py let no failure through, and that the style
# checks find what they are for. Works on copies in a folder of its own. Ends with "N passed, N failed, N skipped".
set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-plumbing.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# check WHAT COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        sed 's/^/    /' "$work/output" 2>/dev/null
    fi
}

last_line_is() {
    [ "$(tail -n 1 "$work/output")" = "$1" ]
}

says() {
    grep -qF -- "$1" "$work/output"
}

program() { # NAME STATUS TEXT
    printf '#!/bin/sh\necho "%s"\nexit %s\n' "$3" "$2" >"$work/$1"
    chmod +x "$work/$1"
}

test_run_unit() {
    local status
    program good_test 0 fine
    program bad_test 3 "what went wrong"
    program absent_test 77 "nothing to test here"
    sh "$top/tests/run_unit.sh" "$work/good_test" >"$work/output" 2>&1
    check "unit: a pass is a pass" test $? -eq 0
    check "unit: a pass is counted" last_line_is "1 passed, 0 failed, 0 skipped"
    sh "$top/tests/run_unit.sh" "$work/good_test" "$work/bad_test" "$work/absent_test" >"$work/output" 2>&1
    status=$?
    check "unit: a failure fails" test "$status" -ne 0
    check "unit: each outcome is counted" last_line_is "1 passed, 1 failed, 1 skipped"
    check "unit: the log of a failure is shown" says "what went wrong"
    check "unit: the reason of a skip is shown" says "nothing to test here"
    sh "$top/tests/run_unit.sh" "$work/missing_test" >"$work/output" 2>&1
    check "unit: a missing program fails" last_line_is "0 passed, 1 failed, 0 skipped"
    sh "$top/tests/run_unit.sh" >"$work/output" 2>&1
    check "unit: no test at all is no success" test $? -ne 0
}

# A project whose parts say and return what they are told: unit_says, unit_status, mpi_says, mpi_status.
make_project() {
    mkdir -p "$work/project/tests/mpi" "$work/project/tests/lab" "$work/project/.ci"
    cp "$top/tests/run_all.sh" "$top/tests/bounded.py" "$work/project/tests/"
    cp "$top/.ci/run" "$work/project/.ci/"
    printf '%s\n' 'all bench-programs bench-micro examples mpi-tests forge-frames deps:' '	@:' 'unit:' '	@echo "$(unit_says)"; exit $(unit_status)' 'check-style:' \
        '	@echo "1 passed, 0 failed, 0 skipped"' 'test-all:' '	@bash tests/run_all.sh --all' '.PHONY: all deps unit check-style test-all' \
        >"$work/project/Makefile"
    printf '#!/bin/bash\necho "$mpi_says"\nexit "$mpi_status"\n' >"$work/project/tests/mpi/run.sh"
    printf '#!/bin/bash\necho "no root"\nexit 77\n' >"$work/project/tests/lab/lab_test.sh"
    export unit_says="2 passed, 0 failed, 0 skipped" unit_status=0 mpi_says="5 passed, 0 failed, 1 skipped" mpi_status=0
}

run_all() {
    (cd "$work/project" && python3 -S "$top/tests/bounded.py" 60 600 bash tests/run_all.sh "$@") >"$work/output" 2>&1
}

test_run_all() {
    make_project
    run_all --all
    check "all: passes are a pass" test $? -eq 0
    # The build, three unit runs of 2, the style check, and MPI's 5.
    check "all: the parts are summed" last_line_is "13 passed, 0 failed, 2 skipped"
    mpi_says="5 passed, 2 failed, 1 skipped" mpi_status=1 run_all --all
    check "all: a failed part fails" test $? -ne 0
    check "all: failures are summed" last_line_is "13 passed, 2 failed, 2 skipped"
    check "all: what failed is told once more at the end" says "== mpi: failed"
    mpi_status=1 run_all --all
    check "all: a status without a reason is a failure" last_line_is "13 passed, 1 failed, 2 skipped"
    mpi_says="crashed early" run_all --all
    check "all: a part that says nothing is a failure" last_line_is "8 passed, 1 failed, 1 skipped"
    mpi_says="5 passed, 2 failed, 0 skipped" run_all mpi
    check "all: failures count whatever the status" test $? -ne 0
    run_all unit style
    check "all: parts can be chosen" last_line_is "3 passed, 0 failed, 0 skipped"
    run_all unit stlye
    check "all: a part that there is not is a failure" last_line_is "2 passed, 1 failed, 0 skipped"
    check "all: and is named, with those that there are" says "there is no part stlye; there are: build unit style "
    run_all thread
    check "all: parts of another set, too" last_line_is "2 passed, 0 failed, 0 skipped"
    run_all
    check "all: the short ones alone" last_line_is "11 passed, 0 failed, 2 skipped"
    run_all --long
    check "all: the long ones alone" last_line_is "2 passed, 0 failed, 0 skipped"
    printf '#!/bin/bash\necho begin\necho "FAIL it"\necho "3 passed, 1 failed, 0 skipped"\nexit 1\n' >"$work/project/tests/lab/bad_test.sh"
    run_all
    check "all: a part beside the others that fails has failed" last_line_is "14 passed, 1 failed, 2 skipped"
    check "all: what it says comes in one piece, once" test "$(grep -A 3 '^== bad_test$' "$work/output" | tr '\n' ' ')" = \
        "== bad_test begin FAIL it 3 passed, 1 failed, 0 skipped "
    check "all: that it failed is told at the end" says "== bad_test: failed"
    rm "$work/project/tests/lab/bad_test.sh"
    CASTOFF_TEST_MINUTES=0 run_all --all
    check "all: without time nothing passes" test $? -ne 0
    check "all: what there was no time for is skipped" last_line_is "0 passed, 0 failed, 7 skipped"
    mkdir -p "$work/project/tests/slow" && echo 'sleep 1000' >"$work/project/tests/slow/slow_test.sh"
    CASTOFF_TEST_MINUTES_MOST=0 run_all slow_test
    check "all: what runs when the time is over has failed" last_line_is "0 passed, 1 failed, 0 skipped"
    check "all: what runs when the time is over is named" says "slow_test: ended, 0 minutes are over"
    rm -r "$work/project/tests/slow"
    CASTOFF_TEST_MINUTES=0 run_all --all
    check "all: what there was no time for is named" grep -qE '^mpi +0 +0 +1 +no time' "$work/output"
}

test_ci() {
    make_project
    "$work/project/.ci/run" >"$work/output" 2>&1
    check "ci: passes are a pass" test $? -eq 0
    check "ci: it ends with the sum" last_line_is "13 passed, 0 failed, 2 skipped"
    mpi_says="4 passed, 1 failed, 1 skipped" mpi_status=1 "$work/project/.ci/run" >"$work/output" 2>&1
    check "ci: a failure fails" test $? -ne 0
    check "ci: it ends with the sum of a failure too" last_line_is "12 passed, 1 failed, 2 skipped"
    printf 'exit 1\n' >>"$work/project/tests/run_all.sh"
    sed -i '2i echo "3 passed, 0 failed, 0 skipped"; echo died; exit 1' "$work/project/tests/run_all.sh"
    "$work/project/.ci/run" >"$work/output" 2>&1
    check "ci: an early death fails" test $? -ne 0
    check "ci: the line of a part is not taken for the sum" last_line_is "0 passed, 1 failed, 0 skipped"
}

# What make check-style has nothing to say about.
make_good_tree() { # tree
    local tree=$1
    mkdir -p "$tree/src/base" "$tree/src/engine" "$tree/src/p2p" "$tree/src/shm" "$tree/tests/mpi" "$tree/tests/unit/shm" "$tree/tests/mutants"
    cp "$top/tests/mutants/run.py" "$tree/tests/mutants/"
    printf 'mutant %s\nfile src/base/fine.c\nold int fine;\nnew long fine;\ntests fine\n' fine >"$tree/tests/mutants/list.txt"
    cp -r "$top/scripts" "$top/.clang-format" "$tree/"
    printf '%s\n//\n// Fine: getenv("x"), strcpy and TO''DO stand in prose only.\nint fine;\n' "$licence" | sed 's/TO''DO/to do/' \
        >"$tree/src/base/fine.c"
}

test_style() {
    local tree=$work/tree licence="// SPDX-License-Identifier: BSD-3-Clause" check
    make_good_tree "$tree"
    (cd "$tree" && bash scripts/check_style.sh) >"$work/output" 2>&1
    check "style: good code passes" test $? -eq 0
    printf '%s\n' '#include "engine/engine.h"' '#include <mpi.h>' 'int f(void) {' '  if (1) return getenv("x") != 0;' \
        '  strcpy(a, b); // FIX''ME' '  fprintf(stderr, "x"); mmap(0); clock_gettime(0); socket(1);' '}' \
        >"$tree/src/base/utils.c"
    sed -i "s/FIX''ME/FIX""ME/" "$tree/src/base/utils.c"
    printf '%s\n#include "mcast/inner.h"\n' "$licence" >"$tree/src/engine/a.c"
    printf '%s\nstruct a {\n    size_t x;\n};\n' "$licence" >"$tree/src/base/c.h"
    printf '%s\nenum co_a { CO_X };\n' "$licence" >"$tree/src/engine/c.h"
    printf '%s\nstruct co_a {\n    int x;\n};\n' "$licence" >"$tree/src/engine/f.h"
    for check in $(seq 26); do
        printf '%s\nint x;\n' "$licence" >"$tree/src/shm/x$check.c"
    done
    printf '%s\nint co_first(void)\n{\n    return co_second();\n}\n' "$licence" >"$tree/src/engine/first.c"
    printf '%s\nstatic inline int co_by_header(void)\n{\n    return co_first();\n}\n' "$licence" >"$tree/src/engine/by.h"
    printf '%s\nint co_second(void)\n{\n    return co_by_header();\n}\n' "$licence" >"$tree/src/engine/second.c"
    printf '%s\nint co_third(struct co_first *tag)\n{\n    return co_second();\n}\n' "$licence" >"$tree/src/engine/third.c"
    printf '%s\n// What it is. ranks: 2 3\nint main;\n' "$licence" >"$tree/tests/mpi/bcast_keys.c"
    printf '%s\n// An offer, in a sentence.\nint co_p2p_push_offer, co_p2p_keeper, is_under_way;\n' "$licence" >"$tree/src/p2p/words.c"
    printf '%s\nint co_base_f(void)\n{\n    co_store_release(&x, 1);\n}\n' "$licence" >"$tree/src/base/unlabelled.c"
    printf '%s\nint co_base_g(void)\n{\n    co_load_acquire(&x); // acquire Z1: y\n}\n' "$licence" >"$tree/src/base/half.c"
    printf '%s\n#include "shm/x1.h"\n#include "p2p/p2p.h"\n#include "base/c.h"\n' "$licence" >"$tree/tests/unit/shm/x1_test.c"
    printf '%s\nint co_base_h(void)\n{\n    return 0;\n}\n' "$licence" >"$tree/src/p2p/prefix.c"
    sed -i 's/^old .*/old int finer;/' "$tree/tests/mutants/list.txt"
    sed -i "s/'engine' => [0-9]*/'engine' => 30/" "$tree/scripts/count_externals.pl"
    { echo "$licence" && printf 'int f(void)\n{\n' && yes '    f();' | head -n 60 && echo '}'; } >"$tree/src/base/d.c"
    { echo "$licence" && yes 'extern int x;' | head -n 400; } >"$tree/src/base/e.c"
    (cd "$tree" && bash scripts/check_style.sh) >"$work/output" 2>&1
    for check in format licence names length leftovers folders layers units knots externals words prefixes labels doors braces headers keys mutants; do
        if [ "$check" = format ] && ! command -v clang-format >/dev/null; then
            continue
        fi
        check "style: $check finds what it is for" grep -qE "^  $check +FAILED" "$work/output"
    done
    check "style: a hidden inner header is refused" says 'src/engine/a.c:2: must not include "mcast/inner.h"'
    check "style: MPI stays in src/pmpi" says 'only src/pmpi knows MPI'
    check "style: a unit program tests one part" says 'tests/unit/shm/x1_test.c: includes "p2p/p2p.h", which is not of shm'
    check "style: a full folder is named" says 'src/shm: 26 .c files, at most 25'
    check "style: a file name that stands twice" says 'src/engine/c.h'
    check "style: a tag that stands twice" says 'src/engine/f.h:2:co_a'
    check "style: a new knot is counted" says 'src/engine: 2 files call each other in a ring:'
    check "style: a new knot's files are named" says 'src/engine/second.c'
    check "style: who only calls is in no knot" bash -c '! grep -q src/engine/third.c "$1"' _ "$work/output"
    check "style: functions that one file calls are counted" says 'src/engine: 1 of 3 functions that leave their file have one calling'
    check "style: a word for which the field has one" says "src/p2p/words.c:3: co_p2p_push_offer: not 'offer' but rts"
    check "style: other words stay" test "$(grep -c 'src/p2p/words.c' "$work/output")" = 1
    check "style: an order without a label" says 'src/base/unlabelled.c:4: no label says who the other side is'
    check "style: a label without its other side" says 'src/base/half.c: "acquire Z1", and no "release Z1" in src/base'
    check "style: a prefix of two folders" says 'co_base: in src/base/half.c and src/p2p/prefix.c'
    check "style: long functions are named" says 'src/base/d.c:3: f has 62 lines'
    check "style: long files are named" says 'src/base/e.c: 401 lines'
    check "style: the clock has one door" says 'the clock is read only in'
    check "style: braces are wanted" says 'src/base/utils.c:4: if without braces'
}

# A test suite whose programs behave on a native MPI, played by a script, and otherwise with castoff.
make_suite() {
    mkdir -p "$work/suite/bin" "$work/suite/a" "$work/suite/b" "$work/suite/scratch"
    printf '#!/bin/bash\nwhile [ "$1" != -n ]; do shift; done\nshift 2\nexec "$@"\n' >"$work/suite/bin/mpirun"
    printf '#!/bin/bash\nshift\nWITH=$CASTOFF_P2P-castoff exec mpirun "$@"\n' >"$work/suite/bin/castoff"
    suite_program a/good 'echo " No Errors"'
    suite_program a/breaks 'echo "No Errors"; [ -z "$WITH" ]'
    suite_program a/needs_native_messages 'echo "No Errors"; [ "$WITH" != yes-castoff ]'
    suite_program a/chats 'echo "${WITH:+and more}"; echo "No Errors"'
    suite_program a/hangs '[ -z "$WITH" ] || sleep 98765; echo "No Errors"'
    suite_program a/aborts 'exit 3'
    suite_program a/fails_anywhere 'echo "No Errors"; exit 1'
    suite_program b/flaky '[ -z "$WITH" ] && mkdir native 2>/dev/null && echo "No Errors"'
    suite_program b/once '[ -z "$WITH" ] || ! mkdir castoff 2>/dev/null || exit 1; echo "No Errors"'
    chmod +x "$work"/suite/*/*
    printf '%s\n' '# of a' 'good 2' 'good 2' 'good 2 arg=3' 'breaks' 'needs_native_messages 1' 'chats 2' 'hangs 2 timeLimit=5' \
        'aborts 2 resultTest=TestErrFatal' 'fails_anywhere 2' 'absent 2' >"$work/suite/a/testlist"
    printf 'flaky 2\nonce 2\n' >"$work/suite/b/testlist"
}

suite_program() { # NAME SCRIPT
    printf '#!/bin/bash\n%s\n' "$2" >"$work/suite/$1"
}

differential() {
    PATH="$work/suite/bin:$PATH" timeout 3000 python3 "$top/tests/suites/differential.py" --build "$work/suite" \
        --source "$work/suite" --castoff "$work/suite/bin/castoff" --scratch "$work/suite/scratch" \
        --log "$work/suite/log" "$@" >"$work/output" 2>&1
}

test_differential() {
    local status
    make_suite
    differential --folders "a b"
    status=$?
    check "suites: what differs fails" test "$status" -ne 0
    check "suites: a wrong status differs" says "DIFFERS: a/breaks 2, default: status 1"
    check "suites: a mode of its own differs" says "DIFFERS: a/needs_native_messages 1, p2p: status 1"
    check "suites: other output differs" says "DIFFERS: a/chats 2, p2p: other output"
    check "suites: a hang differs" says "DIFFERS: a/hangs 2, default: no end within 5 s"
    check "suites: what fails once is told" says "UNSURE: b/once 2, default: once status 1"
    check "suites: nothing else differs" test "$(grep -c '^DIFFERS\|^UNSURE' "$work/output")" -eq 8
    check "suites: what is flaky natively says so" says "b/flaky 2: native now and then"
    check "suites: the table counts" says "$(printf '%-12s%9d%9d%9d%9d%9d' a 9 7 4 3 4)"
    check "suites: each outcome is counted" last_line_is "8 passed, 7 failed, 3 skipped"
    check "suites: nothing is left" test -z "$(ls "$work/suite/scratch")$(pgrep -f "^sleep 98765$")"
    differential --folders "a b" good aborts
    check "suites: equal is a pass" test $? -eq 0
    check "suites: entries that are equal are one" last_line_is "6 passed, 0 failed, 0 skipped"
    differential --folders "a b" nothing
    check "suites: no test at all is no success" test $? -ne 0
}

test_run_unit
test_run_all
test_differential
test_ci
test_style
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
