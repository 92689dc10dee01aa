#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# CASTOFF_TUNE_LEARN from one job to the next: what the first has found stands in the file, the second does it from its
# first call on, without a trial, and would do the other thing were that in the file; a third one that learns again begins
# with it. Whichever side is the faster one here.
. "$(dirname "$0")/check.sh"

command -v mpirun >/dev/null || { skip "two jobs" "no mpirun"; finish; }
make -s -C "$top" lib || exit 1
calls=100 bytes=1000 file=$work/learnt

job() { # settings...: calls of one kind by two ranks; its report is in $work/report.json
    rm -f "$work/report.json"
    run mpirun -n 2 --mca mpi_yield_when_idle 1 env CASTOFF_BCAST=auto "$@" CASTOFF_REPORT="$work/report.json" \
        "$build/castoff" run -- "$build/bench/traffic" bcast $bytes $calls
}

report_has() { # expression over the report, and b, what it says of MPI_Bcast
    python3 - "$work/report.json" "$1" <<'END'
import json
import sys
with open(sys.argv[1], encoding="utf-8") as text:
    report = json.load(text)
sys.exit(not eval(sys.argv[2], {"trials": report["trials"], "b": report["calls"]["MPI_Bcast"]}))
END
}

all_are() { # take or decline: how all calls of both ranks went
    [ "$1" = take ] && taken=$((2 * calls)) || taken=0
    report_has "b['seen'] == $((2 * calls)) and b['taken'] == $taken"
}

rows() { grep -v '^#' "$file"; }
learnt() { rows | awk '{ print $NF }'; }

echo "bcast node ranks 1- bytes 1- decline" >"$work/prior"
job CASTOFF_ADAPT=yes CASTOFF_TUNE="$work/prior" CASTOFF_TUNE_LEARN="$file"
ok "a job that learns ends well" status_is 0
ok "its report tells what it has found" report_has \
    "len(trials) == 1 and trials[0]['first_verdict'] > 0 and not trials[0]['would_be_taken']"
ok "the file has it, and no more" [ "$(rows | sed -E 's/ (take|decline)$//')" = \
    "bcast node ranks 2-2 ranks_per_node 2-2 transport shm bytes 896-1023" ]
word=$(learnt)
[ "$word" = take ] && other=decline || other=take
ok "as the report says" report_has "trials[0]['taken'] == ('$word' == 'take')"
job CASTOFF_TUNE="$file"
ok "the next job does that from its first call on" all_are "$word"
ok "without a trial" report_has "trials == []"
sed "s/ $word\$/ $other/" "$file" >"$work/turned"
job CASTOFF_TUNE="$work/turned"
ok "by the file: it would do the other thing" all_are "$other"
job CASTOFF_ADAPT=yes CASTOFF_TUNE="$file" CASTOFF_TUNE_LEARN="$file"
ok "a job that learns again begins with what was learnt" report_has \
    "len(trials) == 1 and trials[0]['would_be_taken'] == ('$word' == 'take')"
ok "and puts its own in its place" [ "$(rows | wc -l)" -eq 1 ]
echo "allgather hosts ranks 3-4 bytes 1-8 decline" >>"$file"
job CASTOFF_ADAPT=yes CASTOFF_TUNE="$file" CASTOFF_TUNE_LEARN="$file"
ok "beside rows about anything else" [ "$(rows | wc -l)" -eq 2 ]
finish
