# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: BSD-3-Clause
#
# What the figures of MPI_Ialltoall by proxies share: one measured rank, alone on the first core where it alone computes;
# proxies and the other ranks, which wait, on the others. On two cores that is one for all of them, and one for a whole
# host's traffic in the laboratory: figures of more than two hosts are those of a core too few. Sourced, behind figure.sh.

cores=$(env -u OMP_NUM_THREADS nproc)
proxy_cores=$((cores > 1 ? 1 : 0))-$((cores - 1))

# alltoall NAME HOSTS SIDE WORD...: build/bench/alltoall on so many hosts, its line added to $out/NAME.txt behind the side.
# Fails where the side has proxies and they carried nothing: what native does is not theirs.
alltoall() {
    local name=$1 hosts=$2 side=$3 line how=() report=""
    shift 3
    if [[ $side == castoff ]]; then
        report=$out/$name.json
        how=("$castoff" run --report "$report" --set PROXY=yes --set IALLTOALL=yes --set "PROXY_CORES=$proxy_cores" --)
    fi
    line=(--hosts "$hosts" --rate 200mbit -- lab-mpirun -n "$hosts" "${how[@]}" "$build/bench/alltoall" --pin measured "$@")
    note_command tests/lab/lab.sh "${line[@]}"
    "$top/tests/lab/lab.sh" "${line[@]}" 2>>"$out/$name.err" | grep -E '^(cost|total|warm): ' |
        sed "s/^/$side /" >>"$out/$name.txt" && proxies_carried "$report" 2>>"$out/$name.err"
}

# bench_by_proxies NAME OPTION...: as bench; fails, too, where proxies carried no call of castoff's side.
bench_by_proxies() {
    local name=$1 report=$out/$1.json
    shift
    rm -f "$report"
    bench "$name" "$@" --set "REPORT=$report" && proxies_carried "$report" 2>>"$out/$name.err"
}

# The lowest overlap, in percent, that a side has in tables of castoff bench; nothing where one of them lacks a size.
lowest_overlap() { # call side sizes csv...
    awk -F, -v call="overlap-$1" -v side="$2" -v sizes="$3" '
        FNR == 1 { tables++ }
        $1 == call && $4 == side && $10 ~ /^-?[0-9.]+$/ { rows += !seen[FILENAME, $3]++; if (n++ == 0 || $10 < low) low = $10 }
        END { if (rows == tables * sizes && tables == ARGC - 1) print low }' "${@:4}" 2>/dev/null
}

# The value behind a word in the line of a side, of that many ranks and bytes.
said() { # name side ranks bytes word
    awk -v side="$2" -v ranks="$3" -v bytes="$4" -v name="$5" '
        $1 == side && $4 == ranks && $6 == bytes { for (i = 7; i < NF; i++) if ($i == name) value = $(i + 1) }
        END { print value }' "$out/$1.txt"
}

# The limit of an all-to-all, in us: what a host sends leaves it at 25 bytes a us.
limit_us() { # hosts bytes
    calc "($1 - 1) * $2 / 25" %.1f
}
