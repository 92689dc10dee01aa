#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# What `make mutants` says of mutants that die, survive, hang, do not compile or no longer fit, in a small tree. That
# those of this tree still fit is a check of `make check-style`.
set -u
cd "$(dirname "$0")/../.." || exit 2
passed=0 failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-mutants-test.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT

says() { # what, line expected in $work/out
    if grep -q -e "$2" "$work/out"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED: $1: no line \"$2\""
        sed 's/^/    /' "$work/out"
    fi
}

tree=$work/tree
mkdir -p "$tree/tests/mutants"
cp tests/mutants/run.py "$tree/tests/mutants/"
cp tests/bounded.py "$tree/tests/"
printf 'int main(void)\n{\n    int sum = 1;\n    sum += 1;\n    return sum == 2 ? 0 : 1;\n}\n' >"$tree/sum.c"
printf 'build/tests/unit/%%_test: %%.c\n\tmkdir -p build/tests/unit && cc -o $@ $<\n' >"$tree/Makefile"
printf '/build\n' >"$tree/.gitignore"
git -C "$tree" init -q . || exit 1

mutant() { # name old new
    printf 'mutant %s\nfile sum.c\nold %s\nnew %s\ntests sum\n\n' "$1" "$2" "$3"
}
{
    mutant dies 'sum += 1;' 'sum += 2;'
    mutant lives 'sum += 1;' 'sum++;'
    mutant cannot 'sum += 1;' 'sum += ;'
    mutant waits 'sum += 1;' 'while (sum) { __asm__ volatile("" ::: "memory"); }'
    mutant is_gone 'sum += 7;' 'sum += 2;'
    mutant is_twice 'sum' 'mus'
} >"$tree/tests/mutants/list.txt"
sed -i 's/"30", "100"/"3", "3"/' "$tree/tests/mutants/run.py" # it hangs after three seconds
(cd "$tree" && python3 -S tests/mutants/run.py) >"$work/out" 2>&1 && failed=$((failed + 1)) && echo "FAILED: status 0"
says "a mutant that is found out" "dies .* killed by sum_test"
says "one that is not" "lives .* SURVIVED sum"
says "one that is no C" "cannot .* does not compile"
says "one that never ends" "waits .* killed by sum_test"
says "one whose line has gone" "is_gone .* no longer applies: sum.c has its line 0 times"
says "one whose line stands twice" "is_twice .* no longer applies: sum.c has its line 3 times"
says "the sum" "^2 passed, 4 failed, 0 skipped$"

sed -i 's/return sum == 2/return sum == 3/' "$tree/sum.c"
(cd "$tree" && python3 -S tests/mutants/run.py dies) >"$work/out" 2>&1
says "a test that fails without any" "sum_test fails without any mutant"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
