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
RANKS=$(echo "$*" | sed -n 's/.* -n \([0-9]*\) [^ ]*rank.sh.*/\1/p')
verdict="castoff is $WORD"
cat >"$5" <<JSON
{"without_s": [4.0, 2.0, 3.0], "with_s": [1.0, 3.0, 2.0], "ratio": $RATIO, "low": 1.25, "high": 2.5, "verdict": "$WORD",
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
ok "a program that is none" out_has '^nothing node - no such program$'
ok "castoff ab gets pairs and program" grep -q '^ab -n 3 --json .*hpcc-node.json -- mpirun .*-n [0-9]* .*rank.sh hpcc ' "$work/fake/words"
ok "its grid has as many places as ranks" [ "$(awk '/ Ps$/ { p = $1 } / Qs$/ { q = $1 } END { print p * q }' "$work/real/hpccinf.txt")" -eq \
    "$(sed -n 's/.* -n \([0-9]*\) [^ ]*rank.sh.*/\1/p' "$work/fake/words")" ]

export FIGURES_BUILD="$work/fake" FIGURES_OUT="$work/figures"
RATIO=2.0 WORD=faster run "$top/bench/figures/M48.sh" hpcc:node lammps:node
ok "figure: faster everywhere" out_has '	0.500; 0.500 (.*, one node; 0.400 to 0.800); 2 faster and 0 slower of 2	.*	reached	'
RATIO=0.8 WORD=slower run "$top/bench/figures/M48.sh" lammps:node
ok "figure: a program above 1.02" out_has '	0.791; 1.250 (lammps, one node; 0.400 to 0.800); 1 faster and 1 slower of 2	.*	not reached	'
run "$top/bench/figures/M48.sh" nothing:node
ok "figure: what was not measured is told" out_has '1 faster and 1 slower of 2, 1 not measured	'
ok "figure: and is no run" [ ! -s "$work/figures/M48.runs" ]

# Runs are kept, and are the table of README.md: the last one of each program and number of hosts.
mkdir -p "$work/tree/bench/figures" "$work/tree/build"
cp "$top/bench/all.sh" "$work/tree/bench"
printf '#!/bin/sh\n' >"$work/tree/bench/write_measurements.sh"
cat >"$work/tree/bench/figures/M48.sh" <<'END'
#!/bin/sh
printf 'M48\twhat\tstock\t%s\treach\treached\tcommand\n' "$VALUE"
printf 'M48:qe:4\tfaster\t4.00 s; 2.00 s; %s (0.400 to 0.600); MPI_Bcast 24 of 30\t6 pairs\n' "$VALUE" >"$FIGURES_OUT/M48.runs"
END
chmod +x "$work"/tree/bench/*.sh "$work/tree/bench/figures/M48.sh"
VALUE=0.1 run "$work/tree/bench/all.sh" "$work/tree/build" M48
VALUE=0.5 run "$work/tree/bench/all.sh" "$work/tree/build" M48
ok "runs of programs are kept" [ "$(cut -f 4- "$work/tree/bench/runs.tsv" | grep -c '^M48:qe:4	faster	4.00 s; 2.00 s; 0.[15] ')" -eq 2 ]
run awk -f "$top/scripts/programs_table.awk" "$work/tree/bench/runs.tsv"
ok "README: the last run of a program" [ "$(grep '^| Quantum' "$work/out")" = \
    '| Quantum ESPRESSO | - | 4.00, 2.00 s: 0.5 (0.400 to 0.600) | - | Bcast 24 of 30 |' ]
ok "README: programs that were not measured are left out" [ "$(grep -c '^| ' "$work/out")" -eq 3 ]

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
