#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M46: what it costs to find out in the job which side is faster: 10,000 calls of twelve kinds (bench/regret.c), with
# CASTOFF_ADAPT=yes over the faster of both sides for each kind, each of which ran alone; with the built-in table, and with
# that table turned round. Four sides in turn, several runs of each, of which the least disturbed counts for
# each kind. One node, two ranks, fifteen runs; and four hosts at 1 Gbit/s in the laboratory, six kinds, five runs.
. "$(dirname "$0")/figure.sh"
. "$(dirname "$0")/trials.sh"
what="regret of trials in the job, calls of mixed sizes: time over the time with the faster side for each kind; and with the table turned round"
reach="<= 1.02 each"
: >"$out/M46.txt"

sides() { # name rounds launcher... :: argument...
    local name=$1 rounds=$2 round side
    shift 2
    : >"$out/$name.txt"
    : >"$out/$name.spent"
    for ((round = 0; round < rounds; round++)); do
        for side in native castoff tried turned; do
            one_run "$name" "$side" "$@" || return 1
            case $side in
            tried | turned) spent_share "$name" "$side" >>"$out/$name.spent" ;;
            esac
        done
    done
}

# accounted NAME SIDE: the median of what its runs say they have spent
accounted() {
    sed -n "s/^$2 //p" "$out/$1.spent" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# summarise NAME: a table, and the two quotients and the worst kind of the last line
summarise() {
    awk '
        function least(list,   values, count, i, best) {
            count = split(list, values, " ")
            for (i = 1; i <= count; i++) best = i == 1 || values[i] + 0 < best ? values[i] + 0 : best
            return best
        }
        { kind = $2 " " $3; if (!(kind in seen)) { seen[kind] = 1; kinds[++n] = kind } calls[kind] = $4
          times[$1, kind] = times[$1, kind] " " $5 }
        END {
            print "# call bytes calls native_us castoff_us tried_us turned_us tried/best turned/best (us for a call, least of the runs)"
            for (i = 1; i <= n; i++) {
                kind = kinds[i]; native = least(times["native", kind]); castoff = least(times["castoff", kind])
                tried = least(times["tried", kind]); turned = least(times["turned", kind])
                best = native < castoff ? native : castoff
                printf "%s %d %.2f %.2f %.2f %.2f %.3f %.3f\n", kind, calls[kind], native / calls[kind], castoff / calls[kind],
                    tried / calls[kind], turned / calls[kind], tried / best, turned / best
                sum_best += best; sum_tried += tried; sum_turned += turned
            }
            printf "all %.3f %.3f\n", sum_tried / sum_best, sum_turned / sum_best
        }' "$out/$1.txt"
}

note_command "mpirun -n 2 castoff run build/bench/regret 10000"
sides M46-node 15 mpirun -n 2 :: 10000 || give_up "$what" "$reach" "$(last_words "$out/M46-node.err")"
{
    echo "# one node, 2 ranks"
    summarise M46-node
    echo "# by the account of the jobs, % of their time for trials and exchanges between them, median: $(accounted M46-node tried), turned round $(accounted M46-node turned)"
} >>"$out/M46.txt"
read -r _ node_tried node_turned <<<"$(grep '^all ' "$out/M46.txt")"
hosts="not measured" hosts_tried=9 hosts_turned=9
if lab_is_possible; then
    note_command "tests/lab/lab.sh --hosts 4 --rate 1gbit -- lab-mpirun -n 4 castoff run build/bench/regret 10000 1024 16384 65536"
    if sides M46-hosts 5 "$top/tests/lab/lab.sh" --hosts 4 --rate 1gbit -- lab-mpirun -n 4 :: 10000 1024 16384 65536; then
        {
            echo "#"
            echo "# 4 hosts at 1 Gbit/s"
            summarise M46-hosts
            echo "# by the account of the jobs: $(accounted M46-hosts tried), turned round $(accounted M46-hosts turned)"
        } >>"$out/M46.txt"
        read -r _ hosts_tried hosts_turned <<<"$(grep '^all ' "$out/M46.txt" | tail -n 1)"
        hosts="$hosts_tried, turned round $hosts_turned"
    fi
fi
rm -f "$out"/M46-*.txt "$out"/M46-*.rows "$out"/M46-*.spent
row "$what" "" "one node, 2 ranks: $node_tried, turned round $node_turned; 4 hosts at 1 Gbit/s: $hosts" "$reach" \
    "$(holds "$node_tried <= 1.02 && $node_turned <= 1.02 && $hosts_tried <= 1.02 && $hosts_turned <= 1.02")"
