#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# bench/real_programs.sh and figure M48, with a stand-in for castoff ab: what is handed to it, castoff over stock and not the
# other way round, programs that are not there, and lines of earlier runs.
. "$(dirname "$0")/check.sh"

mkdir "$work/fake" "$work/path"
cat >"$work/fake/castoff" <<'END'
#!/bin/sh
# ab -n PAIRS --json FILE -- COMMAND...
echo "$*" >>"${0%/*}/words"
verdict="castoff is $WORD"
cat >"$5" <<JSON
{"without_s": [4.0, 2.0, 3.0], "with_s": [1.0, 3.0, 2.0], "ratio": $RATIO, "low": 1.25, "high": 2.5, "verdict": "$WORD"}
JSON
END
printf '#!/bin/sh\n' >"$work/path/hpcc"
printf '#!/bin/sh\n' >"$work/path/lmp"
chmod +x "$work/fake/castoff" "$work/path/hpcc" "$work/path/lmp"
PATH=$work/path:$PATH

RATIO=2.0 WORD=faster run "$top/bench/real_programs.sh" "$work/fake" 3 "$work/real" hpcc:node nothing:node
ok "time with castoff over without" out_has '^hpcc node 3 3.00 2.00 0.500 0.400 0.800 faster$'
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

# What the ranks run prints nothing that differs between runs, and fails with its program.
cat >"$work/path/lmp" <<'END'
#!/bin/sh
printf 'Step Temp\n0 1.44\nLoop time of 0.5\nmore\n'
exit "${CODE:-0}"
END
run make -s -n -C "$top" BUILD="$work/fake" bench-real
ok "make bench-real measures the build that it is given" out_has "^FIGURES_BUILD=$work/fake bench/figures/M48.sh"
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
