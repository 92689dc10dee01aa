#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The Spin models beside the code, in src/.../models: what the code does holds in every order of steps, and every
# known-wrong variant is found out. MODEL_LANES and MODEL_RECEIVES enlarge the space of the lanes (4 and 4 take minutes and
# gigabytes). Skipped without spin.
set -u

source=$(cd "$(dirname "$0")/../../src" && pwd) || exit 1
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-models.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0
lanes=${MODEL_LANES:-3} receives=${MODEL_RECEIVES:-3}

# Prints "holds" or "violated"; anything else did not run to its end.
verify() { # model options...
    local model=$source/$1.pml
    shift
    rm -f pan* ./*.trail
    spin -a "$@" "$model" >spin.out 2>&1 && ${CC:-cc} -O2 -DSAFETY -DNOFAIR -DCOLLAPSE -o pan pan.c >cc.out 2>&1 &&
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
check holds matching/models/lanes "${space[@]}"
check holds matching/models/lanes "${space[@]}" -DEARLY
check holds matching/models/lanes -DLANES=2 -DRECEIVES=3 -DCANCELLED
for mutant in 1 2 4; do
    check violated matching/models/lanes "${space[@]}" "-DMUTANT=$mutant"
done
check violated matching/models/lanes -DLANES=2 -DRECEIVES=3 -DCANCELLED -DMUTANT=3
check holds matching/models/store
check holds matching/models/store -DCLAIM
check violated matching/models/store -DSPLIT
check holds matching/models/batches -DRECEIVES=3
check violated matching/models/batches -DROLLING
check holds p2p/models/gate
for mutant in 1 2 3 4 5 6 7; do
    check violated p2p/models/gate "-DMUTANT=$mutant"
done
check holds p2p/models/ring
for mutant in 1 2 3 4; do
    check violated p2p/models/ring "-DMUTANT=$mutant"
done
check holds offload/models/doorbell
for mutant in 1 2 3; do
    check violated offload/models/doorbell "-DMUTANT=$mutant"
done
check holds offload/proxy/models/group_calls
for mutant in 1 2 3 4 5; do
    check violated offload/proxy/models/group_calls "-DMUTANT=$mutant"
done
check holds offload/proxy/models/ring_barrier
for mutant in 1 2 3; do
    check violated offload/proxy/models/ring_barrier "-DMUTANT=$mutant"
done

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
