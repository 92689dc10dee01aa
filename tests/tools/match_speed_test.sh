#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/micro/match_speed, briefly: its table, and what counted steps must show whatever the machine does. Times are not
# judged. It checks itself that every message takes its own receive, by the path that was meant.
. "$(dirname "$0")/check.sh"

make -s -C "$top" bench-micro || exit 1
speed=$build/bench/micro/match_speed
run "$speed" 0 "$top/bench/published/message_rate.csv" 32
ok "status 0" status_is 0
ok "a row for each depth" [ "$(grep -c '^inline' "$work/out")" -eq 3 ]
ok "a row for each path of 1 to 32 lanes" [ "$(grep -c '^lanes' "$work/out")" -eq 18 ]
ok "published rates beside them" out_has '^lanes 32 fast path .* 3\.160  *0\.41  *6\.04$'
cp "$work/out" "$work/first"

steps() { # lanes path: of the critical path
    sed -n "s/^lanes *$1 $2 *//p" "$work/first" | awk '{ print $4 }'
}
ok "more lanes without conflict: less than their number in steps" \
    [ "$(steps 32 'no conflict')" -lt $((32 * $(steps 1 'no conflict'))) ]
for lanes in 2 4 8 16 32; do
    ok "$lanes lanes: the fast path costs more than no conflict" [ "$(steps $lanes 'fast path')" -gt "$(steps $lanes 'no conflict')" ]
    ok "$lanes lanes: the slow path costs more than the fast one" [ "$(steps $lanes 'slow path')" -gt "$(steps $lanes 'fast path')" ]
done
run "$speed" 0 "$top/bench/published/message_rate.csv" 0
grep '^lanes' "$work/out" | awk '{ print $2, $3, $(NF - 6), $(NF - 5) }' >"$work/again"
ok "steps are the same each time" \
    [ "$(grep '^lanes' "$work/first" | awk '{ print $2, $3, $(NF - 6), $(NF - 5) }')" = "$(cat "$work/again")" ]
run "$speed" 0 "$work/none" 0
ok "no published rates: said" err_has 'published rates is not there'
ok "no published rates: status 1" status_is 1
finish
