# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# What the figures of programs that compute while they communicate share (M38, M39, M40): runs of the sides, in turn. Ranks,
# proxies and threads of all sides may use all cores: where there are two for each host, each rank and each proxy has one;
# on fewer they share them, and what proxies and threads take of the computation is in the figure. Sourced, behind figure.sh.

cores=$(env -u OMP_NUM_THREADS nproc)
hosts=2
while ((hosts < 8 && 4 * hosts <= cores)); do
    hosts=$((2 * hosts))
done
if ((cores >= 2 * hosts)); then
    room="$hosts hosts on $cores cores, one for each rank and each proxy"
else
    room="$hosts hosts on $cores cores, which ranks and proxies share"
fi

has_mpich() {
    command -v mpicc.mpich >/dev/null && command -v mpiexec.mpich >/dev/null
}

# The programs for MPICH.
build_for_mpich() {
    mkdir -p "$out/mpich" &&
        mpicc.mpich -std=gnu17 -O2 -o "$out/mpich/fft3d" "$top"/bench/fft3d*.c -lm &&
        mpicc.mpich -std=gnu17 -O2 -o "$out/mpich/panel_lu" "$top/bench/panel_lu.c" &&
        mpicc.mpich -std=gnu17 -O2 -o "$out/mpich/alltoall" "$top/bench/alltoall.c" "$top/bench/coll_place.c"
}

# Runs of a side are alike.
note_once() {
    local before=$commands
    commands=""
    note_command "$@"
    if [[ "; $before; " == *"; $commands; "* ]]; then
        commands=$before
    else
        commands=${before:+$before; }$commands
    fi
}

# computing NAME HOSTS SIDE RATE PROGRAM ARGUMENT...: one run; its line goes to $out/NAME.txt behind the side. Sides:
#   stock     as it is                       tested   with MPI_Test every 100 us in the computation
#   ring      panels by messages, tested     threads  castoff's worker threads: broadcasts, and messages in place of all-to-alls
#   proxies   castoff's                      staged   likewise, through the memory of the proxies
#   mpich     MPICH with a progress thread for each rank
computing() {
    local name=$1 on=$2 side=$3 rate=$4 program=$5 folder=$build/bench launcher how=() options=() line at try words report=""
    shift 5
    launcher=(lab-mpirun -n "$on")
    case $side in
    tested) options=(--test 100) ;;
    ring) options=(--by ring --test 100) ;;
    threads)
        how=("$castoff" run --set PROGRESS=threads --set IBCAST=yes --set P2P=yes --)
        [[ $program != fft3d ]] || options=(--by messages)
        ;;
    proxies | staged)
        report=$out/$name.json
        how=("$castoff" run --report "$report" --set PROXY=yes --set IALLTOALL=yes --set IBCAST=proxy
            --set "PROXY_CORES=0-$((cores - 1))")
        [[ $side != staged ]] || how+=(--set PROXY_LEND=stage)
        how+=(--)
        ;;
    mpich)
        at=$(seq -s , -f h%g 0 $((on - 1)))
        launcher=(mpiexec.mpich -launcher rsh -launcher-exec lab-agent -hosts "$at" -genv MPIR_CVAR_ASYNC_PROGRESS 1 -n "$on")
        folder=$out/mpich
        ;;
    esac
    line=(--hosts "$on" --rate "$rate" -- "${launcher[@]}" "${how[@]}" "$folder/$program" "${options[@]}" "$@")
    note_once tests/lab/lab.sh "${line[@]}"
    for try in 1 2 3; do # MPICH's launcher fails at times, when all ranks have ended well
        words=$(timeout 120 "$top/tests/lab/lab.sh" "${line[@]}" 2>>"$out/$name.err" | grep -E '^(fft3d|panel_lu|total|cost): ') &&
            break
        [[ $side == mpich ]] && ((try < 3)) || return 1
    done
    proxies_carried "$report" 2>>"$out/$name.err" || return 1
    echo "$side $words" >>"$out/$name.txt"
}

# The median over the runs of a side of what stands behind a word.
middle() { # name side program word
    awk -v side="$2" -v program="$3:" -v word="$4" '
        $1 == side && $2 == program { for (i = 3; i < NF; i++) if ($i == word) print $(i + 1) }' "$out/$1.txt" |
        sort -g | awk '{ value[NR] = $1 } END { if (NR > 0) print value[int((NR + 1) / 2)] }'
}
