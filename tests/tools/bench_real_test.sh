#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/real_programs.sh and figure M48, with a stand-in for castoff ab: what is handed to it, castoff over stock and not the
# other way round, programs that are not there, lines of earlier runs, and what README.md gets of the runs that are kept.
. "$(dirname "$0")/check.sh"

mkdir "$work/fake" "$work/path"
cat >"$work/fake/castoff" <<'END'
#!/bin/sh
# ab -n PAIRS --json FILE -- COMMAND...
echo "$*" >>"${0%/*}/words"
[ -z "${FAIL:-}" ] || { echo "they print something else" >&2; exit 1; }
RANKS=$(echo "$*" | sed -n 's/.* -n \([0-9]*\) [^ ]*rank.sh.*/\1/p')
verdict="castoff is $WORD"
cat >"$5" <<JSON
{"without_s": [4.0, 2.0, 3.0], "with_s": [1.0, 3.0, 2.0], "ratio": $RATIO, "low": 1.25, "high": 2.5, "verdict": "$WORD",
 ${CALLS:-}
 "taken": "MPI_Bcast $((4000 * RANKS)) of $((5000 * RANKS)), MPI_Allgather 0 of 3, MPI_Send $((3 * RANKS)) of $((3 * RANKS))"}
JSON
END
printf '#!/bin/sh\n' >"$work/path/hpcc"
printf '#!/bin/sh\n' >"$work/path/lmp"
chmod +x "$work/fake/castoff" "$work/path/hpcc" "$work/path/lmp"
PATH=$work/path:$PATH

RATIO=2.0 WORD=faster run "$top/bench/real_programs.sh" "$work/fake" 3 "$work/real" hpcc:node nothing:node
ok "time with castoff over without" out_has '^hpcc node 3 3.00 2.00 0.500 0.400 0.800 faster '
ok "the calls of a rank that castoff took" out_has ' faster MPI_Bcast 4,000 of 5,000, MPI_Send 3 of 3$'
ok "nothing is said of a gain where calls were not timed" [ "$(grep -c '(.* s)' "$work/out")" -eq 0 ]
ok "a program that is none" out_has '^nothing node - no such program$'
ok "castoff ab gets pairs and program" grep -q '^ab -n 3 --json .*hpcc-node.json -- mpirun .*-n [0-9]* .*rank.sh hpcc ' "$work/fake/words"
ok "its grid has as many places as ranks" [ "$(awk '/ Ps$/ { p = $1 } / Qs$/ { q = $1 } END { print p * q }' "$work/real/hpccinf.txt")" -eq \
    "$(sed -n 's/.* -n \([0-9]*\) [^ ]*rank.sh.*/\1/p' "$work/fake/words")" ]

CALLS='"by_call": [{"call": "MPI_Bcast", "without_s": 4.5, "with_s": 1.25}, {"call": "MPI_Wait", "without_s": 1, "with_s": 0}],' \
    RATIO=2.0 WORD=faster run "$top/bench/real_programs.sh" "$work/fake" 3 "$work/real" hpcc:node nothing:node
ok "the time that they gained" out_has ' faster MPI_Bcast 4,000 of 5,000 (3.25 s), MPI_Send 3 of 3$'

export FIGURES_BUILD="$work/fake" FIGURES_OUT="$work/figures"
RATIO=2.0 WORD=faster run "$top/bench/figures/M48.sh" hpcc:node lammps:node
ok "figure: faster everywhere" out_has '	0.500; 0.500 (.*, one node; 0.400 to 0.800); 2 faster and 0 slower of 2	.*	reached	'
RATIO=0.8 WORD=slower run "$top/bench/figures/M48.sh" lammps:node
ok "figure: a program above 1.02" out_has '	0.791; 1.250 (lammps, one node; 0.400 to 0.800); 1 faster and 1 slower of 2	.*	not reached	'
run "$top/bench/figures/M48.sh" nothing:node
ok "figure: what was not measured is told" out_has '1 faster and 1 slower of 2, 1 not measured	'
ok "figure: and is no run" [ ! -s "$work/figures/M48.runs" ]

FAIL=1 RATIO=2.0 WORD=faster run "$top/bench/real_programs.sh" "$work/fake" 3 "$work/real" hpcc:node
ok "a program that fails, and why" out_has '^hpcc node failed they print something else$'
FAIL=1 RATIO=2.0 WORD=faster run "$top/bench/figures/M48.sh" hpcc:node
ok "figure: with a program that failed it is not reached" out_has '; 0 faster and 1 slower of 1, 1 not measured, 1 failed	.*	not reached	'
ok "figure: and that is a run" [ "$(cat "$work/figures/M48.runs")" = "M48:hpcc:node	failed	they print something else	" ]

# Runs are kept, and are the table of README.md: the last one of each program and number of hosts.
mkdir -p "$work/tree/bench/figures" "$work/tree/build"
cp "$top/bench/all.sh" "$work/tree/bench"
cp "$top/bench/figures/figure.sh" "$work/tree/bench/figures"
printf '#!/bin/sh\n' >"$work/tree/bench/write_measurements.sh"
cat >"$work/tree/bench/figures/M48.sh" <<'END'
#!/bin/bash
. "$(dirname "$0")/figure.sh"
keep_run "M48:$PROGRAM" "${VERDICT:-faster}" "4.00 s; 2.00 s; $VALUE (0.400 to 0.600); MPI_Bcast 24 of 30" "6 pairs"
[[ -z ${CUT_OFF:-} ]] || { kill -KILL "$(ps -o ppid= -p "$PPID" | tr -d ' ')" && exit 1; }
row what stock "$VALUE" reach reached
END
chmod +x "$work"/tree/bench/*.sh "$work/tree/bench/figures/M48.sh"
PROGRAM=qe:4 VALUE=0.1 run "$work/tree/bench/all.sh" "$work/tree/build" M48
PROGRAM=qe:4 VALUE=0.5 run "$work/tree/bench/all.sh" "$work/tree/build" M48
ok "runs of programs are kept" [ "$(cut -f 4- "$work/tree/bench/runs.tsv" | grep -c '^M48:qe:4	faster	4.00 s; 2.00 s; 0.[15] ')" -eq 2 ]
ok "and the figure with them" [ "$(cut -f 4,5,6 "$work/tree/bench/runs.tsv" | grep -c '^M48	reached	0.[15]$')" -eq 2 ]
PROGRAM=lammps:8 VALUE=0.6 CUT_OFF=1 run "$work/tree/bench/all.sh" "$work/tree/build" M48
ok "also where all of it is cut off" [ "$(cut -f 4,7 "$work/tree/bench/runs.tsv" | grep -c '^M48:lammps:8	6 pairs$')" -eq 1 ]
PROGRAM=mumps:4 VALUE=0.6 VERDICT=failed run "$work/tree/bench/all.sh" "$work/tree/build" M48
today=$(date -u +%Y-%m-%d)
run awk -f "$top/scripts/programs_table.awk" "$work/tree/bench/runs.tsv"
ok "README: the last run of a program" [ "$(grep '^| Quantum' "$work/out")" = \
    "| Quantum ESPRESSO | - | 4.00, 2.00 s: 0.5 (0.400 to 0.600) | - | Bcast 24 of 30 | $today |" ]
ok "README: a program that failed" [ "$(grep '^| MUMPS' "$work/out")" = "| MUMPS | - | failed | - | - | $today |" ]
ok "README: programs that were not measured are left out" [ "$(grep -c '^| ' "$work/out")" -eq 5 ]
printf '2001-02-03\tabc\tOld, 1 core\tM48:qe:8\tfaster\t4.00 s; 2.00 s; 0.5 (0.400 to 0.600); none\t6 pairs\n' >"$work/old.tsv"
cat "$work/tree/bench/runs.tsv" >>"$work/old.tsv"
run awk -f "$top/scripts/programs_table.awk" "$work/old.tsv"
ok "README: a row of runs of two days says both, and no other row" [ "$(grep -c "| 2001-02-03 to $today |\$" "$work/out") $(grep -c "| $today |\$" "$work/out")" = "1 2" ]

# What the ranks run prints nothing that differs between runs, and fails with its program.
cat >"$work/path/lmp" <<'END'
#!/bin/sh
printf 'Step Temp\n0 1.44\nLoop time of 0.5\nmore\n'
exit "${CODE:-0}"
END
run make -s -n -C "$top" BUILD="$work/fake" bench-real
ok "make bench-real measures the build that it is given" out_has "^bench/all.sh $work/fake M48"
mkdir "$work/ranks"
run bash "$top/bench/programs/rank.sh" lammps "$work/ranks"
ok "a rank: numbers without times" [ "$(tr '\n' ';' <"$work/out")" = "Step Temp;0 1.44;" ]
CODE=3 run bash "$top/bench/programs/rank.sh" lammps "$work/ranks"
ok "a rank: its program's status" status_is 3
run bash "$top/bench/programs/rank.sh" nothing "$work/ranks"
ok "a rank: no program: status 2" status_is 2
if command -v mpirun >/dev/null && /usr/bin/python3 -c 'import mpi4py, numpy' 2>/dev/null; then
    run mpirun --oversubscribe -n 3 /usr/bin/python3 "$top/bench/sharded.py" 2 2 100000
    ok "sharded: sums" out_has '^sharded 3 3310.0 366674.0$'
else
    skip "sharded" "no mpirun, mpi4py or numpy"
fi

finish
