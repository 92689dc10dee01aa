#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Spin models of src/matching/models: what the code does holds in every order of steps, and every known-wrong
# variant is found out. MODEL_LANES and MODEL_RECEIVES enlarge the space of the lanes (4 and 4 take minutes and
# gigabytes). Skipped without spin.
set -u

models=$(cd "$(dirname "$0")/../../src/matching/models" && pwd) || exit 1
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-models.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
lanes=${MODEL_LANES:-3} receives=${MODEL_RECEIVES:-3}

# Prints "holds" or "violated"; anything else did not run to its end.
verify() { # model options...
    local model=$1
    shift
    rm -f pan* ./*.trail
    spin -a "$@" "$models/$model.pml" >spin.out 2>&1 && ${CC:-cc} -O2 -DSAFETY -DNOFAIR -DCOLLAPSE -o pan pan.c >cc.out 2>&1 &&
        ./pan -m100000 >pan.out 2>&1
    if grep -q 'errors: 0' pan.out 2>/dev/null && ! grep -q 'max search depth too small\|out of memory' pan.out; then
        echo holds
    elif grep -qE 'assertion violated|invalid end state' pan.out 2>/dev/null; then
        echo violated
    else
        tail -n 5 spin.out cc.out pan.out 2>/dev/null
    fi
}

check() { # expected model options...
    local expected=$1 seen
    shift
    seen=$(verify "$@")
    if [[ $seen == "$expected" ]]; then
        passed=$((passed + 1))
        echo "ok: $* $seen ($(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out) states)"
    else
        failed=$((failed + 1))
        echo "FAILED: $*: expected '$expected', seen '$seen'"
    fi
}

space=("-DLANES=$lanes" "-DRECEIVES=$receives")
check holds lanes "${space[@]}"
check holds lanes "${space[@]}" -DEARLY
check holds lanes -DLANES=2 -DRECEIVES=3 -DCANCELLED
for mutant in 1 2 4; do
    check violated lanes "${space[@]}" "-DMUTANT=$mutant"
done
check violated lanes -DLANES=2 -DRECEIVES=3 -DCANCELLED -DMUTANT=3
check holds store
check holds store -DCLAIM
check violated store -DSPLIT
check holds blocks -DRECEIVES=3
check violated blocks -DROLLING

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
