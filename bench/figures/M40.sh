#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M40: who else moves messages while a program computes, in the same laboratory and in turn: MPICH with a progress thread for
# each rank, castoff's worker threads, stock with MPI_Test every 100 us; totals of the programs of M38 and M39 and of one
# MPI_Ialltoall with a computation as long as stock's communication (M32), over that of castoff's proxies. Worker threads
# carry no all-to-all: there they carry messages in its place.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/computing.sh"
side=$((hosts > 2 ? 128 : 64)) order=$((512 * hosts)) bytes=262144
what="rivals over castoff's proxies: MPICH with progress threads, castoff's worker threads, stock with MPI_Test every 100 us, stock: total of the 3-D FFT of M38; of the LU of M39; of an Ialltoall of 256 KiB a pair with computation, 200 Mbit/s (medians of 3 jobs, in turn)"
reach="no rival below 1.00"
((cores >= 2)) || give_up "$what" "$reach" "one core"
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
rm -f "$out"/M40*.txt "$out"/M40*.err
rivals=(threads tested stock)
! has_mpich || { build_for_mpich 2>>"$out/M40.err" && rivals=(mpich "${rivals[@]}"); }
declare -A stands # programs of MPICH that did not come to an end in three tries of two minutes: not asked again
run() { # side rate program argument...
    [[ $1 != mpich || -z ${stands[$3]:-} ]] || return 0
    computing M40 $hosts "$@" && return
    [[ $1 == mpich ]] || give_up "$what" "$reach" "$1, $3: $(last_words "$out/M40.err")"
    stands[$3]=1
}
run stock 200mbit alltoall cost $bytes 15
pure=$(middle M40 stock cost pure_us)
for _ in 1 2 3; do
    for how in proxies "${rivals[@]}"; do
        run "$how" 400mbit fft3d $side 12
        run "$how" 200mbit panel_lu $order 32
        [[ $how == threads ]] || run "$how" 200mbit alltoall total $bytes 15 "$pure"
    done
done
least=99 text=""
for program in fft3d panel_lu total; do
    ours=$(middle M40 proxies $program total_us) each=""
    for how in "${rivals[@]}"; do
        if [[ $how == mpich && -n ${stands[${program/total/alltoall}]:-} ]]; then
            each+="${each:+, }$how did not end"
            continue
        fi
        [[ $how != threads || $program != total ]] || continue # they carry none
        one=$(middle M40 "$how" $program total_us)
        [[ -n $one && -n $ours ]] || give_up "$what" "$reach" "$how, $program: no time"
        one=$(calc "$one / $ours" %.3f)
        least=$(calc "$one < $least ? $one : $least" %.3f)
        each+="${each:+, }$how $one"
    done
    text+="${text:+; }$program $each"
done
cat >>"$out/M40.txt" <<'TEXT'
#
# Computations of fft3d and panel_lu are fixed amounts of work, so what threads and proxies take of the cores is in the total;
# that of `total` lasts a fixed time, tests apart.
TEXT
row "$what" "" "$text; on $room" "$reach" "$(holds "$least >= 1.00")"
