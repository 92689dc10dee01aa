#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Known-wrong variants of the matcher's lanes (CO_MATCH_MUTANT in src/matching/match_lane.c), each built into the lanes'
# test: that test must fail for every one of them. MATCH_MUTANTS names the programs. Status 0 when all were found out.
status=0
for mutant in $MATCH_MUTANTS; do
    timeout 120 "$mutant" >"$mutant.log" 2>&1
    case $? in
    0) echo "$mutant: not found out" && status=1 ;;
    124) echo "$mutant: never ends" && status=1 ;;
    esac
    grep -q 'FAILED  \]' "$mutant.log" || { echo "$mutant: ended without a verdict" && status=1; }
done
exit $status
