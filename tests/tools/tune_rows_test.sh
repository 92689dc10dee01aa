#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A job follows the rows that castoff bench --tune writes for ibcast, iallgather, allgatherv and iallgatherv: those that
# were measured, whatever they say; the same with other words for each size and call; and with each word turned. Which
# calls are taken is counted by the report, of numbers that differ by size. castoff info says the same of these rows.
. "$(dirname "$0")/check.sh"

if ! command -v mpirun >/dev/null || ! command -v mpicc >/dev/null; then
    skip "jobs" "no mpirun or mpicc"
    finish
fi
make -s -C "$top" lib || exit 1
mpicc ${CI:+-Wall -Wextra -Werror} -o "$work/calls" "$top/tests/tools/tune_rows_calls.c" || exit 1

job() { # table: its report is in $work/report.json
    rm -f "$work/report.json"
    run mpirun -n 2 --mca mpi_yield_when_idle 1 env CASTOFF_TUNE="$1" CASTOFF_REPORT="$work/report.json" \
        "$build/castoff" run -- "$work/calls" 3 5
}

follows() { # table: the first row that fits decides, what none fits is taken; twice as many calls, for there are two ranks
    python3 - "$work/report.json" "$1" <<'END'
import json
import re
import sys
with open(sys.argv[1], encoding="utf-8") as text:
    calls = json.load(text)["calls"]
with open(sys.argv[2], encoding="utf-8") as text:
    rows = [re.fullmatch(r"(\w+) node ranks 2- .*bytes (\d+)-(\d*) (take|decline)\n", line) for line in text if line[0] != "#"]
assert all(rows), "a row that this test does not know"
for call in "ibcast", "iallgather", "allgatherv", "iallgatherv":
    of = [row for row in rows if row[1] == call]
    assert of, "no row of " + call
    taken = 0
    for size, times in ((8, 3), (1024, 5)):
        word = next((r[4] for r in of if int(r[2]) <= size <= int(r[3] or size)), "take")
        taken += 2 * times * (word == "take")
    seen = calls["MPI_" + call.capitalize()]
    declined = sum(seen["declined"].values())
    assert (seen["taken"], declined) == (taken, 16 - taken), (call, taken, seen)
    assert set(seen["declined"]) <= {"stock_is_faster", "too_small", "too_large"}, seen["declined"]
END
}

turned() { sed -E 's/ take$/ TAKE/; s/ decline$/ take/; s/ TAKE$/ decline/' "$1"; }

family=ibcast,iallgather,allgatherv,iallgatherv
run "$castoff" bench --stock-only -n 2 --sizes 8,1K --seconds 0 --rounds-min 6 --calls $family --blocks long --tune "$work/measured"
ok "castoff bench --tune ends well" status_is 0
# Each call's rows as they were measured, cut at 100 bytes, declined below it or above it.
awk '/^#/ || $1 in told { next }
    { told[$1]; sub(/ bytes .*/, ""); small = ++calls % 2 ? "decline" : "take"; large = calls % 2 ? "take" : "decline"
      print $0 " bytes 1-100 " small; print $0 " bytes 101- " large }' "$work/measured" >"$work/cut"
for table in measured cut; do
    turned "$work/$table" >"$work/turned-$table"
    for rows in "$table" "turned-$table"; do
        job "$work/$rows"
        ok "rows $rows: the job ends well, with its bytes" status_is 0
        ok "rows $rows: each call goes as its row says" follows "$work/$rows"
    done
done
info_says() { # table, odd, even: what of the first and third call would be taken, and of the second and fourth
    run env CASTOFF_TUNE="$work/$1" "$castoff" info -n 2
    for call in Ibcast,:"$2" Iallgather,:"$3" "Allgatherv :$2" Iallgatherv,:"$3"; do
        grep -q "^MPI_${call%%:*}.*  ${call#*:}  " "$work/out" || return 1
    done
}
ok "castoff info: which sizes go to whom" info_says cut "128 B and more" "1 B to 64 B"
ok "castoff info: the other way round" info_says turned-cut "1 B to 64 B" "128 B and more"
ok "rows of each call by size" [ "$(wc -l <"$work/cut")" -eq 8 ]
finish
