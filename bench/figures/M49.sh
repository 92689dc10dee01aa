#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# M49: processor time that a Bcast of 8 MiB to three other hosts takes, unshaped, in seconds for a GiB of what is broadcast:
# castoff with authentication on and off, stock over TCP, and bare sockets (multicast: bench/micro/udp_speed.c, TCP:
# bench/micro/tcp_speed.c), in turn. Each process counts its own user and system time (getrusage); softirq, which the
# kernel counts as system time of whoever it interrupts, is told apart by tracing its beginnings and ends
# (bench/softirq.py). A kernel that lets them not be traced leaves them in the system time; what ksoftirqd takes is added. What a sender's calls set off is its softirq: on veth these are the switch and the input of all
# receivers, which on real hosts are elsewhere; so the sum of all hosts is what compares.
. "$(dirname "$0")/figure.sh"
mib=${M49_MIB:-512} turns=${M49_TURNS:-5}
what="processor time a GiB of Bcast 8 MiB to 3 hosts, unshaped, all hosts together (sender; a receiver): user + system + softirq, s"
reach="user time of castoff <= 0.6 x the kernel's; total <= stock's"
tracing=/sys/kernel/tracing
lab_is_possible || give_up "$what" "$reach" "no laboratory here"
instance=$tracing/instances/castoff-M49-$$
work=""
trap '[ -z "$instance" ] || rmdir "$instance"; rm -rf "$work"' EXIT
if mkdir "$instance" 2>/dev/null; then
    echo mono >"$instance/trace_clock"
    echo 32768 >"$instance/buffer_size_kb"
    echo 1 >"$instance/events/irq/softirq_entry/enable"
    echo 1 >"$instance/events/irq/softirq_exit/enable"
else
    instance=""
    what+=" (this kernel lets them not be traced: softirqs are ksoftirqd's alone, the others are in system)"
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/castoff-M49.XXXXXX") || exit 1

# What tells how long softirqs took while a command ran; for bench/softirq.py.
begin_softirqs() {
    if [ -n "$instance" ]; then
        : >"$instance/trace"
        echo 1 >"$instance/tracing_on"
    else
        ksoftirqd_ns >"$work/ksoftirqd"
    fi
}
end_softirqs() {
    if [ -z "$instance" ]; then
        softirqs=(--apart "$(calc "($(ksoftirqd_ns) - $(cat "$work/ksoftirqd")) / 1e9" %.6f)")
        return
    fi
    echo 0 >"$instance/tracing_on"
    cat "$instance/trace" >"$work/trace"
    softirqs=("$work/trace")
    grep -q 'entries-in-buffer' "$work/trace" && awk '/entries-in-buffer/ { split($3, n, "/"); exit n[1] < n[2] }' "$work/trace" ||
        give_up "$what" "$reach" "more softirqs than could be kept"
}
ksoftirqd_ns() {
    awk '{ s += $1 } END { printf "%.0f\n", s }' $(pgrep '^ksoftirqd/' | sed 's|.*|/proc/&/schedstat|') /dev/null
}

lab4() { # command...
    timeout 120 "$top/tests/lab/lab.sh" --hosts 4 --rate none -- "$@"
}
sockets() { # program, what each receiver gets, what the sender gets
    export COST_PROGRAM=$1 COST_RECEIVER=$2 COST_SENDER=$3
    lab4 bash -c '
        address=$(lab-in-host 0 ip -4 -o address show eth0 | sed "s/.*inet \([0-9.]*\).*/\1/")
        for i in 1 2 3; do
            # shellcheck disable=SC2086 # words
            lab-in-host "$i" timeout 60 "$COST_PROGRAM" receive ${COST_RECEIVER/ADDRESS/$address} >"$CASTOFF_LAB_SHARED/receiver.$i" &
        done
        # shellcheck disable=SC2086
        timeout 60 "$COST_PROGRAM" send ${COST_SENDER/ADDRESS/$address}
        wait
        cat "$CASTOFF_LAB_SHARED"/receiver.*'
}
mpi() { # words before the program
    lab4 lab-mpirun -n 4 "$@" "$build/bench/cpu_cost" 8388608 $((mib / 8))
}
side() { # name
    case $1 in
        castoff) mpi "$castoff" run --set AUTH=yes ;;
        castoff-no-auth) mpi "$castoff" run --set AUTH=no ;;
        stock) mpi env ;;
        udp) sockets "$build/bench/micro/udp_speed" eth0 "eth0 3 $mib" ;;
        tcp) sockets "$build/bench/micro/tcp_speed" ADDRESS "ADDRESS 3 $mib" ;;
    esac
}
note_command tests/lab/lab.sh --hosts 4 --rate none -- lab-mpirun -n 4 build/castoff run --set AUTH=yes build/bench/cpu_cost 8388608 $((mib / 8))
note_command tests/lab/lab.sh --hosts 4 --rate none -- build/bench/micro/udp_speed "send eth0 3 $mib"
note_command tests/lab/lab.sh --hosts 4 --rate none -- build/bench/micro/tcp_speed "send ADDRESS 3 $mib"
sides=(castoff castoff-no-auth stock udp tcp)
for ((turn = 0; turn < turns; turn++)); do
    for name in "${sides[@]}"; do
        begin_softirqs
        side "$name" >"$work/used" 2>>"$work/err"
        end_softirqs
        python3 -S "$top/bench/softirq.py" "$work/used" "${softirqs[@]}" 2>>"$work/err" |
            awk -v name="$name" -v gib="$(calc "$mib / 1024" %.6f)" \
                '{ printf "%s %s %.4f %.4f %.4f %.4f %.4f\n", name, $1, ($3 + $4 + $5) / gib, $3 / gib, $4 / gib, $5 / gib, $6 / gib }' >>"$work/all"
    done
done
[[ $(awk '$2 == "receiver" { print $1 }' "$work/all" | sort -u | wc -l) -eq ${#sides[@]} ]] ||
    give_up "$what" "$reach" "$(last_words "$work/err")"
{
    echo "# seconds of processor time for a GiB that is broadcast, medians of $turns turns; nobody: softirq in ksoftirqd and on"
    echo "# idle processors while it lasted, whoever set it off"
    echo "# side role total_s user_s system_s softirq_s wall_s total_from total_to"
    for name in "${sides[@]}"; do
        for role in sender receiver nobody; do
            for column in 3 4 5 6 7; do
                awk -v name="$name" -v role="$role" -v column=$column '$1 == name && $2 == role { print $column }' "$work/all" | sort -g |
                    awk '{ v[NR] = $1 } END { printf "%.3f %.3f %.3f\n", v[int((NR + 1) / 2)], v[1], v[NR] }'
            done | awk -v name="$name" -v role="$role" 'NR == 1 { from = $2; to = $3 } { line = line " " $1 } END { print name, role line, from, to }'
        done
    done
} >"$out/M49.txt"
# All hosts: the sender and three receivers.
sum() { # side column
    awk -v name="$1" -v column="$2" '$1 == name { s += $column * ($2 == "receiver" ? 3 : 1) } END { printf "%.3f", s }' "$out/M49.txt"
}
words() { # side: "1.23 = 0.30 + 0.63 + 0.30 (0.80; 0.14)"
    echo "$(calc "$(sum "$1" 4) + $(sum "$1" 5) + $(sum "$1" 6)") = $(calc "$(sum "$1" 4)") + $(calc "$(sum "$1" 5)") + $(calc "$(sum "$1" 6)")$(
        awk -v name="$1" '$1 == name && $2 != "nobody" { printf "%s%.2f", $2 == "sender" ? " (" : "; ", $3 } END { print ")" }' "$out/M49.txt")"
}
total() { # side
    calc "$(sum "$1" 4) + $(sum "$1" 5) + $(sum "$1" 6)" %.4f
}
share() { # side: of castoff's own, over the kernel's
    calc "$(sum "$1" 4) / ($(sum "$1" 5) + $(sum "$1" 6))"
}
row "$what" "$(words stock); bare TCP $(words tcp); bare multicast $(words udp)" \
    "$(words castoff), user over kernel $(share castoff); without authentication $(words castoff-no-auth), $(share castoff-no-auth)" "$reach" \
    "$(holds "$(share castoff) <= 0.6 && $(total castoff) <= $(total stock)")"
