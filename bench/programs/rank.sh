#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What each rank of a real program of figure M48 runs, in the folder that bench/real_programs.sh has prepared; what is
# printed is the same in every run that went right.
#
#   rank.sh PROGRAM FOLDER
set -u -o pipefail
cd "$2" || exit 1
export OMP_NUM_THREADS=1
is_first=$([[ ${OMPI_COMM_WORLD_RANK:-0} -eq 0 ]] && echo yes)
case $1 in
    hpcc) # it adds to a file
        [[ -z $is_first ]] || rm -f hpccoutf.txt
        hpcc >/dev/null || exit
        [[ -z $is_first ]] || { grep -q FAILED hpccoutf.txt && echo FAILED; grep 'Success=1' hpccoutf.txt; }
        ;;
    lammps) lmp -log none -in melt.lammps | awk '/^ *Step/ { on = 1 } /^Loop time/ { on = 0 } on' ;;
    qe) pw.x -in silicon.in | { [[ -z $is_first ]] || grep '^!'; } ;;
    mumps) ./mumps_poisson 20 2 ;;
    pickled) /usr/bin/python3 pickled.py 2 ;;
    sharded) /usr/bin/python3 sharded.py ;;
    *) echo "rank.sh: no program $1" >&2 && exit 2 ;;
esac
