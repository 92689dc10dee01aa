#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Real programs end to end, start-up included, with castoff at its defaults over without, for figure M48: castoff ab runs
# both in turn and compares what they print. In the laboratory at 1 Gbit/s and on this node. A line for each:
#   PROGRAM PLACE PAIRS without_s with_s with/without low high verdict calls
# where the calls are those that castoff took, as "MPI_Bcast 24 of 24 (3.08 s), ..." of a rank, with the time that they
# gained in a run whose calls were timed, or none;
# or PROGRAM PLACE failed and why; or PROGRAM PLACE - and why it cannot be run. `make bench-real` installs them.
#
#   bench/real_programs.sh BUILD PAIRS FOLDER [PROGRAM:PLACE...]     places: 4 and 8 hosts, node
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${1:?usage: real_programs.sh BUILD PAIRS FOLDER [PROGRAM:PLACE...]}" && pwd) || exit 1
pairs=$2
mkdir -p "$3" && folder=$(cd "$3" && pwd) || exit 1
wanted=("${@:4}")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset LD_PRELOAD "${!CASTOFF_@}"
programs=(pickled sharded hpcc lammps qe mumps)
pseudo=/usr/share/doc/quantum-espresso/examples/atomic/pseudo-LDA-0.5/Si.pz-vbc.UPF.gz
if ((${#wanted[@]} == 0)); then
    for place in 4 8 node; do
        wanted+=("${programs[@]/%/:$place}")
    done
fi

ranks_at() { # place: on a node one for each core, but at least two
    local cores
    cores=$(env -u OMP_NUM_THREADS nproc)
    [[ $1 != node ]] && echo "$1" || echo $((cores > 2 ? cores : 2))
}

# Puts into the folder what the program reads; says why it cannot be run, if so.
prepare() { # program ranks
    case $1 in
        pickled | sharded)
            /usr/bin/python3 -c 'import mpi4py, numpy' 2>/dev/null || { echo "python3-mpi4py or python3-numpy is not installed" && return; }
            cp "$top/bench/$1.py" "$folder"
            ;;
        hpcc)
            command -v hpcc >/dev/null || { echo "hpcc is not installed" && return; }
            local rows=1
            while ((rows * rows * 4 <= $2 && $2 % (rows * 2) == 0)); do
                rows=$((rows * 2))
            done
            awk -v p="$rows" -v q=$(($2 / rows)) '/ Ps$/ { $1 = p } / Qs$/ { $1 = q } { print }' "$top/tests/apps/hpccinf.txt" >"$folder/hpccinf.txt"
            ;;
        lammps)
            command -v lmp >/dev/null || { echo "lammps is not installed" && return; }
            sed 's/block 0 12 0 12 0 12/block 0 14 0 14 0 14/' "$top/tests/apps/melt.lammps" >"$folder/melt.lammps"
            ;;
        qe)
            command -v pw.x >/dev/null || { echo "quantum-espresso is not installed" && return; }
            [[ -r $pseudo ]] || { echo "quantum-espresso-data is not installed" && return; }
            zcat "$pseudo" >"$folder/Si.pz-vbc.UPF" && cp "$top/bench/programs/silicon.txt" "$folder/silicon.in"
            ;;
        mumps)
            [[ -x $folder/mumps_poisson ]] || mpicc -O2 -o "$folder/mumps_poisson" "$top/bench/programs/mumps_poisson.c" -ldmumps -lm \
                2>/dev/null || echo "libmumps-dev is not installed"
            ;;
        *) echo "no such program" ;;
    esac
}

compare() { # program place ranks
    local name=$1-$2 limit_s=600 words=(-n "$3" "$top/bench/programs/rank.sh" "$1" "$folder")
    local ab=("$build/castoff" ab -n "$pairs" --json "$folder/$name.json" --)
    # HPCC on eight hosts that share two cores: pairs, warm-up and the run whose calls are timed are sixteen runs.
    [[ $name != hpcc-8 ]] || limit_s=1800
    rm -f "$folder/$name.json"
    if [[ $2 == node ]]; then
        timeout "$limit_s" "${ab[@]}" mpirun --oversubscribe --bind-to none "${words[@]}"
    else
        timeout "$limit_s" "$top/tests/lab/lab.sh" --hosts "$3" --rate 1gbit -- "${ab[@]}" lab-mpirun "${words[@]}"
    fi >"$folder/$name.out" 2>"$folder/$name.err"
}

# Castoff over stock: castoff ab gives stock over castoff, and the calls of all ranks together.
result() { # json ranks
    /usr/bin/python3 - "$1" "$2" <<'PY'
import json
import re
import statistics
import sys
ab = json.load(open(sys.argv[1], encoding="utf-8"))
ranks = int(sys.argv[2])
gained = {row["call"]: row["without_s"] - row["with_s"] for row in ab.get("by_call", [])}
calls = [(name, *(round(int(number) / ranks) for number in numbers))
         for name, *numbers in re.findall(r"(\w+) (\d+) of (\d+)", ab.get("taken", "")) if int(numbers[0]) > 0]
taken = ", ".join(f"{name} {taken:,} of {seen:,}" + (f" ({gained[name]:.2f} s)" if abs(gained.get(name, 0)) >= 0.005 else "")
                  for name, taken, seen in calls) or "none"
print(len(ab["without_s"]), f'{statistics.median(ab["without_s"]):.2f} {statistics.median(ab["with_s"]):.2f}',
      f'{1 / ab["ratio"]:.3f} {1 / ab["high"]:.3f} {1 / ab["low"]:.3f}', ab["verdict"].replace(" ", "-"), taken)
PY
}

for one in "${wanted[@]}"; do
    program=${one%:*} place=${one#*:}
    ranks=$(ranks_at "$place")
    why=$(prepare "$program" "$ranks")
    if [[ -n $why ]]; then
        echo "$program $place - $why"
        continue
    fi
    compare "$program" "$place" "$ranks"
    status=$?
    if ((status == 0)); then
        echo "$program $place $(result "$folder/$program-$place.json" "$ranks")"
    else
        why=$(grep -v setpgid "$folder/$program-$place.err" | tail -n 1)
        echo "$program $place failed ${why:-status $status}"
    fi
done
